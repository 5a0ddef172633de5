// Whether a statement only reads, judged by the tree that ClickHouse's own parser makes of it (EXPLAIN AST). Pure. A session
// with readonly = 1 refuses everything else by itself; but an inner SETTINGS can take that back for a subquery, and some
// functions read files in a readonly session too. So: one SELECT, without SETTINGS anywhere, without such functions.

/** What is wrong with the statement; null: nothing. `tree`: the lines of EXPLAIN AST. */
export function notReadOnly(tree: readonly string[]): string | null {
  const [top = ''] = tree;
  if (!top.startsWith('SelectWithUnionQuery')) return 'must be one SELECT';
  // INTO OUTFILE and FORMAT are further children of the top.
  if (top !== 'SelectWithUnionQuery (children 1)') return 'must not have INTO OUTFILE, FORMAT or SETTINGS at its end';
  for (const [at, line] of tree.entries()) {
    const node = line.trimStart();
    if (/^Set\b/.test(node)) return 'must not have SETTINGS';
    const [, name = ''] = /^Function (\S+)/.exec(node) ?? [];
    if (name !== '' && reachesOut.test(name)) return `must not use ${name}()`;
    const isTable = (tree[at - 1] ?? '').trimStart().startsWith('TableExpression');
    if (isTable && name !== '' && !tableFunctions.has(name)) return `must not read from ${name}()`;
    if (node.startsWith('TableIdentifier ') && !plainTable.test(node))
      return 'must name tables by letters, digits and _ only';
  }
  return null;
}

/** They make rows of nothing but their arguments. */
const tableFunctions: ReadonlySet<string> = new Set([
  'numbers',
  'zeros',
  'values',
  'generateSeries',
  'generate_series',
]);

/** By the names of ClickHouse 26.7: functions that read files, dictionaries or models, or ask other machines. */
const reachesOut =
  /^(file|url.*|s3.*|gcs|azure.*|hdfs.*|iceberg.*|delta.*|hudi.*|paimon.*|remote.*|cluster.*|mysql|postgresql|mongodb|redis|sqlite|odbc|jdbc|ytsaurus|arrow.*|executable.*|python|merge.*|loop|view.*|input|dictionary|dict.*|joinGet.*|catboost.*|evalml.*|ai.*|llm.*|sleep.*|address.*|demangle|showCertificate|getMacro|getSetting.*|getServerSetting.*|filesystem.*|fuzz.*|timeSeries.*)$/i;

/** With dots only between a database and a table: a path is no table. */
const plainTable = /^TableIdentifier [A-Za-z0-9_]+(\.[A-Za-z0-9_]+)?( \(alias \S+\))?$/;

// Texts as cells of ClickHouse's TabSeparated format, and back.

const special = /[\t\n\r\0\\]/;

export function tsvText(value: string | null): string {
  if (value === null) return '';
  return special.test(value) ? escaped(value) : value;
}

function escaped(value: string): string {
  return value
    .replaceAll('\\', '\\\\')
    .replaceAll('\t', '\\t')
    .replaceAll('\n', '\\n')
    .replaceAll('\r', '\\r')
    .replaceAll('\0', '\\0');
}

/** The cells of one line, without the line's end. */
export function tsvCells(line: string): readonly string[] {
  const cells = line.split('\t');
  return line.includes('\\') ? cells.map(unescaped) : cells;
}

const escapes: Readonly<Record<string, string>> = { t: '\t', n: '\n', r: '\r', b: '\b', f: '\f', 0: '\0' };

function unescaped(cell: string): string {
  return cell.replaceAll(/\\(.)/gs, (_, letter: string) => escapes[letter] ?? letter);
}

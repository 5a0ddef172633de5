// Values as cells of ClickHouse's TabSeparated format, and back.

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

/** A time as a cell: DateTime64(3) reads a bare number of seconds. Null: 1970, which says that there is none. */
export const tsvTime = (ms: number | null): string => (ms === null ? '1970-01-01 00:00:00' : (ms / 1_000).toFixed(3));

type Value = string | number | boolean | null;

/** These values as cells of one line, without the line's end. */
export const tsvLine = (values: readonly Value[]): string => values.map(tsvCell).join('\t');

export const tsvRow = (values: readonly Value[]): string => `${tsvLine(values)}\n`;

function tsvCell(value: Value): string {
  if (typeof value === 'boolean') return value ? '1' : '0';
  return typeof value === 'number' ? String(value) : tsvText(value);
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

// A text as a cell of ClickHouse's TabSeparated format.

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

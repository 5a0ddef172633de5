// Reads a block of ClickHouse's Native format, for tests of what is written: its cells by column.

export type Block = { readonly rows: number; readonly columns: Readonly<Record<string, readonly (string | number)[]>> };

export function readBlock(octets: Buffer): Block {
  let at = 0;
  const length = (): number => {
    let value = 0;
    for (let shift = 0; ; shift += 7) {
      const octet = octets.readUInt8(at);
      at += 1;
      value += (octet & 0x7f) * 2 ** shift;
      if (octet < 0x80) return value;
    }
  };
  const fixed = (width: number): string => octets.subarray(at, (at += width)).toString();
  const text = (): string => fixed(length());
  const number = (width: 1 | 2 | 4): number => octets.readUIntLE((at += width) - width, width);
  /** Signed: no unsigned number here reaches the sign. */
  const wide = (): number => Number(octets.readBigInt64LE((at += 8) - 8));
  const list = <T>(count: number, cell: () => T): T[] => Array.from({ length: count }, cell);

  function dictionary(): string[] {
    if (wide() !== 1) throw new Error('not a dictionary with its keys');
    const width = (wide() & 0xff) === 0 ? 1 : 2;
    const keys = list(wide(), text);
    return list(wide(), () => keys[number(width)] ?? 'no such key');
  }

  function cells(type: string, rows: number): (string | number)[] {
    if (type === 'String') return list(rows, text);
    if (type === 'LowCardinality(String)') return dictionary();
    if (type.startsWith('FixedString')) return list(rows, () => fixed(Number(type.slice(12, -1))));
    if (type === 'UInt8' || type === 'Bool') return list(rows, () => number(1));
    if (type === "DateTime('UTC')") return list(rows, () => number(4));
    return list(rows, type === 'UInt16' ? () => number(2) : wide);
  }

  const columnCount = length();
  const rows = length();
  const columns = Object.fromEntries(
    list(columnCount, () => {
      const name = text();
      return [name, cells(text(), rows)] as const;
    }),
  );
  if (at !== octets.length) throw new Error(`${String(octets.length - at)} octets too many`);
  return { rows, columns };
}

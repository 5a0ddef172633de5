// Rows to insert as one block of ClickHouse's Native format: they are counted here, and filled column by column by their
// owner. A column that is empty in all rows is left out: ClickHouse fills it with its default.
import { type Column, type Dropped, lengthOctets, textOctets } from './native-columns.ts';

/** What an insert needs: the names of the columns in the block, in their order, and its octets. */
export type NativeBlock = { readonly columns: readonly string[]; readonly rows: number; readonly octets: Buffer };

const none: Dropped = new Set();
const roomFirst = 64;

export class BlockRows {
  readonly #columns: Column[] = [];
  #rows = 0;
  #room = 0;

  /** The next column, before the first row. */
  column<T extends Column>(column: T): T {
    this.#columns.push(column);
    return column;
  }

  get rows(): number {
    return this.#rows;
  }

  /** The number of a new row; each column is to be filled for it. */
  add(): number {
    if (this.#rows === this.#room) {
      this.#room = Math.max(roomFirst, this.#room * 2);
      for (const column of this.#columns) column.reserve(this.#room);
    }
    this.#rows += 1;
    return this.#rows - 1;
  }

  /** The rows without the dropped ones. Null when none is left. */
  block(dropped: Dropped = none): NativeBlock | null {
    const rows = this.#rows - dropped.size;
    if (rows === 0) return null;
    const filled = this.#columns.filter((column) => !column.isDefault());
    const octets = [lengthOctets(filled.length), lengthOctets(rows)];
    for (const column of filled) {
      octets.push(textOctets(column.name), textOctets(column.type), ...column.octets(this.#rows, dropped));
    }
    return { columns: filled.map(({ name }) => name), rows, octets: Buffer.concat(octets) };
  }
}

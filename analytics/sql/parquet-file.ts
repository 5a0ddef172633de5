// One Parquet file of several with the same columns: their row groups one behind the other, under one footer. The engine makes
// a whole file of each slice; joined they are written without being decoded, and what is held is the footer.
import { assert } from '../../platform/assert.ts';
import { type List, type Struct, readStruct, thrift, writeStruct } from './thrift.ts';

const magic = Buffer.from('PAR1');

/** `body`: what is between the first magic number and the footer. */
export function splitParquet(file: Buffer): { readonly body: Buffer; readonly footer: Buffer } {
  const end = file.length - magic.length - 4;
  assert(end >= magic.length && file.subarray(end + 4).equals(magic), 'a Parquet file');
  const begin = end - file.readUInt32LE(end);
  assert(begin >= magic.length, 'a footer within the file');
  return { body: file.subarray(magic.length, begin), footer: file.subarray(begin, end) };
}

/** Ids of fields of parquet.thrift. */
const ofFile = { schema: 2, rows: 3, groups: 4 } as const;
const ofGroup = { columns: 1, fileOffset: 5, ordinal: 7 } as const;
/** From 4 to 7: where the indexes of its pages are, and how long. */
const ofColumn = { fileOffset: 2, metaData: 3, pageIndexes: [4, 5, 6, 7] } as const;
const ofMetaData = { dataPage: 9, indexPage: 10, dictionaryPage: 11, bloomFilter: 14 } as const;

export class JoinedParquet {
  readonly begin = magic;
  readonly #groups: Buffer[] = [];
  #first: Struct | null = null;
  #schema = '';
  #rows = 0n;
  #octets = 0;

  /** The footer of the next file, whose body of this length is written now. */
  add(footer: Buffer, length: number): void {
    const file = readStruct(footer);
    const schema = writeStruct(new Map([[1, fieldOf(file, ofFile.schema)]])).toString('latin1');
    this.#first ??= file;
    this.#schema ||= schema;
    if (schema !== this.#schema) throw new Error('the columns of the table changed while it was exported');
    this.#rows += numberOf(file, ofFile.rows);
    for (const group of structsOf(file, ofFile.groups)) {
      moveGroup(group, BigInt(this.#octets));
      if (group.has(ofGroup.ordinal)) {
        group.set(ofGroup.ordinal, { type: thrift.i16, value: BigInt(this.#groups.length) });
      }
      this.#groups.push(writeStruct(group));
    }
    this.#octets += length;
  }

  /** What follows the last body. */
  end(): Buffer {
    assert(this.#first !== null, 'at least one file');
    const groups: List = { type: thrift.struct, items: this.#groups.map((raw) => ({ raw })) };
    const footer = writeStruct(
      new Map([
        ...this.#first,
        [ofFile.rows, { type: thrift.i64, value: this.#rows }],
        [ofFile.groups, { type: thrift.list, value: groups }],
      ]),
    );
    const length = Buffer.alloc(4);
    length.writeUInt32LE(footer.length);
    return Buffer.concat([footer, length, magic]);
  }
}

function moveGroup(group: Struct, by: bigint): void {
  move(group, ofGroup.fileOffset, by);
  for (const column of structsOf(group, ofGroup.columns)) {
    move(column, ofColumn.fileOffset, by);
    // They have offsets of the file that the engine made; readers do without them.
    for (const id of ofColumn.pageIndexes) column.delete(id);
    const { value: metaData } = fieldOf(column, ofColumn.metaData);
    assert(metaData instanceof Map, 'a struct');
    for (const id of Object.values(ofMetaData)) move(metaData, id, by);
  }
}

/** Offsets that are not set are absent or 0. */
function move(fields: Struct, id: number, by: bigint): void {
  const field = fields.get(id);
  if (typeof field?.value !== 'bigint' || field.value === 0n) return;
  fields.set(id, { ...field, value: field.value + by });
}

function fieldOf(fields: Struct, id: number) {
  const field = fields.get(id);
  assert(field !== undefined, `the field ${id} of a footer`);
  return field;
}

function numberOf(fields: Struct, id: number): bigint {
  const { value } = fieldOf(fields, id);
  assert(typeof value === 'bigint', 'a number');
  return value;
}

function structsOf(fields: Struct, id: number): Struct[] {
  const { value } = fieldOf(fields, id);
  assert(typeof value === 'object' && 'items' in value, 'a list');
  return value.items.filter((item) => item instanceof Map);
}

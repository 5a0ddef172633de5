// The national language shift tables of 3GPP TS 23.038 annex A as data. The ten tables of the Indian scripts and the
// Urdu ones share a frame and differ in the letters that fill it; the European ones differ from the default alphabet in
// a few positions. Positions are septets. gsm-alphabet.ts builds flat tables from this, once for each pair in use.

/** Characters by septet; a missing one is empty in the standard. */
export type SparseTable = ReadonlyMap<number, string>;

/** The table that replaces the default extension table; undefined when this language has none. */
export function singleShiftTable(language: number): SparseTable | undefined {
  const european = europeanSingle[language];
  if (european !== undefined) return new Map([...defaultExtension, ...european]);
  const fill = frameSingle[language];
  return fill === undefined ? undefined : framed(singleFrame, singleSlots, lettersOf(...fill));
}

/** A locking shift table: `whole` for a complete table, else the differences from the default alphabet. */
export function lockingShiftTable(language: number): { whole: boolean; characters: SparseTable } | undefined {
  const european = europeanLocking[language];
  if (european !== undefined) return { whole: false, characters: new Map(european) };
  const fill = frameLocking[language];
  return fill && { whole: true, characters: framed(lockingFrame, lockingSlots, lettersOf(...fill)) };
}

/** The default extension table (§6.2.1.1); the European single shift tables add to it. */
export const defaultExtension: SparseTable = at('0a:\f 14:^ 28:{ 29:} 2f:\\ 3c:[ 3d:~ 3e:] 40:| 65:€');

const europeanSingle: Record<number, SparseTable> = {
  1: at('47:Ğ 49:İ 53:Ş 63:ç 67:ğ 69:ı 73:ş'),
  2: at('09:ç 41:Á 49:Í 4f:Ó 55:Ú 61:á 69:í 6f:ó 75:ú'),
  3: at(
    '05:ê 09:ç 0b:Ô 0c:ô 0e:Á 0f:á 12:Φ 13:Γ 15:Ω 16:Π 17:Ψ 18:Σ 19:Θ 1f:Ê ' +
      '41:À 49:Í 4f:Ó 55:Ú 5b:Ã 5c:Õ 61:Â 69:í 6f:ó 75:ú 7b:ã 7c:õ 7f:â',
  ),
};

const europeanLocking: Record<number, SparseTable> = {
  1: at('04:€ 07:ı 0b:Ğ 0c:ğ 1c:Ş 1d:ş 40:İ 60:ç'),
  3: at(
    '04:ê 06:ú 07:í 08:ó 09:ç 0b:Ô 0c:ô 0e:Á 0f:á 12:ª 13:Ç 14:À 15:∞ 16:^ 17:\\ 18:€ 19:Ó 1a:| 1c:Â 1d:â 1e:Ê ' +
      '24:º 40:Í 5b:Ã 5c:Õ 5d:Ú 60:~ 7b:ã 7c:õ 7d:`',
  ),
};

// The frame of the single shift tables: symbols, Latin capitals and the euro have the same position in all of them.
const singleFrame = [
  ...run(0x00, '@£$¥¿"¤%&\'\f*+'),
  ...run(0x0e, '-/<=>¡^¡_#*'),
  ...at('28:{ 29:} 2f:\\ 3c:[ 3d:~ 3e:] 40:| 65:€'),
  ...run(0x41, 'ABCDEFGHIJKLMNOPQRSTUVWXYZ'),
];
const singleSlots = septets('19-1a 1c-27 2a-2e 30-3b 3f');

// Letters in slot order: the first two are the danda signs (Telugu has none), then the ten digits, then the rest. Code
// points are offsets into the script's block; a dot is an empty slot.
const frameSingle: Record<number, [block: number, offsets: string]> = {
  4: [0x0980, '66-6f 5f 60-63 72-7a'],
  5: [0x0a80, '-0964-0965 66-6f'],
  6: [0x0900, '64-6f 51-54 58-63 70-71'],
  7: [0x0c80, '-0964-0965 66-6f 5e 71-72'],
  8: [0x0d00, '-0964-0965 66-75 7a-7f'],
  9: [0x0b00, '-0964-0965 66-6f 5c-5d 5f 70-71'],
  10: [0x0a00, '-0964-0965 66-6f 59-5c 5e 75'],
  11: [0x0b80, '-0964-0965 66-6f 73-78 7a'],
  12: [0x0c00, '. . 66-6f 58-59 78-7f'],
  13: [0x0600, '00-01 f0-f9 0c-14 1b 1f 40 52 58 6b-6c 72-73 cd d4'],
};

// The frame of the locking tables: digits, small Latin letters and a few signs. Capitals are in the extension table.
const lockingFrame = [
  ...at('0a:\n 0d:\r'),
  ...run(0x20, ' !'),
  ...at('28:) 29:( 2c:, 2e:. 3f:?'),
  ...run(0x30, '0123456789:;'),
  ...run(0x61, 'abcdefghijklmnopqrstuvwxyz'),
];
const lockingSlots = septets('00-09 0b-0c 0e-1a 1c-1f 22-27 2a-2b 2d 2f 3c-3e 40-60 7b-7f');

// The Unicode blocks of the Indian scripts share a layout: signs 01–03, letters 05–39, marks 3c–4d, six letters more at
// the end. Where a script lacks a letter its slot is empty.
const indic = '01-03 05-39 3c-4d ';
const frameLocking: Record<number, [block: number, offsets: string, holes?: string]> = {
  4: [0x0980, `${indic} 4e 57 5c-5d 70-71`, '0d-0e 11-12 29 31 33-35 45-46 49-4a'],
  5: [0x0a80, `${indic} 50 60-63 71`, '0e 12 29 31 34 46 4a'],
  6: [0x0900, `${indic} 50 72 7b-7c 7e-7f`],
  7: [0x0c80, `${indic} 55-56 60-63`, '01 0d 11 29 34 45 49'],
  8: [0x0d00, `${indic} 57 60-63 79`, '01 0d 11 29 3c 45 49'],
  9: [0x0b00, `${indic} 56-57 60-63`, '0d-0e 11-12 29 31 34 45-46 49-4a'],
  10: [0x0a00, `${indic} 51 70-74`, '0b-0e 11-12 29 31 34 37 3d 43-46 49-4a'],
  11: [0x0b80, `${indic} 50 57 70-72 79`, '01 0b-0d 11 16-18 1b 1d 20-22 25-27 2b-2d 3c-3d 43-45 49'],
  12: [0x0c00, `${indic} 55-56 60-63`, '0d 11 29 34 3c 45 49'],
  13: [
    0x0600,
    '27 22 28 7b 80 7e a6 2a c2 7f 79 7d 7a 7c 2b 2c 81 84 83 85-87 2d-2f 8c 88-8a 8f 8d 30-31 91 93 99 32 96 98 ' +
      '9a 33-39 41-42 a9-ab af b3 b1 44-46 ba-bc 48 c4 d5 c1 be 21 cc d0 d2 4d 50 4f 57 54-55 51 53 56 70',
  ],
};

/** Letters for the slots in order; undefined is an empty slot. `-0964` is a code point outside the block. */
function lettersOf(block: number, offsets: string, holes = ''): (string | undefined)[] {
  const empty = new Set(septets(holes));
  return offsets
    .split(' ')
    .filter(Boolean)
    .flatMap((entry) => {
      if (entry === '.') return [undefined];
      if (entry.startsWith('-')) return septets(entry.slice(1)).map((code) => String.fromCharCode(code));
      return septets(entry).map((offset) => (empty.has(offset) ? undefined : String.fromCharCode(block + offset)));
    });
}

function framed(
  frame: [number, string][],
  slots: readonly number[],
  letters: readonly (string | undefined)[],
): SparseTable {
  const filled = slots.flatMap((septet, index): [number, string][] => {
    const letter = letters[index];
    return letter === undefined ? [] : [[septet, letter]];
  });
  return new Map([...frame, ...filled]);
}

/** `28:{ 29:}` as pairs of septet and character. */
function at(pairs: string): Map<number, string> {
  return new Map(pairs.split(' ').map((pair) => [Number.parseInt(pair, 16), pair.slice(3)]));
}

function run(first: number, characters: string): [number, string][] {
  return [...characters].map((character, index) => [first + index, character]);
}

/** `19-1a 3f` as numbers. */
function septets(ranges: string): number[] {
  return ranges
    .split(' ')
    .filter(Boolean)
    .flatMap((range) => {
      const [first = 0, last = first] = range.split('-').map((end) => Number.parseInt(end, 16));
      return Array.from({ length: last - first + 1 }, (_, index) => first + index);
    });
}

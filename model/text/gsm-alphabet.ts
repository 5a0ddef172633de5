// The GSM 7-bit alphabets (3GPP TS 23.038 §6.2.1) as flat tables indexed by UTF-16 code unit: the default alphabet with
// its extension table, and those with national shift tables. It knows characters only: no segments, no octets, no
// carriers.
import type { Shift } from './national-languages.ts';
import { type SparseTable, defaultExtension, lockingShiftTable, singleShiftTable } from './national-tables.ts';

/** The septet before a character of the extension table. It is no character itself. */
export const escapeSeptet = 0x1b;

export type GsmAlphabet = {
  /** Septets of each code unit: 1 basic, 2 after the escape, 0 not in the alphabet. Codes beyond the table: 0. */
  readonly counts: Uint8Array;
  /** The septet of a code unit, or the one after its escape; meaningful only where counts gives 1 or 2. */
  readonly septets: Uint8Array;
  readonly basic: SparseTable;
  readonly extension: SparseTable;
};

/** The alphabet of a pair of tables; an unknown table is read as the default one, as TS 23.038 requires. */
export function gsmAlphabet(shift: Shift): GsmAlphabet {
  if (shift.locking === 0 && shift.single === 0) return defaultAlphabet;
  const key = (shift.locking & 0xff) * 256 + (shift.single & 0xff);
  const known = nationalAlphabets.get(key);
  if (known !== undefined) return known;
  const locking = lockingShiftTable(shift.locking);
  const single = singleShiftTable(shift.single);
  if (locking === undefined && single === undefined) return defaultAlphabet;
  const basic = locking === undefined ? basicTable : withLocking(locking);
  const alphabet = flat(basic, single ?? defaultExtension);
  // Bounded by the existing tables: 13 × 13 pairs of 17 KB, of which we use at most three a language.
  nationalAlphabets.set(key, alphabet);
  return alphabet;
}

/** How many septets a UTF-16 code unit takes in the default alphabet: 1 basic, 2 extension, 0 not in it. */
export function septetsOf(codeUnit: number): number {
  return codeUnit < defaultCounts.length ? defaultCounts[codeUnit]! : 0;
}

/** The character of a septet, or a space where the alphabet has none (TS 23.038). */
export function characterOf(septet: number, alphabet: GsmAlphabet = defaultAlphabet): string {
  return alphabet.basic.get(septet & 0x7f) ?? ' ';
}

/** The character after an escape; an unknown one is shown as its basic character (TS 23.038). */
export function escapedCharacterOf(septet: number, alphabet: GsmAlphabet = defaultAlphabet): string {
  return alphabet.extension.get(septet & 0x7f) ?? characterOf(septet, alphabet);
}

// 128 characters in septet order; position 0x1B is the escape and is not in the table below.
const basicCharacters = [
  ...('@£$¥èéùìòÇ\nØø\rÅåΔ_ΦΓΛΩΠΨΣΘΞ ÆæßÉ' +
    ' !"#¤%&\'()*+,-./0123456789:;<=>?' +
    '¡ABCDEFGHIJKLMNOPQRSTUVWXYZÄÖÑÜ§' +
    '¿abcdefghijklmnopqrstuvwxyzäöñüà'),
];
const basicTable: SparseTable = new Map([...basicCharacters.entries()].filter(([septet]) => septet !== escapeSeptet));

export const defaultAlphabet: GsmAlphabet = flat(basicTable, defaultExtension);
const defaultCounts = defaultAlphabet.counts;
const nationalAlphabets = new Map<number, GsmAlphabet>();

function withLocking({ whole, characters }: { whole: boolean; characters: SparseTable }): SparseTable {
  return whole ? characters : new Map([...basicTable, ...characters]);
}

/** The highest code determines the size: 8.4 KB a table for the default alphabet, which stays in the L1/L2 cache. */
function flat(basic: SparseTable, extension: SparseTable): GsmAlphabet {
  const codes = [...basic.values(), ...extension.values()].map((character) => character.charCodeAt(0));
  const size = Math.max(...codes) + 1;
  const counts = new Uint8Array(size);
  const septets = new Uint8Array(size);
  // A character in both tables uses the basic one; of two positions in one table the first.
  for (const [table, count] of [
    [basic, 1],
    [extension, 2],
  ] as const) {
    for (const [septet, character] of table) {
      const code = character.charCodeAt(0);
      if (counts[code] !== 0) continue;
      counts[code] = count;
      septets[code] = septet;
    }
  }
  return { counts, septets, basic, extension };
}

// The languages that have shift tables of their own in GSM-7 (3GPP TS 23.038 §6.2.1.2.4), with their identifiers
// in the user data header, and the pair of tables a text is encoded with. Names only: the characters are in
// national-tables.ts. A name here is also a value of a carrier's `national_tables`, so it is never renamed.

export const nationalLanguages = {
  turkish: 1,
  spanish: 2,
  portuguese: 3,
  bengali: 4,
  gujarati: 5,
  hindi: 6,
  kannada: 7,
  malayalam: 8,
  oriya: 9,
  punjabi: 10,
  tamil: 11,
  telugu: 12,
  urdu: 13,
} as const;

export type NationalLanguage = keyof typeof nationalLanguages;

/**
 * Which tables a text of septets is read with, by identifier; 0 is the default table. Locking replaces the
 * alphabet itself, single replaces the table behind the escape.
 */
export type Shift = { readonly locking: number; readonly single: number };

export const noShift: Shift = { locking: 0, single: 0 };

/** Whether a text of these tables can be read where only `languages` are known. */
export function isShiftOf(shift: Shift, languages: readonly NationalLanguage[]): boolean {
  const isKnown = (table: number) => table === 0 || languages.some((each) => nationalLanguages[each] === table);
  return isKnown(shift.locking) && isKnown(shift.single);
}

/** The languages whose tables these are, for people; empty without any. */
export function languagesOf({ locking, single }: Shift): string {
  const names = Object.entries(nationalLanguages).filter(([, table]) => table === locking || table === single);
  return names.map(([name]) => name).join(', ');
}

/** Octets of the header elements that announce the shift: three for each table that is not the default. */
export function shiftOctets(shift: Shift): number {
  return (shift.locking === 0 ? 0 : 3) + (shift.single === 0 ? 0 : 3);
}

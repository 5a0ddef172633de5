// The languages with shift tables in GSM-7 (3GPP TS 23.038 §6.2.1.2.4), with their identifiers in the user data header,
// and the pair of tables of a text. The characters are in national-tables.ts. The names are also values of a carrier's
// `national_tables`: never rename one.

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

/** The tables of a GSM-7 text, by identifier; 0 is the default. Locking replaces the alphabet, single the extension. */
export type Shift = { readonly locking: number; readonly single: number };

export const noShift: Shift = { locking: 0, single: 0 };

/** Whether `languages` include all tables of the shift. */
export function isShiftOf(shift: Shift, languages: readonly NationalLanguage[]): boolean {
  const isKnown = (table: number) => table === 0 || languages.some((each) => nationalLanguages[each] === table);
  return isKnown(shift.locking) && isKnown(shift.single);
}

/** The names of the languages of these tables, for display; empty without any. */
export function languagesOf({ locking, single }: Shift): string {
  const names = Object.entries(nationalLanguages).filter(([, table]) => table === locking || table === single);
  return names.map(([name]) => name).join(', ');
}

/** Octets of the header elements that announce the shift: three for each table that is not the default. */
export function shiftOctets(shift: Shift): number {
  return (shift.locking === 0 ? 0 : 3) + (shift.single === 0 ? 0 : 3);
}

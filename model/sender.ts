// The forms of a sender and its kind. The directory decides whether an account may use it, the carrier which TON/NPI it
// gets.

export const senderKinds = ['alphanumeric', 'numeric', 'short_code'] as const;
export type SenderKind = (typeof senderKinds)[number];

/** The allowed forms, for error messages. */
export const senderShape =
  'a name of at most 11 letters, digits and & . _ - with a letter in it (blanks only between them), 3 to 8 digits, or 9 to 15 digits with an optional +';

// Three to eight digits are a short code: the shortest phone numbers of any country are longer.
const shortCode = /^[0-9]{3,8}$/;
const numeric = /^\+?[0-9]{9,15}$/;
// TS 23.040 §9.1.2.5 allows 11 characters of the GSM alphabet. Every carrier transmits these unchanged; a leading or
// trailing space would be lost.
const alphanumeric = /^(?=.*[A-Za-z])[A-Za-z0-9&._-](?:[A-Za-z0-9 &._-]{0,9}[A-Za-z0-9&._-])?$/;

/** Null when the text has none of these forms. */
export function senderKindOf(sender: string): SenderKind | null {
  if (shortCode.test(sender)) return 'short_code';
  if (numeric.test(sender)) return 'numeric';
  return alphanumeric.test(sender) ? 'alphanumeric' : null;
}

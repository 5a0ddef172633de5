// What a sender can look like on a handset, and which kind that makes it. The shape only: whether an account may
// use a sender is the directory's business, and which TON/NPI it gets is the carrier's.

export const senderKinds = ['alphanumeric', 'numeric', 'short_code'] as const;
export type SenderKind = (typeof senderKinds)[number];

/** For people and error messages. */
export const senderShape =
  'a name of at most 11 letters, digits and & . _ - with a letter in it (blanks only between them), 3 to 8 digits, or 9 to 15 digits with an optional +';

// Three to eight digits are a short code: the shortest phone numbers of any country are longer.
const shortCode = /^[0-9]{3,8}$/;
const numeric = /^\+?[0-9]{9,15}$/;
// TS 23.040 §9.1.2.5 gives an alphanumeric address 11 characters of the GSM alphabet. These ones every carrier
// takes unharmed; a leading or trailing space would be lost.
const alphanumeric = /^(?=.*[A-Za-z])[A-Za-z0-9&._-](?:[A-Za-z0-9 &._-]{0,9}[A-Za-z0-9&._-])?$/;

/** Null when no handset could show it. */
export function senderKindOf(sender: string): SenderKind | null {
  if (shortCode.test(sender)) return 'short_code';
  if (numeric.test(sender)) return 'numeric';
  return alphanumeric.test(sender) ? 'alphanumeric' : null;
}

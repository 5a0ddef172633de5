// What a text of the client's own must be that we store and return as it is: its reference, the id of its user's device.

/** One line of well-formed text: no control character, no half of a surrogate pair, which would be stored as another. */
export const isOneLine = (text: string): boolean => !control.test(text) && text.isWellFormed();

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const control = /[\u0000-\u001f\u007f]/;

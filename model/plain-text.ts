// Which texts are kept and shown: names and descriptions are one line without control characters, bodies may have line
// feeds. A terminal obeys C0 and C1 control characters, and bidirectional controls make a text read as another. And how a
// text of anybody is printed where such characters may still be in it. Pure.

// oxlint-disable-next-line no-control-regex -- control characters are what is looked for
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/u;

/** What is wrong with a text, as a sentence; null when it may be kept. `lines`: whether it may have line feeds. */
export function plainTextProblem(text: string, { lines = false }: { lines?: boolean } = {}): string | null {
  const judged = lines ? text.replaceAll('\n', '') : text;
  if (text.isWellFormed() && !controls.test(judged)) return null;
  return `expected a text without control characters${lines ? ' but line feeds' : ''}, bidirectional controls or lone surrogates`;
}

// Everything that has no shape of its own: controls, formats (zero width, bidirectional), separators of lines, halves of
// surrogate pairs, private and unassigned characters.
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;

/** One line that a terminal shows and does not obey: what is not seen is written as in JSON. */
export function printable(text: string): string {
  return text.replaceAll(unseen, escaped);
}

/** JSON text with the same characters escaped: still the same JSON. */
export function printableJson(json: string): string {
  return printable(json);
}

function escaped(one: string): string {
  const short = shortForms.get(one);
  if (short !== undefined) return short;
  return Array.from({ length: one.length }, (_, at) => hexadecimal(one.charCodeAt(at))).join('');
}

const shortForms = new Map([
  ['\n', '\\n'],
  ['\r', '\\r'],
  ['\t', '\\t'],
]);
const hexadecimal = (unit: number) => `\\u${unit.toString(16).padStart(4, '0')}`;

// Which texts may be stored and shown: names and descriptions are one line without control characters, bodies may have
// line feeds. A terminal obeys C0 and C1 control characters, and bidirectional controls make a text read as another.
// Also whether anything of a text is seen, and how one that may still contain such characters is printed. Pure.

// oxlint-disable-next-line no-control-regex -- the pattern matches control characters on purpose
const controls = /[\u0000-\u001f\u007f-\u009f\u2028\u2029\p{Bidi_Control}]/u;

/** Why a text must not be stored, as a sentence; null when it may be. `lines`: whether it may have line feeds. */
export function plainTextProblem(text: string, { lines = false }: { lines?: boolean } = {}): string | null {
  const judged = lines ? text.replaceAll('\n', '') : text;
  if (text.isWellFormed() && !controls.test(judged)) return null;
  return `expected a text without control characters${lines ? ' but line feeds' : ''}, bidirectional controls or lone surrogates`;
}

/** Nothing in it is seen. Nearly every text begins with a letter: a fast path. */
export function isBlank(text: string): boolean {
  const first = text.charCodeAt(0);
  return !(first > 0x20 && first < 0x7f) && blank.test(text);
}

// Spaces, controls, Unicode's default-ignorable characters (zero-width spaces, fillers), and the blank braille pattern.
const blank = /^[\s\p{Cc}\p{Default_Ignorable_Code_Point}\u2800]*$/u;

// Characters without a visible form: controls, formats (zero width, bidirectional), line separators, lone surrogates,
// private and unassigned characters.
const unseen = /[\p{Cc}\p{Cf}\p{Zl}\p{Zp}\p{Cs}\p{Co}\p{Cn}]/gu;

/** One line without control characters: invisible characters are escaped as in JSON. */
export function printable(text: string): string {
  return text.replaceAll(unseen, escaped);
}

/** Escapes the same characters in JSON text; the result is the same JSON value. */
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

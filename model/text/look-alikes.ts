// Replacements of characters outside GSM-7 when a client requests `transliterate`: characters that look the same or
// nearly so. Data only; assertions check that no entry replaces a character of GSM-7 or produces one outside of it.
// Letters are listed only where the shape is unambiguous: Cyrillic В is B, but З is not 3 and ν is not v.
import { assert } from '../../platform/assert.ts';
import { septetsOf } from './gsm-alphabet.ts';

/** By character; an empty string for an invisible one (a zero-width space, a soft hyphen). */
export const lookAlikes: ReadonlyMap<string, string> = new Map([
  // Typographic quotes, primes and spacing accents; guillemets.
  ...each('‘’‚‛′‵ʹʻʼʽˈˊˋ`´‹›', "'"),
  ...each('“”„‟″‶ʺ˝«»〝〞〟', '"'),
  ...each('‐‑‒–—―−⁃﹘˗', '-'),
  ['…', '...'],
  ['‥', '..'],
  ['․', '.'],
  ['·', '.'],
  ...each('•‣∙⋅●▪', '*'),
  // Spaces of every width, tabs and other line ends.
  ...each('\t\u00a0\u1680\u2000\u2001\u2002\u2003\u2004\u2005\u2006\u2007\u2008\u2009\u200a\u202f\u205f\u3000', ' '),
  ...each('\u000b\u0085\u2028\u2029', '\n'),
  ...each('\u00ad\u200b\u200e\u200f\u2060\ufeff', ''),
  // Signs.
  ...each('⁄∕⧸', '/'),
  ...each('∖⧵', '\\'),
  ...each('∗⁎', '*'),
  ...each('∼˜', '~'),
  ...each('¦∣।', '|'),
  ...each('॥‖', '||'),
  ...each('ˆ', '^'),
  ...each('∶։׃', ':'),
  ...each('≪', '<<'),
  ...each('≫', '>>'),
  ['‼', '!!'],
  ['₤', '£'],
  // Letterlike symbols that Unicode distinguishes from the letters of GSM-7.
  ...pairs('∆∑∏', 'ΔΣΠ'),
  // Latin letters with a stroke or of two letters: Unicode names no base letter for them.
  ...pairs('ıłŁđĐħĦŧŦƀɨ', 'ilLdDhHtTbi'),
  ['œ', 'oe'],
  ['Œ', 'OE'],
  ['ẞ', 'ß'],
  // Cyrillic capitals and small letters of Latin shape.
  ...pairs('АВЕКМНОРСТХІЈЅӀԚԜ', 'ABEKMHOPCTXIJSIQW'),
  ...pairs('аеорсухіјѕһԁԛԝ', 'aeopcyxijshdqw'),
  // Greek capitals of Latin shape (the others are in GSM-7), and the unambiguous small letters.
  ...pairs('ΑΒΕΖΗΙΚΜΝΟΡΤΥΧϹ', 'ABEZHIKMNOPTYXC'),
  ...pairs('οϲϳ', 'ocj'),
]);

function each(characters: string, replacement: string): [string, string][] {
  return [...characters].map((character) => [character, replacement]);
}

function pairs(characters: string, replacements: string): [string, string][] {
  const [from, to] = [[...characters], [...replacements]];
  assert(from.length === to.length, 'a look-alike is without its replacement');
  return from.map((character, index) => [character, to[index] ?? '']);
}

for (const [character, replacement] of lookAlikes) {
  assert(septetsOf(character.charCodeAt(0)) === 0, `a look-alike replaces ${character} of GSM-7`);
  for (const each of replacement) assert(septetsOf(each.charCodeAt(0)) > 0, 'a look-alike leads out of GSM-7');
}

// What may be the brand in the text of a one-time password. A client names it and has it sent to any number, in a text
// that people trust: so it has nothing that a handset shows as a link, nobody to call, and nothing that is not seen.
import { plainTextProblem } from './plain-text.ts';
import { linkHostsOf } from './words-and-links.ts';

/** Why a text is no brand, as a sentence; null when it is one. Its length is checked elsewhere. */
export function brandProblem(brand: string): string | null {
  const shown = brand.replaceAll(joiner, '');
  if (plainTextProblem(shown) !== null || unseen.test(shown)) return notSeen;
  const read = shown.normalize('NFKC');
  if (!/[\p{L}\p{N}]/u.test(read)) return 'must have a letter or a digit';
  if (linkHostsOf(shown).length > 0 || dottedWord.test(read) || scheme.test(read) || email.test(read)) return linked;
  return hasTelephoneNumber(read) ? telephone : null;
}

const notSeen = 'must be one line of visible characters, without line separators and direction controls';
const linked =
  'must be a name without a link: handsets show a domain such as example.com, an address, an e-mail address and what has a scheme (tel:…) as one';
const telephone =
  'must be a name without a telephone number: five digits in a row are taken for one, and seven without a letter between them';

// The joiners of scripts whose letters change their form by them (র‍্যাব, നന്‍), each after a letter or sign of these.
const joiner =
  /(?<=[\p{sc=Arab}\p{sc=Syrc}\p{sc=Beng}\p{sc=Deva}\p{sc=Gujr}\p{sc=Guru}\p{sc=Knda}\p{sc=Mlym}\p{sc=Orya}\p{sc=Sinh}\p{sc=Taml}\p{sc=Telu}\p{sc=Khmr}\p{sc=Mymr}])[\u200c\u200d]/gu;
// Formats, private and unassigned characters, fillers, and the blank braille pattern.
const unseen = /[\p{Cf}\p{Co}\p{Cn}\p{Default_Ignorable_Code_Point}\u2800]/u;
/** `evil .com`: handsets show no link there, people read one. */
const dottedWord = /(?<!\S)\.+\p{L}{2}/u;
/** Also a host with a port. A colon before a blank is none. */
const scheme = /\p{L}[\p{L}\p{N}+.-]*:\S|:\/\//u;
const email = /\S@\S/u;

// Hotlines have five digits (16247), and old handsets show such as links. With anything but letters between them: a
// number has blanks, dots, dashes, brackets, slashes. 24/7/365 has six.
const inARowMax = 4;
const withSignsMax = 6;
const inARow = new RegExp(`\\p{N}{${inARowMax + 1}}`, 'u');

function hasTelephoneNumber(read: string): boolean {
  const bare = read.replaceAll(/\p{M}/gu, '');
  if (inARow.test(bare)) return true;
  return bare.split(/\p{L}+/u).some((part) => part.replaceAll(/\P{N}/gu, '').length > withSignsMax);
}

// What a text is made of when it is looked at for words and links: words of any script in lower case, and the hosts of
// everything a telephone could show as a link. Both as a person reads them: what looks like a letter is that letter, and
// what nobody sees is not there. Each reads the text once. Pure; what is allowed is policy's business.
import { domainToASCII } from 'node:url';
import { lookAlikes } from './text/look-alikes.ts';

const word = /[\p{L}\p{M}\p{N}]+/gu;
// oxlint-disable-next-line no-control-regex -- all of ASCII is what is looked for
const plain = /^[\u0000-\u007f]*$/;
const unseen = /\p{Default_Ignorable_Code_Point}/gu;
/**
 * No name in the domain name system is longer (RFC 1035 section 2.3.4), and converting one takes the square of its
 * length.
 */
const hostCharsMax = 253;
/**
 * An IPv6 address in brackets with its zone takes some 60; a search without a bound would read the rest of the text
 * again at every bracket.
 */
const bracketed = /(?<=:\/\/)\[[^\]\s]{0,64}\]/g;
/** Accents of Latin, Greek and Cyrillic letters; the vowel signs of other scripts are letters of their own. */
const accents = /[\u0300-\u036f]/g;

/** The words of a phrase as they are compared; empty when it has none. */
export function wordsOf(text: string): readonly string[] {
  if (plain.test(text)) return text.toLowerCase().match(word) ?? [];
  const letters = text.normalize('NFKD').replace(unseen, '').replace(accents, '').toLowerCase();
  return letters.replace(disguised, (letter) => letterOf.get(letter) ?? letter).match(word) ?? [];
}

/** Small letters that look like a Latin one in either case: а, and в because of В. */
const letterOf: ReadonlyMap<string, string> = new Map(
  [...lookAlikes]
    .filter(([sign, letter]) => /^\p{L}$/u.test(sign) && /^[A-Za-z]+$/.test(letter))
    .map(([sign, letter]): [string, string] => [sign.toLowerCase(), letter.toLowerCase()])
    .filter(([sign]) => !plain.test(sign)),
);
const disguised = new RegExp(`[${[...letterOf.keys()].join('')}]`, 'gu');

/** A domain as it is compared, or null: `Example.COM.` → `example.com`, `пример.рф` → `xn--e1afmkfd.xn--p1ai`. */
export function domainOf(text: string): string | null {
  // Before anything reads it: putting accents into their order takes the square of their number as well.
  if (text.length > hostCharsMax + 1) return null;
  const read = asBrowsersRead(text).toLowerCase().replace(/\.$/, '');
  if (read.length > hostCharsMax) return null;
  const domain = inAscii(read);
  const labels = domain.split('.');
  const isSound =
    labels.length >= 2 &&
    labels.every((label) => label.length <= 63 && /^[^\s./:@?#-]([^\s./:@?#]*[^\s./:@?#-])?$/.test(label));
  return isSound ? domain : null;
}

/** Hosts of everything in the text that a telephone could show as a link, in order. */
export function linkHostsOf(written: string): readonly string[] {
  const text = asBrowsersRead(written);
  if (!text.includes('.') && !text.includes('://')) return [];
  const hosts: string[] = text.includes('://[') ? (text.match(bracketed) ?? []) : [];
  let from = -1;
  for (let at = 0; at <= text.length; at += 1) {
    if (at < text.length && isHostChar(text.charCodeAt(at))) {
      if (from < 0) from = at;
      continue;
    }
    if (from >= 0) {
      const hasScheme = from >= 3 && text.startsWith('://', from - 3);
      // Nothing has two dots in a row: dots before a name are no part of it.
      for (const run of text.slice(from, at).split(/\.{2,}/)) {
        const host = hostOf(run, hasScheme);
        if (host !== null) hosts.push(host);
      }
    }
    from = -1;
  }
  return hosts;
}

/** Full-width letters, dots of other scripts, an escaped dot, signs that nobody sees: to a browser they are a host. */
function asBrowsersRead(text: string): string {
  const decoded = text.includes('%') ? text.replaceAll(/%2e/gi, '.') : text;
  return plain.test(decoded) ? decoded : decoded.replaceAll(/[。｡]/g, '.').normalize('NFKC').replace(unseen, '');
}

/** Letters of any script, digits, dot, hyphen; no signs and no quotes, or they would hide the host they stand beside. */
function isHostChar(code: number): boolean {
  if (code >= 97 && code <= 122) return true;
  if (code >= 65 && code <= 90) return true;
  if ((code >= 48 && code <= 57) || code === 46 || code === 45) return true;
  return code > 0xbf && /[\p{L}\p{M}\p{N}\p{Cs}]/u.test(String.fromCharCode(code));
}

function hostOf(run: string, hasScheme: boolean): string | null {
  let from = 0;
  let to = run.length;
  while (from < to && (run[from] === '.' || run[from] === '-')) from += 1;
  while (to > from && (run[to - 1] === '.' || run[to - 1] === '-')) to -= 1;
  const host = tailOf(run.slice(from, to).toLowerCase());
  const dot = host.lastIndexOf('.');
  // Behind a scheme a bare name or number opens as well: http://3232235777 is an address.
  if (dot < 0) return hasScheme && host !== '' ? host : null;
  // An address or an amount of money ends in digits; only behind a scheme is it a link.
  const last = host.slice(dot + 1);
  return hasScheme || (last.length >= 2 && !/^[0-9]+$/.test(last)) ? inAscii(host) : null;
}

/** The last labels of a host that is too long for a name: a listed domain at its end is still found. */
function tailOf(host: string): string {
  if (host.length <= hostCharsMax) return host;
  const tail = host.slice(-hostCharsMax);
  return tail.slice(tail.indexOf('.') + 1);
}

/** The form in which the domain name system knows it; as it was when it is no such name. */
function inAscii(host: string): string {
  return plain.test(host) ? host : domainToASCII(host) || host;
}

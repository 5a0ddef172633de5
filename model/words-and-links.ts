// The words and link hosts of a text, for the content rules: words of any script in lower case, and the host of
// everything a telephone could show as a link. Both as a person reads them: look-alike letters count as that letter,
// invisible characters are removed. Each reads the text once. Pure; policy/ decides what is allowed.
import { domainToASCII } from 'node:url';
import { lookAlikes } from './text/look-alikes.ts';

const word = /[\p{L}\p{M}\p{N}]+/gu;
// oxlint-disable-next-line no-control-regex -- the pattern matches all of ASCII on purpose
const plain = /^[\u0000-\u007f]*$/;
const unseen = /\p{Default_Ignorable_Code_Point}/gu;
/** The longest domain name (RFC 1035, 2.3.4). Converting one takes quadratic time. */
const hostCharsMax = 253;
/** A bracketed IPv6 address with zone has some 60 characters; an unbounded match would scan on at every bracket. */
const bracketed = /(?<=:\/\/)\[[^\]\s]{0,64}\]/g;
/** Accents of Latin, Greek and Cyrillic letters; the vowel signs of other scripts are significant. */
const accents = /[\u0300-\u036f]/g;

/** The words of a text, normalised for comparison; empty when it has none. */
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

/**
 * A domain normalised for comparison, or null: `Example.COM.` → `example.com`, `пример.рф` → `xn--e1afmkfd.xn--p1ai`.
 */
export function domainOf(text: string): string | null {
  // Checked first: normalising accents takes quadratic time as well.
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
      // A host has no two dots in a row: dots before a name are not part of it.
      for (const run of text.slice(from, at).split(/\.{2,}/)) {
        const host = hostOf(run, hasScheme);
        if (host !== null) hosts.push(host);
      }
    }
    from = -1;
  }
  return hosts;
}

/** Normalises as browsers do: full-width letters, dots of other scripts, an escaped dot, invisible characters. */
function asBrowsersRead(text: string): string {
  const decoded = text.includes('%') ? text.replaceAll(/%2e/gi, '.') : text;
  return plain.test(decoded) ? decoded : decoded.replaceAll(/[。｡]/g, '.').normalize('NFKC').replace(unseen, '');
}

/** Letters of any script, digits, dot, hyphen; no symbols and no quotes, which would hide an adjacent host. */
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
  // After a scheme a single label or number is a link too: http://3232235777 is an address.
  if (dot < 0) return hasScheme && host !== '' ? host : null;
  const last = host.slice(dot + 1);
  // No name ends in digits; without a scheme it is an amount of money, or the four numbers that handsets show as a link.
  if (!hasScheme && /^\p{N}+$/u.test(last)) return address.test(host) ? host : null;
  return hasScheme || last.length >= 2 ? inAscii(host) : null;
}

/** IPv4, each number up to 255 and perhaps with zeros in front. */
const address = /^(?:(?:25[0-5]|2[0-4][0-9]|[01]?[0-9]{1,2})(?:\.|$)){4}$/;

/** The last labels of a host that is too long: a listed domain at its end is still found. */
function tailOf(host: string): string {
  if (host.length <= hostCharsMax) return host;
  const tail = host.slice(-hostCharsMax);
  return tail.slice(tail.indexOf('.') + 1);
}

/** The ASCII form of the domain name system (punycode); unchanged when it is no such name. */
function inAscii(host: string): string {
  return plain.test(host) ? host : domainToASCII(host) || host;
}

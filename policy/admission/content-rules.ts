// Forbidden words and links, of one account or of the whole installation, compiled once per change. The check reads the
// text once, in time linear in the text. Words match whole and in any case, links by their domain and its subdomains.
// It reports only what it found, never the list.
import { domainOf, linkHostsOf, wordsOf } from '../../model/words-and-links.ts';

/** Lists as stored. An empty `linksAllowed` allows every link that is not denied. */
export type ContentRules = {
  readonly words: readonly string[];
  readonly linksDenied: readonly string[];
  readonly linksAllowed: readonly string[];
};

/** `found`: the word or phrase of the rule, or the host of the link in lower case. */
export type ContentHit = { readonly kind: 'word' | 'link_denied' | 'link_not_allowed'; readonly found: string };

export type ContentCheck = (text: string) => ContentHit | null;

/**
 * Single words in a set; phrases by their words joined by a space, as they were written. `counts`: for each first word,
 * the lengths of its phrases in words: 500 phrases that begin alike cost one look-up per length, not 500 comparisons.
 */
type WordList = {
  readonly single: ReadonlySet<string>;
  readonly phrases: ReadonlyMap<string, string>;
  readonly counts: ReadonlyMap<string, readonly number[]>;
};

/** Null when the lists are empty. */
export function compileContentRules(rules: ContentRules): ContentCheck | null {
  const list = wordListOf(rules.words);
  const denied = domainsOf(rules.linksDenied);
  const allowed = domainsOf(rules.linksAllowed);
  const looksAtWords = list.single.size > 0 || list.phrases.size > 0;
  const looksAtLinks = denied.size > 0 || allowed.size > 0;
  if (!looksAtWords && !looksAtLinks) return null;
  return (text) => (looksAtWords ? wordIn(text, list) : null) ?? (looksAtLinks ? linkIn(text, denied, allowed) : null);
}

/** The last text, split: a message is checked against two sets of rules, and splitting costs more than both. */
let last: { readonly text: string; readonly words: readonly string[]; readonly hosts: readonly string[] } = {
  text: '',
  words: [],
  hosts: [],
};

function readText(text: string): typeof last {
  if (text !== last.text) last = { text, words: wordsOf(text), hosts: linkHostsOf(text) };
  return last;
}

function wordIn(text: string, { single, phrases, counts }: WordList): ContentHit | null {
  const { words } = readText(text);
  for (let from = 0; from < words.length; from += 1) {
    const word = words[from] as string;
    if (single.has(word)) return { kind: 'word', found: word };
    for (const count of counts.get(word) ?? none) {
      const hit = phrases.get(words.slice(from, from + count).join(' '));
      if (hit !== undefined) return { kind: 'word', found: hit };
    }
  }
  return null;
}

const none: readonly number[] = [];

function wordListOf(list: readonly string[]): WordList {
  const single = new Set<string>();
  const phrases = new Map<string, string>();
  const counts = new Map<string, number[]>();
  for (const written of list) {
    const words = wordsOf(written);
    const [first] = words;
    if (first === undefined) continue;
    if (words.length === 1) {
      single.add(first);
      continue;
    }
    phrases.set(words.join(' '), written);
    const known = counts.get(first) ?? [];
    if (!known.includes(words.length))
      counts.set(
        first,
        [...known, words.length].sort((one, other) => one - other),
      );
  }
  return { single, phrases, counts };
}

function linkIn(text: string, denied: ReadonlySet<string>, allowed: ReadonlySet<string>): ContentHit | null {
  for (const host of readText(text).hosts) {
    if (isUnder(host, denied)) return { kind: 'link_denied', found: host };
    if (allowed.size > 0 && !isUnder(host, allowed)) return { kind: 'link_not_allowed', found: host };
  }
  return null;
}

function isUnder(host: string, domains: ReadonlySet<string>): boolean {
  if (domains.has(host)) return true;
  for (let dot = host.indexOf('.'); dot >= 0; dot = host.indexOf('.', dot + 1)) {
    if (domains.has(host.slice(dot + 1))) return true;
  }
  return false;
}

const domainsOf = (list: readonly string[]) =>
  new Set(list.map(domainOf).filter((domain): domain is string => domain !== null));

// Words and links that must not be sent, as data: of one account, or of the whole installation. Compiled once per
// change; the check reads the text once, whatever the lists say. Words match whole and in any case, links by their
// domain and everything beneath it. It never says which list a text would have to avoid as a whole, only what it hit.

import { domainOf, linkHostsOf, wordsOf } from '../../model/words-and-links.ts';

/** Lists as they are kept. An empty `linksAllowed` allows every link that is not denied. */
export type ContentRules = {
  readonly words: readonly string[];
  readonly linksDenied: readonly string[];
  readonly linksAllowed: readonly string[];
};

export type ContentHit = { readonly kind: 'word' | 'link_denied' | 'link_not_allowed'; readonly found: string };

export type ContentCheck = (text: string) => ContentHit | null;

/** Phrases as a tree of words. */
type Branch = { readonly next: Map<string, Branch>; phrase: string | null };

/** Null when there is nothing to look for. */
export function compileContentRules(rules: ContentRules): ContentCheck | null {
  const root = branch();
  for (const phrase of rules.words) add(root, phrase);
  const denied = domainsOf(rules.linksDenied);
  const allowed = domainsOf(rules.linksAllowed);
  const looksAtWords = root.next.size > 0;
  const looksAtLinks = denied.size > 0 || allowed.size > 0;
  if (!looksAtWords && !looksAtLinks) return null;
  return (text) => (looksAtWords ? wordIn(text, root) : null) ?? (looksAtLinks ? linkIn(text, denied, allowed) : null);
}

function wordIn(text: string, root: Branch): ContentHit | null {
  const words = wordsOf(text);
  for (let from = 0; from < words.length; from += 1) {
    let at: Branch | undefined = root.next.get(words[from] as string);
    // A phrase has a bounded number of words, so this loop has too.
    for (let to = from + 1; at !== undefined; to += 1) {
      if (at.phrase !== null) return { kind: 'word', found: at.phrase };
      at = to < words.length ? at.next.get(words[to] as string) : undefined;
    }
  }
  return null;
}

function linkIn(text: string, denied: ReadonlySet<string>, allowed: ReadonlySet<string>): ContentHit | null {
  for (const host of linkHostsOf(text)) {
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

const branch = (): Branch => ({ next: new Map(), phrase: null });

function add(root: Branch, phrase: string): void {
  let at = root;
  for (const each of wordsOf(phrase)) {
    const next = at.next.get(each) ?? branch();
    at.next.set(each, next);
    at = next;
  }
  if (at !== root) at.phrase = phrase;
}

const domainsOf = (list: readonly string[]) =>
  new Set(list.map(domainOf).filter((domain): domain is string => domain !== null));

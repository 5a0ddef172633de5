// Words and links that must not be sent, as data: of one account, or of the whole installation. Compiled once per
// change; the check reads the text once, whatever the lists say. Words match whole and in any case, links by their
// domain and everything beneath it. It never says which list a text would have to avoid as a whole, only what it hit.

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

const word = /[\p{L}\p{M}\p{N}]+/gu;

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

/** The words of a phrase as they are compared; empty when it has none. */
export function wordsOf(text: string): readonly string[] {
  return text.toLowerCase().match(word) ?? [];
}

/** A domain as it is compared, or null: `Example.COM.` → `example.com`. */
export function domainOf(text: string): string | null {
  const domain = text.toLowerCase().replace(/\.$/, '');
  const labels = domain.split('.');
  const isSound =
    labels.length >= 2 &&
    labels.every((label) => label.length <= 63 && /^[^\s./:@?#-]([^\s./:@?#]*[^\s./:@?#-])?$/.test(label));
  return isSound ? domain : null;
}

/** Hosts of everything in the text that a telephone could show as a link, in order. */
export function linkHostsOf(text: string): readonly string[] {
  if (!text.includes('.')) return [];
  const hosts: string[] = [];
  let from = -1;
  for (let at = 0; at <= text.length; at += 1) {
    if (at < text.length && isHostChar(text.charCodeAt(at))) {
      if (from < 0) from = at;
      continue;
    }
    if (from >= 0) {
      const hasScheme = from >= 3 && text.startsWith('://', from - 3);
      const host = hostOf(text.slice(from, at), hasScheme);
      if (host !== null) hosts.push(host);
    }
    from = -1;
  }
  return hosts;
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

/** Letters of any script, digits, dot, hyphen. */
function isHostChar(code: number): boolean {
  if (code >= 97 && code <= 122) return true;
  if (code >= 65 && code <= 90) return true;
  return (code >= 48 && code <= 57) || code === 46 || code === 45 || code > 0xbf;
}

function hostOf(run: string, hasScheme: boolean): string | null {
  let from = 0;
  let to = run.length;
  while (from < to && (run[from] === '.' || run[from] === '-')) from += 1;
  while (to > from && (run[to - 1] === '.' || run[to - 1] === '-')) to -= 1;
  const host = run.slice(from, to).toLowerCase();
  const dot = host.lastIndexOf('.');
  if (dot < 0 || host.includes('..')) return null;
  // An address or an amount of money ends in digits; only behind a scheme is it a link.
  const last = host.slice(dot + 1);
  return hasScheme || (last.length >= 2 && !/^[0-9]+$/.test(last)) ? host : null;
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

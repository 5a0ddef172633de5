// What a text is made of when it is looked at for words and links: words of any script in lower case, and the hosts of
// everything a telephone could show as a link. Each reads the text once. Pure; what is allowed is policy's business.

const word = /[\p{L}\p{M}\p{N}]+/gu;

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

// One address has several spellings that lead to the same page. A link has the spelling that its message had, and its id
// follows from it; what is disabled must not be sent in another one. Pure.

/**
 * The spelling that says no more than it must: no dot at the end of the host, no fragment, and no escapes of characters
 * that need none (RFC 3986, 6.2.2.2). `url` is one that the WHATWG parser has normalised.
 * ```ts
 * plainSpelling('https://example.org./%6b#top'); // 'https://example.org/k'
 * ```
 */
export function plainSpelling(url: string): string {
  const plain = new URL(url);
  plain.hostname = plain.hostname.replace(/\.+$/, '');
  plain.hash = '';
  plain.pathname = withoutNeedlessEscapes(plain.pathname);
  plain.search = withoutNeedlessEscapes(plain.search);
  return plain.href;
}

function withoutNeedlessEscapes(text: string): string {
  return text.replace(/%[\da-f]{2}/gi, (escape) => {
    const character = String.fromCharCode(Number.parseInt(escape.slice(1), 16));
    return /[\w.~-]/.test(character) ? character : escape.toUpperCase();
  });
}

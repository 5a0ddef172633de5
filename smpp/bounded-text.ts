// Texts a peer sends (message ids, addresses, error codes) are bounded here, where they are decoded: SMPP 3.4 gives an id
// 64 characters and an address 20, but a PDU can carry one of 16 KB, and each would go into events, memory and logs.
import { hash } from 'node:crypto';
import { assert } from '../platform/assert.ts';
import { limits } from '../platform/limits.ts';

const { textCharsMax } = limits.smpp;
const shownChars = 16;

/**
 * A text that names something. One beyond the bound becomes its first characters, `~` and a SHA-256 of the whole: the
 * same text always gives the same name, and two that begin alike keep different ones, so a receipt with a long id still
 * finds its own submit and never another. (It can no longer be read in another base, or asked about with query_sm.)
 */
export function boundedName(text: string): string {
  if (text.length <= textCharsMax) return text;
  return `${text.slice(0, shownChars)}~${hash('sha256', text, 'base64url')}`;
}

/** A text for people only: what is beyond the bound is left out. */
export function boundedWords(text: string): string {
  return text.length <= textCharsMax ? text : text.slice(0, textCharsMax);
}

/** A SHA-256 in base64url. */
const hashChars = 43;
assert(shownChars + 1 + hashChars <= textCharsMax, 'a shortened name would be longer than its bound');

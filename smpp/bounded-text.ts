// Bounds the texts of a peer (message ids, addresses, error codes) where they are decoded: SMPP 3.4 allows an id 64
// characters and an address 20, but a PDU can carry one of 16 KB, and each would go into events, memory and logs.
import { hash } from 'node:crypto';
import { assert } from '../platform/assert.ts';
import { limits } from '../platform/limits.ts';

const { textCharsMax } = limits.smpp;
const shownChars = 16;

/**
 * Bounds a text that identifies something. One beyond the bound becomes its first characters, `~` and a SHA-256 of the
 * whole: equal texts give equal names and different ones different names, so a receipt with a long id still finds its
 * own submit. (The name cannot be read in another base or queried with query_sm.)
 */
export function boundedName(text: string): string {
  if (text.length <= textCharsMax) return text;
  return `${text.slice(0, shownChars)}~${hash('sha256', text, 'base64url')}`;
}

/** Bounds a text for display: cuts it at the bound. */
export function boundedWords(text: string): string {
  return text.length <= textCharsMax ? text : text.slice(0, textCharsMax);
}

/** A SHA-256 in base64url. */
const hashChars = 43;
assert(shownChars + 1 + hashChars <= textCharsMax, 'a shortened name would be longer than its bound');

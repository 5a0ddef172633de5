// API keys as clients hold them: `hk_live_<public id>_<secret>` or `hk_test_…`. The public id finds the key and may be
// shown; of the secret only the SHA-256 is stored. Pure: no database, no clock.
import { hash, timingSafeEqual } from 'node:crypto';
import { assert } from '../platform/assert.ts';
import { secretBytes } from '../platform/random.ts';

/** What a key may do with its account. A scope is added here together with the first route that requires it. */
export const accountScopes = [
  'sms:send',
  'sms:read',
  'otp:custom_code',
  'account:read',
  'account:manage',
  'keys:manage',
  'senders:manage',
  'templates:manage',
  'suppressions:manage',
  'links:manage',
  'reports:read',
  'webhooks:manage',
] as const;

/** Scopes that concern the installation and no account. Only its operator grants them, on the machine itself. */
export const operatorScopes = ['carriers:read', 'carriers:manage', 'audit:read'] as const;

export const scopes = [...accountScopes, ...operatorScopes] as const;
export type Scope = (typeof scopes)[number];

export type ApiKeyParts = { readonly livemode: boolean; readonly publicId: string; readonly secret: string };

/** The whole key: only the client has it. It is shown once and never stored. */
export type NewApiKey = ApiKeyParts & { readonly token: string; readonly secretHash: Buffer };

const alphabet = '0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz';
const publicIdChars = 12; // 71 bits: unique without coordination, and checked by the index
const secretChars = 32; // 190 bits: nothing slower than SHA-256 is needed against guessing
const livePrefix = 'hk_live_';
const testPrefix = 'hk_test_'; // as long as the other: the offsets below rely on it
const secretAt = livePrefix.length + publicIdChars + 1;
const tokenChars = secretAt + secretChars;

const alphanumeric = /^[0-9A-Za-z]+$/;

export function newApiKey(livemode: boolean): NewApiKey {
  const publicId = base62(publicIdChars);
  const secret = base62(secretChars);
  const token = `${livemode ? livePrefix : testPrefix}${publicId}_${secret}`;
  return { livemode, publicId, secret, token, secretHash: hashOfSecret(secret) };
}

/** Splits a bearer token into its parts; null when its form is not that of an API key. It does not look the key up. */
export function splitApiKey(token: string): ApiKeyParts | null {
  if (token.length !== tokenChars || token[secretAt - 1] !== '_') return null;
  const livemode = token.startsWith(livePrefix);
  if (!livemode && !token.startsWith(testPrefix)) return null;
  const publicId = token.slice(livePrefix.length, secretAt - 1);
  const secret = token.slice(secretAt);
  if (!alphanumeric.test(publicId) || !alphanumeric.test(secret)) return null;
  return { livemode, publicId, secret };
}

/** How such a token is written, for error messages. */
export function apiKeyForm(livemode: boolean): string {
  const prefix = livemode ? livePrefix : testPrefix;
  return `${prefix}, ${publicIdChars} letters and digits, an underscore, and ${secretChars} letters and digits`;
}

/** SHA-256, 32 octets. The secret has 190 random bits, so a salt or a slow hash would protect nothing more. */
export function hashOfSecret(secret: string): Buffer {
  return hash('sha256', secret, 'buffer');
}

/** Whether a secret has this hash, compared in constant time. */
export function secretMatches(secret: string, secretHash: Uint8Array): boolean {
  return secretHash.length === 32 && timingSafeEqual(hashOfSecret(secret), secretHash);
}

export function isOperatorScope(scope: string): boolean {
  return (operatorScopes as readonly string[]).includes(scope);
}

// Octets from 248 on are discarded: 248 is a multiple of 62, so every character is equally likely.
function base62(chars: number): string {
  let text = '';
  while (text.length < chars) {
    for (const octet of secretBytes(chars)) {
      if (octet < 248 && text.length < chars) text += alphabet[octet % 62];
    }
  }
  return text;
}

assert(livePrefix.length === testPrefix.length, 'a key would be cut at the wrong place');

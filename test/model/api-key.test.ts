// Keys: their form, their entropy, and that only the right secret matches.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { hashOfSecret, newApiKey, secretMatches, splitApiKey } from '../../model/api-key.ts';

const base62 = fc.constantFrom(...'0123456789ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz');
const publicIds = fc.string({ unit: base62, minLength: 12, maxLength: 12 });
const secrets = fc.string({ unit: base62, minLength: 32, maxLength: 32 });

describe('API keys', () => {
  test('a new key splits into its parts, and only its own secret matches', () => {
    for (const livemode of [true, false]) {
      const key = newApiKey(livemode);
      expect(key.token).toMatch(livemode ? /^hk_live_[0-9A-Za-z]{12}_[0-9A-Za-z]{32}$/ : /^hk_test_/);
      expect(splitApiKey(key.token)).toEqual({ livemode, publicId: key.publicId, secret: key.secret });
      expect(secretMatches(key.secret, key.secretHash)).toBe(true);
      expect(secretMatches(newApiKey(livemode).secret, key.secretHash)).toBe(false);
    }
  });

  test('any key of the right form is split and joined again', () => {
    fc.assert(
      fc.property(fc.boolean(), publicIds, secrets, (livemode, publicId, secret) => {
        const token = `${livemode ? 'hk_live_' : 'hk_test_'}${publicId}_${secret}`;
        expect(splitApiKey(token)).toEqual({ livemode, publicId, secret });
        expect(secretMatches(secret, hashOfSecret(secret))).toBe(true);
      }),
    );
  });

  test('a token with any one character changed never matches the stored hash', () => {
    const key = newApiKey(true);
    fc.assert(
      fc.property(fc.nat(key.token.length - 1), base62, (at, character) => {
        const changed = key.token.slice(0, at) + character + key.token.slice(at + 1);
        const parts = splitApiKey(changed);
        const accepted =
          parts?.livemode && parts.publicId === key.publicId && secretMatches(parts.secret, key.secretHash);
        expect(accepted ?? false).toBe(changed === key.token);
      }),
    );
  });

  test('anything that does not have the form is no key', () => {
    const { token } = newApiKey(true);
    for (const wrong of ['', 'hk_live_', token.slice(0, -1), `${token}x`, token.toUpperCase(), ` ${token.slice(1)}`]) {
      expect(splitApiKey(wrong)).toBeNull();
    }
    expect(splitApiKey(token.replace('hk_live_', 'hk_prod_'))).toBeNull();
    expect(splitApiKey(`${token.slice(0, -1)}é`)).toBeNull();
    fc.assert(fc.property(fc.string(), (text) => splitApiKey(text) === null));
  });

  test('a hash of the wrong length matches nothing instead of throwing', () => {
    expect(secretMatches('x', new Uint8Array(0))).toBe(false);
    expect(secretMatches('x', new Uint8Array(31))).toBe(false);
  });
});

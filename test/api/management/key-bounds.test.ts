// What one key may do, as a property: whatever is done, in any order, with a key and with all it created or changed,
// none of them may ever do more than it could at the beginning, and keys beyond it stay as they are.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import {
  type KeyPowers,
  beyond,
  powersOfKey,
  refuseKeyChange,
  refuseKeyRevocation,
  refuseNewKey,
} from '../../../api/management/routes/key-bounds.ts';
import type { KeyChange, StoredApiKey } from '../../../control/store/api-keys.ts';
import { accountScopes } from '../../../model/api-key.ts';
import type { AccountId, ApiKeyId } from '../../../model/ids.ts';

const beganMs = Date.parse('2026-01-01T00:00:00Z');

const networks = fc.subarray(['10.0.0.0/8', '10.1.0.0/16', '10.1.2.3', '203.0.113.0/24', '2001:db8::/32', '0.0.0.0/0']);
const rate = fc.option(fc.record({ perSecond: fc.constantFrom(1, 5, 10), burst: fc.constantFrom(1, 10, 1_000_000) }));
const expiry = fc.option(fc.integer({ min: -2, max: 8 }).map((hours) => beganMs + hours * 3_600_000));
const powers: fc.Arbitrary<KeyPowers> = fc.record({
  livemode: fc.boolean(),
  scopes: fc.subarray([...accountScopes], { minLength: 1 }),
  networks,
  rate,
  expiresAtMs: expiry,
});

/** Most begin with few bounds, or hardly anything would ever be allowed. */
const firstPowers: fc.Arbitrary<KeyPowers> = fc.oneof(
  powers,
  fc.record({
    livemode: fc.constant(true),
    scopes: fc.constant(accountScopes),
    networks: fc.constantFrom([], ['10.0.0.0/8']),
    rate: fc.constantFrom(null, { perSecond: 10, burst: 10 }),
    expiresAtMs: fc.constantFrom(null, beganMs + 7 * 3_600_000),
  }),
);

type Step =
  | { readonly kind: 'make'; readonly by: number; readonly wanted: KeyPowers }
  | { readonly kind: 'change'; readonly by: number; readonly of: number; readonly change: KeyChange }
  | { readonly kind: 'revoke'; readonly by: number; readonly of: number }
  | { readonly kind: 'later'; readonly hours: number };
const nth = fc.nat(30);
const step: fc.Arbitrary<Step> = fc.oneof(
  fc.record({ kind: fc.constant('make' as const), by: nth, wanted: powers }),
  fc.record({
    kind: fc.constant('change' as const),
    by: nth,
    of: nth,
    change: fc.record(
      { ipAllowlist: networks, rate, expiresAtMs: expiry },
      { requiredKeys: [] },
    ) as fc.Arbitrary<KeyChange>,
  }),
  fc.record({ kind: fc.constant('revoke' as const), by: nth, of: nth }),
  fc.record({ kind: fc.constant('later' as const), hours: fc.integer({ min: 1, max: 3 }) }),
);

function stored(at: number, of: KeyPowers): StoredApiKey {
  return {
    id: `key_${at}` as ApiKeyId,
    accountId: 'acc_1' as AccountId,
    publicId: String(at),
    livemode: of.livemode,
    scopes: of.scopes,
    description: '',
    createdAtMs: beganMs,
    expiresAtMs: of.expiresAtMs,
    revokedAtMs: null,
    ipAllowlist: of.networks,
    rate: of.rate,
    lastUsedOn: null,
  };
}

test('no sequence of key operations starting from a key ever yields a key that may do more than it', () => {
  let changes = 0;
  fc.assert(
    fc.property(
      firstPowers,
      fc.array(powers, { maxLength: 4 }),
      fc.array(step, { maxLength: 40 }),
      (first, others, steps) => {
        const start: KeyPowers = { ...first, scopes: [...new Set([...first.scopes, 'keys:manage' as const])] };
        let nowMs = beganMs;
        // The key itself is number 0; its owner knows the secrets of those it creates, never of the others.
        const keys = [start, ...others].map((each, at) => stored(at, each));
        const before = keys.map((each) => ({ ...each }));
        const owned = new Set([0]);
        const isUsable = (key: StoredApiKey) =>
          key.revokedAtMs === null &&
          (key.expiresAtMs === null || key.expiresAtMs > nowMs) &&
          key.scopes.includes('keys:manage');
        for (const each of steps) {
          if (each.kind === 'later') {
            nowMs += each.hours * 3_600_000;
            continue;
          }
          const by = keys[[...owned][each.by % owned.size] as number] as StoredApiKey;
          if (!isUsable(by)) continue;
          const asking = powersOfKey(by);
          if (each.kind === 'make') {
            if (refuseNewKey(asking, each.wanted, nowMs) !== null) continue;
            owned.add(keys.length);
            keys.push(stored(keys.length, each.wanted));
          } else {
            const of = each.of % keys.length;
            const current = keys[of] as StoredApiKey;
            if (each.kind === 'revoke') {
              if (refuseKeyRevocation(asking, current) === null) keys[of] = { ...current, revokedAtMs: nowMs };
            } else if (refuseKeyChange(asking, current, each.change, nowMs) === null) {
              keys[of] = { ...current, ...each.change };
              changes += 1;
            }
          }
          for (const [at, key] of keys.entries()) {
            const was = before[at];
            // Created or changed by any of them: within the first key as it was at the beginning.
            if (was === undefined || JSON.stringify(was) !== JSON.stringify(key)) {
              expect(beyond(start, powersOfKey(key))).toEqual([]);
            }
            if (was !== undefined && beyond(start, powersOfKey(was)).length > 0) expect(key).toEqual(was);
            // What had expired at the last check is not valid again.
            const ended = was?.expiresAtMs != null && was.expiresAtMs <= beganMs;
            if (ended) expect(key.expiresAtMs).toBe(was.expiresAtMs);
          }
        }
      },
    ),
    { numRuns: 1_000 },
  );
  expect(changes).toBeGreaterThan(100);
});

const wide: KeyPowers = { livemode: true, scopes: accountScopes, networks: [], rate: null, expiresAtMs: null };
const narrow: KeyPowers = {
  livemode: false,
  scopes: ['keys:manage'],
  networks: ['10.0.0.0/8'],
  rate: { perSecond: 5, burst: 10 },
  expiresAtMs: beganMs + 60_000,
};

test('each bound is compared by itself, on both sides of it', () => {
  const fieldsOf = (wanted: Partial<KeyPowers>) => beyond(narrow, { ...narrow, ...wanted }).map(({ field }) => field);
  expect(beyond(wide, wide)).toEqual([]);
  expect(beyond(narrow, narrow)).toEqual([]);
  expect(beyond(wide, narrow)).toEqual([]);
  expect(fieldsOf({ livemode: true })).toEqual(['livemode']);
  expect(fieldsOf({ scopes: ['keys:manage', 'sms:send'] })).toEqual(['scopes[1]']);
  expect(fieldsOf({ networks: [] })).toEqual(['ip_allowlist']);
  expect(fieldsOf({ networks: ['10.1.0.0/16', '11.0.0.0/8'] })).toEqual(['ip_allowlist[1]']);
  expect(fieldsOf({ rate: null })).toEqual(['rate_limit']);
  expect(fieldsOf({ rate: { perSecond: 5, burst: 11 } })).toEqual(['rate_limit']);
  expect(fieldsOf({ rate: { perSecond: 6, burst: 10 } })).toEqual(['rate_limit']);
  expect(fieldsOf({ rate: { perSecond: 5, burst: 10 } })).toEqual([]);
  expect(fieldsOf({ expiresAtMs: null })).toEqual(['expires_at']);
  expect(fieldsOf({ expiresAtMs: beganMs + 60_001 })).toEqual(['expires_at']);
  expect(fieldsOf({ expiresAtMs: beganMs + 60_000 })).toEqual([]);
});

// Room for endpoints with little when the share of their account is full: who gets it, who loses for it, and how far the share
// is exceeded meanwhile.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type EndpointKey, ParkedCounts, type ParkedKind } from '../../../../actors/webhook/delivery/parked-counts.ts';
import { ParkedRoom } from '../../../../actors/webhook/delivery/parked-room.ts';
import type { AccountId, WebhookEndpointId } from '../../../../model/ids.ts';
import { limits } from '../../../../platform/limits.ts';

const perAccount = 60;
const keyOf = (at: number, account = 'acc_1'): EndpointKey => ({
  accountId: account as AccountId,
  endpointId: `whe_${account}_${at}` as WebhookEndpointId,
});

/** A stream that is purged when `answer` is called. */
function roomOf(share = perAccount) {
  const counts = new ParkedCounts({ total: 1_000_000, perAccount: share, reserve: 0 });
  const purges: { readonly kind: ParkedKind; readonly key: EndpointKey; readonly keep: number; answer(): void }[] = [];
  const room = new ParkedRoom({
    counts,
    purge: (kind, key, keep) =>
      new Promise((resolve) => {
        const answer = () => resolve(Math.max(0, counts.of(kind, key.endpointId) - keep));
        purges.push({ kind, key, keep, answer });
      }),
    inMemory: () => 0,
    isWrong: () => {},
  });
  const park = (key: EndpointKey, kind: ParkedKind = 'lines'): boolean => {
    if (!room.takes(key, 1)) return false;
    counts.storing(kind, key);
    counts.stored(kind, key, true);
    return true;
  };
  const parkMany = (key: EndpointKey, count: number, kind?: ParkedKind) =>
    Array.from({ length: count }, () => park(key, kind)).filter(Boolean).length;
  const answered = async () => {
    while (purges.length > 0) {
      for (const { answer } of purges.splice(0)) answer();
      // A purge is counted when its promise is, and the next one may follow.
      for (let turn = 0; turn < 10; turn += 1) await Promise.resolve();
    }
  };
  return { counts, purges, park, parkMany, answered };
}

test('an endpoint is refused only when it has half of what another one has, and the share is kept', async () => {
  const property = fc.asyncProperty(fc.array(fc.integer({ min: 0, max: 4 }), { maxLength: 200 }), async (events) => {
    const { counts, park, answered } = roomOf();
    for (const at of events) {
      const [own, most] = [counts.ofEndpoint(keyOf(at).endpointId), counts.mostOf(keyOf(at).accountId)];
      if (!park(keyOf(at))) expect(2 * own).toBeGreaterThanOrEqual(counts.ofEndpoint(most!.endpointId));
      await answered();
      expect(counts.beyond(keyOf(at).accountId)).toBeLessThanOrEqual(0);
    }
  });
  await fc.assert(property, { numRuns: 25 });
});

test('the one with the most loses its oldest, once for many, of what it has more of', async () => {
  const { counts, purges, park, parkMany, answered } = roomOf(2_560);
  expect(parkMany(keyOf(1), 1_000)).toBe(1_000);
  parkMany(keyOf(2), 500);
  expect(parkMany(keyOf(2), 1_060, 'retries')).toBe(1_060);
  expect(park(keyOf(2))).toBe(false);
  expect(park(keyOf(1))).toBe(false);
  expect(parkMany(keyOf(3), 4)).toBe(4);
  // Six of 1,560 at once, by one purge.
  expect(purges).toMatchObject([{ kind: 'retries', key: keyOf(2), keep: 1_060 - 6 }]);
  await answered();
  expect(counts.of('retries', keyOf(2).endpointId)).toBe(1_054);
  expect(parkMany(keyOf(1), 2)).toBe(2);
  expect(park(keyOf(1))).toBe(false);
  // Another account is not asked.
  expect(park(keyOf(1, 'acc_2'))).toBe(true);
});

test('while the stream does not answer the share is exceeded by so much and no more', async () => {
  const { purges, park, parkMany, answered } = roomOf(100_000);
  parkMany(keyOf(1), 100_000);
  expect(parkMany(keyOf(2), 20_000)).toBe(limits.delivery.parkedBeyondMax);
  expect(purges).toHaveLength(1);
  await answered();
  expect(park(keyOf(2))).toBe(true);
  await answered();
  expect(park(keyOf(2))).toBe(true);
});

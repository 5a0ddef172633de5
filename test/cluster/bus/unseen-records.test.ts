// Which consumers do not deliver records of their stream, by the servers' reports at some consecutive checks.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type StaleConsumer, UnseenRecords } from '../../../cluster/bus/unseen-records.ts';
import { limits } from '../../../platform/limits.ts';

const { looksMin, looksSpread } = limits.unseenRecords;
/** The first to act. */
const soonest = { unit: () => 0 };

const consumer = (deliveredSeq: number, lastSeq = deliveredSeq + 3, name = 'carrier_alpha_otp_0'): StaleConsumer => ({
  stream: 'MT_OTP',
  consumer: name,
  subject: 'mt.otp.alpha.0',
  deliveredSeq,
  lastSeq,
});

test('a record that its consumer does not see at some consecutive checks is reported', () => {
  const records = new UnseenRecords(soonest);
  for (let look = 0; look < looksMin; look += 1) expect(records.look([consumer(94, 97 + look)])).toEqual([]);
  expect(records.look([consumer(94, 120)])).toEqual([consumer(94, 120)]);
});

test('so is one that it delivered and counts as acked, and not the last record of a busy queue', () => {
  const acked = new UnseenRecords(soonest);
  for (let look = 0; look < looksMin; look += 1) expect(acked.look([consumer(94, 90)])).toEqual([]);
  expect(acked.look([consumer(94, 90)])).toEqual([consumer(94, 90)]);
  const busy = new UnseenRecords(soonest);
  for (let look = 0; look < 10; look += 1) expect(busy.look([consumer(94, 80 + look)])).toEqual([]);
});

test('it is reported again only after as many checks more', () => {
  const records = new UnseenRecords(soonest);
  const counts = Array.from({ length: 3 * (looksMin + 1) }, () => records.look([consumer(94)]).length);
  expect(counts).toEqual(counts.map((_, at) => ((at + 1) % (looksMin + 1) === 0 ? 1 : 0)));
});

test('a consumer that delivered something since, or saw everything at one check, begins again', () => {
  const delivering = new UnseenRecords(soonest);
  for (let look = 0; look < 10; look += 1) expect(delivering.look([consumer(94 + look)])).toEqual([]);
  const atTimes = new UnseenRecords(soonest);
  for (let look = 0; look < 10; look += 1) {
    expect(atTimes.look(look % (looksMin + 1) === looksMin ? [] : [consumer(94)])).toEqual([]);
  }
});

test('nodes do not act at the same check: each waits for a random number more', () => {
  const latest = new UnseenRecords({ unit: () => 0.999 });
  const counts = Array.from({ length: looksMin + looksSpread + 1 }, () => latest.look([consumer(94)]).length);
  expect(counts).toEqual(counts.map((_, at) => (at === looksMin + looksSpread ? 1 : 0)));
});

test('property: each consumer is evaluated by itself, and never before it stalled at enough checks', () => {
  const looks = fc.array(
    fc.array(fc.record({ name: fc.constantFrom('a', 'b', 'c'), at: fc.nat(2) }), { maxLength: 6 }),
    {
      maxLength: 30,
    },
  );
  fc.assert(
    fc.property(looks, (taken) => {
      const records = new UnseenRecords(soonest);
      const history: Map<string, number>[] = [];
      for (const each of taken) {
        const now = new Map(each.map(({ name, at }) => [name, at]));
        history.push(now);
        const reported = records.look([...now].map(([name, at]) => consumer(at, at + 1, name)));
        for (const { consumer: name, deliveredSeq } of reported) {
          const before = history.slice(-looksMin - 1);
          expect(before.map((look) => look.get(name))).toEqual(Array(looksMin + 1).fill(deliveredSeq));
        }
      }
    }),
  );
});

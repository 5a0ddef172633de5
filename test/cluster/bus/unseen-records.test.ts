// Which consumers do not deliver records of their stream, by the servers' reports at some consecutive checks.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type StaleConsumer, UnseenRecords } from '../../../cluster/bus/unseen-records.ts';
import { limits } from '../../../platform/limits.ts';

const { looksMin, looksSpread } = limits.unseenRecords;
/** The first to act. */
const soonest = { unit: () => 0 };

const consumer = (atSeq: number, of: Partial<StaleConsumer> = {}): StaleConsumer => ({
  ...{ why: 'unseen', stream: 'MT_OTP', consumer: 'carrier_alpha_otp_0', subject: 'mt.otp.alpha.0' },
  atSeq,
  lastSeq: atSeq + 3,
  ...of,
});

test('a record that its consumer does not see at some consecutive checks is reported', () => {
  const records = new UnseenRecords(soonest);
  for (let look = 0; look < looksMin; look += 1)
    expect(records.look([consumer(94, { lastSeq: 97 + look })])).toEqual([]);
  expect(records.look([consumer(94, { lastSeq: 120 })])).toEqual([consumer(94, { lastSeq: 120 })]);
});

test('so is one that it counts as acked, and not the first record of a busy queue', () => {
  const acked = (atSeq: number, lastSeq: number) => consumer(atSeq, { why: 'acked', lastSeq });
  const stuck = new UnseenRecords(soonest);
  for (let look = 0; look < looksMin; look += 1) expect(stuck.look([acked(90, 94 + look)])).toEqual([]);
  expect(stuck.look([acked(90, 120)])).toEqual([acked(90, 120)]);
  const busy = new UnseenRecords(soonest);
  for (let look = 0; look < 10; look += 1) expect(busy.look([acked(80 + look, 100)])).toEqual([]);
});

test('of a consumer that is ahead of its stream, what was there at the first check is reported', () => {
  const ahead = (lastSeq: number) => consumer(300, { why: 'ahead', lastSeq });
  const records = new UnseenRecords(soonest);
  for (let look = 0; look < looksMin; look += 1) expect(records.look([ahead(20 + look)])).toEqual([]);
  expect(records.look([ahead(200)])).toEqual([ahead(20)]);
});

test('a consumer that is stale for another reason begins again', () => {
  const records = new UnseenRecords(soonest);
  for (let look = 0; look < 10; look += 1) {
    expect(records.look([consumer(94, { why: look % 2 === 0 ? 'unseen' : 'ahead' })])).toEqual([]);
  }
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
        const reported = records.look([...now].map(([name, at]) => consumer(at, { consumer: name })));
        for (const { consumer: name, atSeq } of reported) {
          const before = history.slice(-looksMin - 1);
          expect(before.map((look) => look.get(name))).toEqual(Array(looksMin + 1).fill(atSeq));
        }
      }
    }),
  );
});

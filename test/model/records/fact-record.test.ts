// Clicks share records of FACTS, within both bounds, and every record is read as the facts that were written.
import { expect, test } from 'vitest';
import type { ClickFact, GuardFact } from '../../../model/fact.ts';
import { eventIdOf } from '../../../model/ids.ts';
import { clickFactRecords, decodeFacts, encodeFact } from '../../../model/records/fact-record.ts';
import { RejectMessage } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';

const { clicksPerRecordMax, recordBytesMax } = limits.facts;

function base(nth: number) {
  const identity = { messageId: `clk_${nth}`, kind: 'click', attempt: 0, carrier: '', segment: 0, detail: '' };
  return { eventId: eventIdOf(identity), atMs: 1_764_000_000_000 + nth, accountId: 'acc_1', livemode: true };
}

const clickOf = (nth: number, url = `https://shop.example.org/Ünï?id=${nth}`): ClickFact => ({
  ...base(nth),
  ...{ kind: 'click', clickId: `clk_${nth}`, linkId: 'lnk_1', url, messageId: null, class: 'human', reasons: [] },
  ...{ category: 'promotional', sender: 'ACME', campaignId: null, variantId: null, templateId: null },
});
const clicksOf = (count: number) => Array.from({ length: count }, (_, nth) => clickOf(nth));

test('as many as a record may have, then another record', () => {
  expect([...clickFactRecords([])]).toEqual([]);
  for (const [count, records] of [
    [1, 1],
    [clicksPerRecordMax, 1],
    [clicksPerRecordMax + 1, 2],
    [clicksPerRecordMax * 3, 3],
  ] as const) {
    const made = [...clickFactRecords(clicksOf(count))];
    expect(made.length).toBe(records);
    expect(made.reduce((sum, { clicks }) => sum + clicks, 0)).toBe(count);
    expect(made.flatMap(({ octets }) => decodeFacts(octets))).toEqual(clicksOf(count));
  }
});

test('within the octets of a record, also with the longest targets', () => {
  const longest = Array.from({ length: clicksPerRecordMax }, (_, nth) => clickOf(nth, 'ü'.repeat(2_048)));
  const made = [...clickFactRecords(longest)];
  expect(made.length).toBeGreaterThan(1);
  for (const { octets } of made) expect(octets.length).toBeLessThan(recordBytesMax + 1_024);
  expect(made.flatMap(({ octets }) => decodeFacts(octets))).toEqual(longest);
  const [alone] = [...clickFactRecords([clickOf(1, 'x'.repeat(recordBytesMax))])];
  expect(alone?.clicks).toBe(1);
});

test('the same clicks have the same id of the record, others another one', () => {
  const idsOf = (clicks: readonly ClickFact[]) => [...clickFactRecords(clicks)].map(({ id }) => id);
  expect(idsOf(clicksOf(5))).toEqual(idsOf(clicksOf(5)));
  const inTheMiddle = clicksOf(5).with(2, clickOf(77));
  const ids = [clicksOf(5), clicksOf(4), clicksOf(5).toReversed(), inTheMiddle].flatMap(idsOf);
  expect(new Set(ids).size).toBe(4);
});

test('a record with one fact, of before or of another kind', () => {
  const refusal: GuardFact = {
    ...base(1),
    ...{ kind: 'guard', what: 'refusal', rule: 'conversion', action: 'block', mode: 'on', scope: '+880171' },
    ...{ prefix: '+880171', statistic: 1, threshold: 1, times: 0, untilMs: 0, released: '' },
  };
  expect(decodeFacts(encodeFact(refusal))).toEqual([refusal]);
  expect(decodeFacts(encodeFact(clickOf(3)))).toEqual([clickOf(3)]);
});

test.each([
  ['no JSON', 'nothing'],
  ['another version', '{"v":2,"kind":"clicks","clicks":[{"kind":"click"}]}'],
  ['no clicks', '{"v":1,"kind":"clicks","clicks":[]}'],
  ['another thing among the clicks', '{"v":1,"kind":"clicks","clicks":[{"kind":"click"},{"kind":"otp"}]}'],
  ['null among the clicks', '{"v":1,"kind":"clicks","clicks":[null]}'],
  ['no list', '{"v":1,"kind":"clicks","clicks":{}}'],
  ['an unknown kind', '{"v":1,"kind":"sale"}'],
])('%s is refused', (_name, text) => {
  expect(() => decodeFacts(Buffer.from(text))).toThrow(RejectMessage);
});

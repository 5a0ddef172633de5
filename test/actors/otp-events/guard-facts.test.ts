// From the entries of the guard's bucket to FACTS: blocks, releases and outages, each decision once.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { OtpEvents } from '../../../actors/otp-events/otp-events.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import {
  putBlock,
  releaseProbed,
  storeOutage,
  storeOutageEnd,
  sweepBlocks,
} from '../../../cluster/bus/otp-guard-bucket.ts';
import { streamNames, streamOfBucket } from '../../../cluster/bus/streams.ts';
import type { Fact } from '../../../model/fact.ts';
import { type AccountId, newAccountId } from '../../../model/ids.ts';
import { decodeFacts } from '../../../model/records/fact-record.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import { type TestBus, recordsOf, startBus } from '../../support/bus.ts';
import { until } from '../../support/until.ts';

let server: TestBus;
let accountId: AccountId;
let publishing: OtpEvents | null = null;

beforeAll(async () => {
  server = await startBus();
});
afterAll(async () => {
  await server.stop();
});
beforeEach(async () => {
  accountId = newAccountId(systemClock.nowMs());
  const bucket = await openBucket(server.bus, 'otp_events');
  publishing = await OtpEvents.start({ bus: server.bus, bucket, clock: systemClock });
});
afterEach(async () => {
  await publishing?.stop();
  publishing = null;
  for (const stream of [streamNames.facts, streamOfBucket('otp_guard')]) await server.bus.manager.streams.purge(stream);
});

const facts = async (): Promise<readonly Fact[]> =>
  (await recordsOf(server.bus, streamNames.facts)).flatMap(({ data }) => decodeFacts(data));

test('a block of the guard and its release are facts with their figures', async () => {
  const bucket = await openBucket(server.bus, 'otp_guard');
  const fromMs = systemClock.nowMs();
  await putBlock(server.bus, bucket, {
    ...{ accountId, prefix: '+880171234', rule: 'conversion', statistic: 11.8, threshold: 11.5, times: 2 },
    ...{ shadow: false, fromMs, untilMs: fromMs + 1_200_000, released: null, note: '' },
  });
  await until('the block', async () => (await facts()).length === 1);
  await releaseProbed(bucket, { accountId, prefix: '+880171234' }, fromMs + 5_000, fromMs + 5_000);
  await until('its release', async () => (await facts()).length === 2);
  expect(await facts()).toMatchObject([
    { kind: 'guard', what: 'block', rule: 'conversion', statistic: 11.8, threshold: 11.5, times: 2, mode: 'on' },
    { kind: 'guard', what: 'release', scope: '+880171234', released: 'probe', atMs: fromMs + 5_000 },
  ]);
});

test('a block and what a rule in shadow mode would have blocked are two facts, also of the same numbers and millisecond', async () => {
  const bucket = await openBucket(server.bus, 'otp_guard');
  const fromMs = systemClock.nowMs();
  const about = { accountId, prefix: '+880171234', statistic: 12, threshold: 11.5, times: 1 };
  const lasts = { fromMs, untilMs: fromMs + 600_000, released: null, note: '' };
  await putBlock(server.bus, bucket, { ...about, ...lasts, rule: 'conversion', shadow: true });
  await putBlock(server.bus, bucket, { ...about, ...lasts, rule: 'partial_conversion', shadow: false });
  await until('both', async () => (await facts()).length === 2);
  expect(new Set((await facts()).map(({ eventId }) => eventId)).size).toBe(2);
  expect(await facts()).toMatchObject([
    { what: 'block', rule: 'conversion', mode: 'shadow' },
    { what: 'block', rule: 'partial_conversion', mode: 'on' },
  ]);
});

test('an outage of a carrier and its end are facts of each account, once however many threads find them', async () => {
  const bucket = await openBucket(server.bus, 'otp_guard');
  const fromMs = systemClock.nowMs();
  const other = newAccountId(fromMs + 1);
  const outage = { carrier: 'alpha', accountIds: [accountId, other], statistic: 0.75, threshold: 0.6 };
  const end = { carrier: 'alpha', statistic: 0.25, threshold: 0.3 };
  const { outageEveryMs, outageMsMax } = limits.otpGuard;
  expect(await storeOutageEnd(bucket, end, fromMs)).toBe(false);
  expect(await storeOutage(server.bus, bucket, { ...outage, fromMs })).toBe(true);
  expect(await storeOutage(server.bus, bucket, { ...outage, fromMs: fromMs + 900 })).toBe(false);
  await until('its begin', async () => (await facts()).length === 2);
  expect(await storeOutageEnd(bucket, end, fromMs + 5_000)).toBe(true);
  expect(await storeOutageEnd(bucket, end, fromMs + 5_900)).toBe(false);
  expect(await storeOutage(server.bus, bucket, { ...outage, fromMs: fromMs + outageEveryMs - 1 })).toBe(false);
  await until('its end', async () => (await facts()).length === 4);
  const about = { kind: 'guard', rule: 'outage', scope: 'alpha', prefix: '', mode: 'on', action: null };
  const begun = { ...about, what: 'suspension', atMs: fromMs, statistic: 0.75, threshold: 0.6 };
  const ended = { ...about, what: 'resumption', atMs: fromMs + 5_000, statistic: 0.25, threshold: 0.3 };
  expect(await facts()).toMatchObject([
    { ...begun, accountId },
    { ...begun, accountId: other },
    { ...ended, accountId },
    { ...ended, accountId: other },
  ]);
  expect(await storeOutage(server.bus, bucket, { ...outage, fromMs: fromMs + outageEveryMs })).toBe(true);
  await until('the next one', async () => (await facts()).length === 6);
  // Its end was not stored: it lasts a day at most.
  const nextMs = fromMs + outageEveryMs;
  expect(await storeOutage(server.bus, bucket, { ...outage, fromMs: nextMs + outageMsMax - 1 })).toBe(false);
  expect(await storeOutage(server.bus, bucket, { ...outage, fromMs: nextMs + outageMsMax })).toBe(true);
});

test('an outage of a block of numbers and its end are facts of their account, with the numbers', async () => {
  const bucket = await openBucket(server.bus, 'otp_guard');
  const fromMs = systemClock.nowMs();
  const place = { accountId, prefix: '+880171234' };
  const outage = { ...place, accountIds: [accountId], statistic: 6, threshold: 5 };
  const end = { ...place, statistic: 12, threshold: 5 };
  const { outageMsMax } = thresholds.undelivered;
  expect(await storeOutage(server.bus, bucket, { ...outage, fromMs })).toBe(true);
  expect(await storeOutage(server.bus, bucket, { ...outage, fromMs: fromMs + 900 })).toBe(false);
  await until('its begin', async () => (await facts()).length === 1);
  expect(await storeOutageEnd(bucket, end, fromMs + 5_000)).toBe(true);
  await until('its end', async () => (await facts()).length === 2);
  const about = { kind: 'guard', accountId, rule: 'outage', scope: place.prefix, prefix: place.prefix, mode: 'on' };
  expect(await facts()).toMatchObject([
    { ...about, what: 'suspension', atMs: fromMs, statistic: 6, threshold: 5, untilMs: fromMs + outageMsMax },
    { ...about, what: 'resumption', atMs: fromMs + 5_000, statistic: 12, threshold: 5, untilMs: 0 },
  ]);
  // The next one's end nobody stores: it is over after its longest time.
  const nextMs = fromMs + limits.otpGuard.outageEveryMs;
  expect(await storeOutage(server.bus, bucket, { ...outage, fromMs: nextMs })).toBe(true);
  expect(await storeOutage(server.bus, bucket, { ...outage, fromMs: nextMs + outageMsMax - 1 })).toBe(false);
  expect(await storeOutage(server.bus, bucket, { ...outage, fromMs: nextMs + outageMsMax })).toBe(true);
  const keptMs = nextMs + outageMsMax + limits.otpGuard.unreachableKeptMs;
  expect([await sweepBlocks(server.bus, keptMs), await sweepBlocks(server.bus, keptMs + 1)]).toEqual([0, 1]);
});

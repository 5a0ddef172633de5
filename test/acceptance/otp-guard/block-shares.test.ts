// Blocks of numbers at the bounds of what is stored, with two guards on a real nats-server: what is in effect is listed and
// can be released, and what cannot be stored is not in effect for long.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { SharedGuard } from '../../../acceptance/otp-guard/shared-guard.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import {
  type StoredBlock,
  blocksOf,
  putBlock,
  releaseBlock,
  releaseProbed,
} from '../../../cluster/bus/otp-guard-bucket.ts';
import { streamOfBucket, subjectInBucket } from '../../../cluster/bus/streams.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { TestBus } from '../../support/bus.ts';
import { until } from '../../support/until.ts';
import { ask, freshAccount, send, startTwoGuards, stopTwoGuards } from './two-guards.ts';

const patient = { everyMs: 10 };
let harness: TestBus;
let one: SharedGuard;
let two: SharedGuard;
beforeAll(async () => {
  ({ harness, one, two } = await startTwoGuards());
});
afterAll(() => stopTwoGuards({ harness, one, two }));

/** Eleven numbers that follow each other, which block at once. */
function countUp(accountId: string, prefix: string): void {
  for (let at = 10; at < 21; at += 1) {
    send(one, accountId, `${prefix}00${at}`);
  }
}

describe('of an account with its share of blocks in effect', () => {
  const { wideBlocksFrom } = limits.otpGuard;
  const stored = (accountId: string, rule: StoredBlock['rule'], nth: number): StoredBlock => ({
    ...{ accountId, prefix: `+88018${String(nth).padStart(4, '0')}`, rule, statistic: 12, threshold: 11.5, times: 1 },
    ...{ shadow: false, fromMs: systemClock.nowMs(), untilMs: systemClock.nowMs() + 600_000, released: null, note: '' },
  });
  /** So many are in effect, and both guards know them. */
  const fill = async (accountId: string, count: number, rule: StoredBlock['rule'] = 'conversion') => {
    const bucket = await openBucket(harness.bus, 'otp_guard');
    const put = (nth: number) => {
      const block = stored(accountId, rule, nth);
      return bucket.put(`block.${accountId}.${block.prefix.slice(1)}`, JSON.stringify({ v: 1, ...block }));
    };
    await Promise.all(Array.from({ length: count - 1 }, (_, nth) => put(nth)));
    await put(count - 1);
    const last = `${stored(accountId, rule, count - 1).prefix}0000`;
    for (const guard of [one, two]) await until('it is known', () => ask(guard, accountId, last) === rule, patient);
    return bucket;
  };
  test('the next million numbers are blocked, listed with the reason, and released by hand for both guards', async () => {
    const accountId = freshAccount();
    const bucket = await fill(accountId, wideBlocksFrom);
    countUp(accountId, '+880173999');
    const block = { accountId, prefix: '+8801739' };
    await until('both challenge', () => ask(two, accountId, '+8801739555555') === 'sequence', patient);
    const inEffect = await until('it is stored', async () => {
      const all = await blocksOf(harness.bus, accountId, systemClock.nowMs());
      return all.length > wideBlocksFrom && all;
    });
    expect(inEffect).toHaveLength(wideBlocksFrom + 1);
    expect(inEffect.find(({ prefix }) => prefix === block.prefix)).toMatchObject({
      ...{ rule: 'sequence', released: null, times: 1 },
      note: `instead of +880173999: ${wideBlocksFrom} blocks are in effect`,
    });
    expect(await releaseBlock(bucket, block, systemClock.nowMs())).toMatchObject(block);
    for (const guard of [one, two])
      await until('it is released', () => ask(guard, accountId, '+8801739555555') === 'sent', patient);
  });

  test('nothing is blocked where nothing more may be in effect, as the metric says', async () => {
    const accountId = freshAccount();
    const beyond = async () =>
      (await metrics.otpGuardBlocks.get()).values.find(
        ({ labels }) => labels['mode'] === 'beyond_share' && labels['rule'] === 'sequence',
      )?.value ?? 0;
    const before = await beyond();
    await fill(accountId, limits.otpGuard.ruleBlocksShare, 'operator');
    countUp(accountId, '+880173888');
    expect(await beyond()).toBeGreaterThan(before);
    // The rules that block nothing go on.
    expect(ask(one, accountId, '+8801738885555')).toBe('velocity');
    expect(
      (await blocksOf(harness.bus, accountId, systemClock.nowMs())).filter(({ rule }) => rule !== 'operator'),
    ).toEqual([]);
  });
});

test('a release by a probe that cannot be stored is tried again', async () => {
  const accountId = freshAccount();
  const place = { accountId, prefix: '+880173666' };
  const number = (at: number) => `${place.prefix}${String(at).padStart(4, '0')}`;
  countUp(accountId, place.prefix);
  for (const guard of [one, two])
    await until('both refuse', () => ask(guard, accountId, number(5_555)) === 'sequence', patient);
  await until(
    'it is stored',
    async () => (await blocksOf(harness.bus, accountId, systemClock.nowMs())).length === 1,
    patient,
  );
  // Their codes do not wait any more, so that only the block refuses.
  for (let at = 10; at < 21; at += 1) one.verified({ accountId, to: number(at), messageId: null });
  const { streams } = harness.bus.manager;
  const name = streamOfBucket('otp_guard');
  const { config } = await streams.info(name);
  const probe = { accountId, to: number(77), ip: null, device: null, carrier: '', isProbe: true };
  one.accepted(one.begin(probe), 'alpha', null);
  await streams.update(name, { ...config, max_msg_size: 64 });
  let tries = 0;
  const tried = harness.bus.connection.subscribe(subjectInBucket('otp_guard', `block.${accountId}.*`), {
    callback: () => {
      tries += 1;
    },
  });
  await harness.bus.connection.flush();
  one.verified({ accountId, to: number(77), messageId: null });
  expect([ask(one, accountId, number(5_555)), ask(two, accountId, number(5_555))]).toEqual(['sent', 'sequence']);
  await until('it was tried', () => tries > 0, patient);
  expect((await blocksOf(harness.bus, accountId, systemClock.nowMs()))[0]).toMatchObject({ released: null });
  await streams.update(name, config);
  tried.unsubscribe();
  await until(
    'it is stored',
    async () => (await blocksOf(harness.bus, accountId, systemClock.nowMs()))[0]?.released === 'probe',
  );
  await until('the other has it', () => ask(two, accountId, number(5_555)) === 'sent', patient);
});

test('a release by a probe ends neither a block that began after the probe was entered, nor what a person ordered', async () => {
  const accountId = freshAccount();
  const bucket = await openBucket(harness.bus, 'otp_guard');
  const fromMs = systemClock.nowMs();
  const place = { accountId, prefix: '+880173555' };
  const block: StoredBlock = {
    ...{ ...place, rule: 'conversion', statistic: 12, threshold: 11.5, times: 1, shadow: false },
    ...{ fromMs, untilMs: fromMs + 600_000, released: null, note: '' },
  };
  await putBlock(harness.bus, bucket, block);
  expect(await releaseProbed(bucket, place, fromMs - 1, fromMs + 1)).toBeNull();
  const order = { ...block, rule: 'operator', statistic: 0, threshold: 0, note: 'by hand' } as const;
  await putBlock(harness.bus, bucket, { ...order, untilMs: fromMs + 60_000 });
  expect(await releaseProbed(bucket, place, fromMs + 1, fromMs + 1)).toBeNull();
  expect(await releaseBlock(bucket, place, fromMs + 1)).toMatchObject({ rule: 'operator', note: 'by hand' });
});

test('a block that finds no room in the bucket is stored when there is some', async () => {
  const accountId = freshAccount();
  const { streams } = harness.bus.manager;
  const name = streamOfBucket('otp_guard');
  const { config, state } = await streams.info(name);
  await streams.update(name, { ...config, max_bytes: state.bytes + 1 });
  let tries = 0;
  const tried = harness.bus.connection.subscribe(subjectInBucket('otp_guard', `block.${accountId}.*`), {
    callback: () => {
      tries += 1;
    },
  });
  await harness.bus.connection.flush();
  countUp(accountId, '+880173777');
  expect(ask(one, accountId, '+8801737775555')).toBe('sequence');
  await until('both have tried', () => tries === 2, patient);
  expect(await blocksOf(harness.bus, accountId, systemClock.nowMs())).toEqual([]);
  await streams.update(name, config);
  tried.unsubscribe();
  await until('it is stored', async () => (await blocksOf(harness.bus, accountId, systemClock.nowMs())).length === 1);
  await until('the other has it', () => ask(two, accountId, '+8801737775555') === 'sequence', patient);
});

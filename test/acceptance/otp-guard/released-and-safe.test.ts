// Two guards, as of two nodes, on a real nats-server: of what a person releases both forget what they counted, what is on
// the safe list counts in neither, and what a rule in shadow mode finds is stored apart.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { SharedGuard } from '../../../acceptance/otp-guard/shared-guard.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import {
  type StoredBlock,
  blocksOf,
  changeLists,
  putBlock,
  readGuardEntry,
  releaseBlock,
  sweepBlocks,
} from '../../../cluster/bus/otp-guard-bucket.ts';
import { GuardTalk } from '../../../cluster/bus/otp-guard-talk.ts';
import { streamOfBucket, subjectInBucket } from '../../../cluster/bus/streams.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import type { GuardModes } from '../../../policy/otp-guard/contract.ts';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import { guardModesDefault } from '../../../policy/otp/contract.ts';
import type { TestBus } from '../../support/bus.ts';
import { until } from '../../support/until.ts';
import { ask, freshAccount, rules, send, startTwoGuards, stopTwoGuards } from './two-guards.ts';

const patient = { everyMs: 10 };
let harness: TestBus;
let one: SharedGuard;
let two: SharedGuard;
beforeAll(async () => {
  ({ harness, one, two } = await startTwoGuards());
});
afterAll(() => stopTwoGuards({ harness, one, two }));

const prefix = '+880173000';
const number = (at: number) => `${prefix}${String(at).padStart(4, '0')}`;
/** Resolves when both guards have counted what `act` sends with one of them. */
async function inBoth(accountId: string, count: number, act: () => void): Promise<void> {
  let observed = 0;
  const stop = new GuardTalk(harness.bus, 'listener', systemClock).listen((observation) => {
    if ('accountId' in observation && observation.accountId === accountId) observed += 1;
  });
  await harness.bus.connection.flush();
  act();
  await until('the other has them', () => observed === count, patient);
  stop();
}
const countUp = (accountId: string, from = 100, guard = one) =>
  inBoth(accountId, 11, () => {
    for (let at = from; at < from + 11; at += 1) send(guard, accountId, number(at));
  });
const listed = (accountId: string) => blocksOf(harness.bus, accountId, systemClock.nowMs());

test('of a released block all guards forget what they counted, and the list keeps it when the numbers are blocked again', async () => {
  const accountId = freshAccount();
  const bucket = await openBucket(harness.bus, 'otp_guard');
  await countUp(accountId);
  for (const guard of [one, two])
    await until('both refuse', () => ask(guard, accountId, number(5_555)) === 'sequence', patient);
  await until('it is stored', async () => (await listed(accountId)).length === 1, patient);
  expect(await releaseBlock(bucket, { accountId, prefix }, systemClock.nowMs())).toMatchObject({ times: 1 });
  for (const guard of [one, two])
    await until('both send', () => ask(guard, accountId, number(5_555)) === 'sent', patient);
  // What waited counts no more: eighteen are less than twenty, and no neighbours of those before.
  await inBoth(accountId, 18, () => {
    for (let at = 0; at < 18; at += 1) send(two, accountId, number(111 + at * 37));
  });
  for (const guard of [one, two]) expect(ask(guard, accountId, number(5_555))).toBe('sent');
  await countUp(accountId, 7_000, two);
  const [again, before] = await until('it is blocked again', async () => {
    const all = await listed(accountId);
    return all.length === 2 && all;
  });
  expect(again).toMatchObject({ prefix, rule: 'sequence', times: 1, released: null });
  expect((again?.untilMs ?? 0) - (again?.fromMs ?? 0)).toBe(thresholds.blockMs);
  expect(before).toMatchObject({ accountId, prefix, rule: 'sequence', times: 1, released: 'operator', shadow: false });
});

test('a release is acted on once, also by a guard that reads the bucket again', async () => {
  let reconnected = () => {};
  const onReconnect = (act: () => void) => {
    reconnected = act;
    return () => {};
  };
  const bus = { ...harness.bus, onReconnect };
  const guard = await SharedGuard.open({ bus, clock: systemClock, rules, random: { unit: () => 0.5 } });
  const accountId = freshAccount();
  const bucket = await openBucket(harness.bus, 'otp_guard');
  const [fromMs, untilMs] = [systemClock.nowMs(), systemClock.nowMs() + 600_000];
  const other = stored(accountId, { fromMs, untilMs, prefix: '+88018' });
  await putBlock(harness.bus, bucket, stored(accountId, { fromMs, untilMs }));
  await releaseBlock(bucket, { accountId, prefix }, fromMs + 1);
  await putBlock(harness.bus, bucket, other);
  await until('it is known', () => ask(guard, accountId, '+8801812345678') === 'conversion', patient);
  for (let at = 0; at < 20; at += 1) send(guard, accountId, number(at * 37));
  expect(ask(guard, accountId, number(9_999))).toBe('velocity');
  // A watch does not see this.
  const gone = { filter: subjectInBucket('otp_guard', `block.${accountId}.88018`) };
  await harness.bus.manager.streams.purge(streamOfBucket('otp_guard'), gone);
  reconnected();
  await until('it has read the bucket again', () => ask(guard, accountId, '+8801812345678') === 'sent', patient);
  expect(ask(guard, accountId, number(9_999))).toBe('velocity');
  await guard.stop();
});

test('numbers of an account’s safe list count in no guard', async () => {
  const accountId = freshAccount();
  const bucket = await openBucket(harness.bus, 'otp_guard');
  await changeLists(bucket, accountId, () => ({ destinations: ['+39'], safeList: [prefix] }));
  for (const guard of [one, two])
    await until('both know the list', () => ask(guard, accountId, number(1)) === 'sent', patient);
  await countUp(accountId);
  await changeLists(bucket, accountId, () => ({ destinations: null, safeList: [] }));
  for (const guard of [one, two])
    await until('it is empty', () => ask(guard, accountId, '+8801812345678') === 'sent', patient);
  // With the eleven of before these would be a sequence of twenty-one, and too many that wait.
  await inBoth(accountId, 10, () => {
    for (let at = 0; at < 10; at += 1) send(two, accountId, number(111 + at));
  });
  for (const guard of [one, two]) expect(ask(guard, accountId, number(5_555))).toBe('sent');
  expect(await listed(accountId)).toEqual([]);
});

const stored = (accountId: string, more: Partial<StoredBlock> = {}): StoredBlock => ({
  ...{ accountId, prefix, rule: 'conversion', statistic: 12, threshold: 11.5, times: 1, shadow: false },
  ...{ fromMs: 0, untilMs: 600_000, released: null, note: '', ...more },
});

test('the entry of a prefix has the last blocks before it, for a day, with the begin of their notes', async () => {
  const accountId = freshAccount();
  const bucket = await openBucket(harness.bus, 'otp_guard');
  const { earlierMax, earlierNoteCharsMax } = limits.otpGuard;
  const at = (nth: number) => nth * 3_600_000;
  for (let nth = 0; nth < earlierMax + 2; nth += 1) {
    const rule = nth % 2 === 0 ? 'operator' : 'sequence';
    const about = { fromMs: at(nth), untilMs: at(nth) + 600_000, note: `${nth}${'x'.repeat(199)}` };
    await putBlock(harness.bus, bucket, stored(accountId, { ...about, rule }));
    await releaseBlock(bucket, { accountId, prefix }, at(nth) + 1_000);
  }
  const all = await blocksOf(harness.bus, accountId, at(6));
  expect(all.map(({ fromMs }) => fromMs / 3_600_000)).toEqual([4, 3, 2, 1]);
  expect(all.map(({ released }) => released)).toEqual(['operator', 'operator', 'operator', 'operator']);
  expect(all.map(({ note }) => note.length)).toEqual([200, ...Array(earlierMax).fill(earlierNoteCharsMax)]);
  // What a person has released does not count for the next order either.
  expect(all.map(({ times }) => times)).toEqual([0, 1, 0, 1]);
  // What ended more than a day ago is left out, and goes with the next block.
  const dayMs = 86_400_000;
  expect(await blocksOf(harness.bus, accountId, at(3) + 1_001 + dayMs)).toHaveLength(1);
  await putBlock(harness.bus, bucket, stored(accountId, { fromMs: at(3) + 1_001 + dayMs, untilMs: at(40) }));
  const [, ...kept] = await blocksOf(harness.bus, accountId, 0);
  expect(kept.map(({ fromMs }) => fromMs / 3_600_000)).toEqual([4]);
});

test('what a rule in shadow mode would have blocked is stored and listed beside the block of the same numbers', async () => {
  const accountId = freshAccount();
  const bucket = await openBucket(harness.bus, 'otp_guard');
  const modes: GuardModes = { ...guardModesDefault, sequence: 'shadow' };
  for (const guard of [one, two]) guard.configure({ ...rules, modes });
  await countUp(accountId);
  await until('it is stored', async () => (await listed(accountId)).length === 1, patient);
  const fromMs = systemClock.nowMs();
  await putBlock(harness.bus, bucket, stored(accountId, { fromMs, untilMs: fromMs + 600_000, times: 4 }));
  for (const guard of [one, two])
    await until('both refuse', () => ask(guard, accountId, number(5_555)) === 'conversion', patient);
  expect(await listed(accountId)).toMatchObject([
    { rule: 'conversion', shadow: false, times: 4 },
    { rule: 'sequence', shadow: true, times: 1 },
  ]);
  // A release ends what is in effect first.
  expect(await releaseBlock(bucket, { accountId, prefix }, fromMs + 1)).toMatchObject({ rule: 'conversion' });
  expect(await releaseBlock(bucket, { accountId, prefix }, fromMs + 1)).toMatchObject({ rule: 'sequence' });
  expect(await releaseBlock(bucket, { accountId, prefix }, fromMs + 1)).toBeNull();
  const all = await listed(accountId);
  expect(all.map(({ shadow, released }) => [shadow, released])).toEqual([
    [false, 'operator'],
    [true, 'operator'],
  ]);
  for (const guard of [one, two]) guard.configure(rules);
  expect(await sweepBlocks(harness.bus, fromMs + 2 * 86_400_000)).toBeGreaterThanOrEqual(2);
  expect(await listed(accountId)).toEqual([]);
});

test('an entry of an earlier version, with a shadow under the name of a block, is one of a rule in shadow mode', () => {
  const accountId = freshAccount();
  const entry = (name: string, shadow: boolean) =>
    readGuardEntry(name, Buffer.from(JSON.stringify({ v: 1, ...stored(accountId, { shadow }) })));
  expect(entry(`block.${accountId}.880173000`, true)).toMatchObject({ kind: 'block', prefix, shadow: true });
  expect(entry(`block.${accountId}.880173000`, false)).toMatchObject({ kind: 'block', prefix, shadow: false });
  expect(entry(`shadow.${accountId}.880173000`, true)).toMatchObject({ kind: 'block', prefix, shadow: true });
});

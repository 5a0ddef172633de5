// Two guards, as of two nodes, on a real nats-server: what one sees, the other counts; what a carrier's actor knows of
// receipts comes to both; settings change while they run.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SharedGuard } from '../../../acceptance/otp-guard/shared-guard.ts';
import { OtpObservations } from '../../../actors/carrier/receipts/otp-observations.ts';
import { readEntry } from '../../../cluster/bus/bucket.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { type GuardObservation, GuardTalk } from '../../../cluster/bus/otp-guard-talk.ts';
import { otpGuardSubject } from '../../../cluster/bus/subjects.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { newMessageId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { guardModesDefault } from '../../../policy/otp/contract.ts';
import { conversionFigures } from '../../../policy/otp-conversion/figures.ts';
import type { TestBus } from '../../support/bus.ts';
import { messageWith } from '../../support/messages.ts';
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

const numberOf = (at: number) => `+88017120${String((at * 37) % 10_000).padStart(5, '0')}`;

/** Whose time is ahead by what the test says. */
function clockAhead() {
  const state = { aheadMs: 0 };
  return { state, clock: { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + state.aheadMs } };
}

test('two guards have the same conversion of a carrier two minutes after it took codes, wherever those are entered', async () => {
  const { state, clock } = clockAhead();
  const open = () => SharedGuard.open({ bus: harness.bus, clock, rules });
  const [here, there] = await Promise.all([open(), open()]);
  const observations = new OtpObservations(harness.bus, systemClock);
  let published = 0;
  const stop = new GuardTalk(harness.bus, 'listener', systemClock).listen(() => (published += 1));
  await harness.bus.connection.flush();
  const ids = Array.from({ length: 30 }, (_, at) => newMessageId(1_700_000_000_000 + at));
  for (const messageId of ids) {
    observations.onTaken({ message: messageWith({ messageId, category: 'otp', scoredAs: 'gamma' }), hedged: 'no' });
  }
  ids.slice(0, 10).forEach((messageId, at) => {
    (at % 2 === 0 ? here : there).verified({ accountId: 'a', to: numberOf(at), messageId });
  });
  // One without a message counts for the guard alone.
  here.verified({ accountId: 'a', to: numberOf(20), messageId: null });
  await until('all is published', () => published === 41, patient);
  stop();
  const place = { carrier: 'alpha', operator: 'gamma', sender: 'HELIO' };
  expect(here.conversions.of(place)).toEqual({ verified: 0, missed: 0 });
  state.aheadMs = conversionFigures.maturityMs;
  for (const guard of [here, there]) {
    await until('counted', () => guard.conversions.of(place).missed > 19, patient);
    const { verified, missed } = guard.conversions.of(place);
    expect([Math.round(verified), Math.round(missed)]).toEqual([10, 20]);
    expect(guard.conversions.of({ ...place, operator: 'beta' })).toEqual({ verified: 0, missed: 0 });
  }
  await Promise.all([here.stop(), there.stop()]);
});

test('an outage of a carrier and its end are stored once, for the accounts that send by it', async () => {
  const { state, clock } = clockAhead();
  const open = () => SharedGuard.open({ bus: harness.bus, clock, rules });
  const [here, there] = await Promise.all([open(), open()]);
  const bucket = await openBucket(harness.bus, 'otp_guard');
  const accountId = freshAccount();
  let [first, observed, expected] = [0, 0, 0];
  const stop = new GuardTalk(harness.bus, 'listener', systemClock).listen((observation) => {
    if ('accountId' in observation && observation.accountId === accountId) observed += 1;
  });
  await harness.bus.connection.flush();
  /** A code to each of ten blocks of three prefixes, and two minutes. */
  const codes = async (areEntered: boolean) => {
    first += 1;
    for (let at = 0; at < 30; at += 1) {
      const to = `+880173${at % 3}${Math.floor(at / 3)}1${String(first * 100 + at).padStart(4, '0')}`;
      const code = { accountId, to, ip: null, device: null, carrier: '', isProbe: false };
      here.accepted(here.begin(code), 'omega', null);
      if (areEntered) here.verified({ accountId, to, messageId: null });
    }
    expected += areEntered ? 60 : 30;
    await until('the other has them', () => observed === expected, patient);
    state.aheadMs += 120_001;
  };
  const stored = () => readEntry(bucket, 'outage.omega');
  await codes(true);
  expect((await stored()).entry).toBeNull();
  await codes(false);
  const begun = await until('it is stored', async () => (await stored()).entry);
  expect(begun.json()).toMatchObject({ carrier: 'omega', accountIds: [accountId], threshold: 0.6, end: null });
  await codes(true);
  const ended = await until('its end is stored', async () => {
    const { entry } = await stored();
    return entry !== null && entry.revision > begun.revision && entry;
  });
  expect(ended.json()).toMatchObject({
    accountIds: [accountId],
    threshold: 0.6,
    end: { threshold: 0.3, atMs: expect.any(Number) },
  });
  stop();
  await Promise.all([here.stop(), there.stop()]);
  expect((await stored()).revision).toBe(ended.revision);
});

test('an outage of a block of numbers and its end are stored for its account', async () => {
  const { state, clock } = clockAhead();
  let advance = () => {};
  const every = (ms: number, run: () => void) => {
    if (ms !== limits.otpGuard.advanceEveryMs) return systemClock.every(ms, run);
    advance = run;
    return () => {};
  };
  const guard = await SharedGuard.open({ bus: harness.bus, clock: { ...clock, every }, rules });
  const bucket = await openBucket(harness.bus, 'otp_guard');
  const carrier = new GuardTalk(harness.bus, 'carrier', systemClock);
  const accountId = freshAccount();
  let [sent, receipts, received] = [0, 0, 0];
  const stop = new GuardTalk(harness.bus, 'listener', systemClock).listen((observation) => {
    if (observation.kind === 'received' && observation.accountId === accountId) received += 1;
  });
  await harness.bus.connection.flush();
  /** One code a minute; what arrives is entered. */
  const codes = async (count: number, arrives: boolean) => {
    for (let at = 0; at < count; at += 1) {
      sent += 1;
      const to = `+88017555${String(10_000 + ((sent * 37) % 10_000))}`;
      send(guard, accountId, to);
      if (arrives) {
        carrier.publish({ kind: 'received', accountId, to });
        receipts += 1;
        guard.verified({ accountId, to, messageId: null });
      } else advance();
      state.aheadMs += 60_000;
    }
    await until('the receipts are there', () => received === receipts, patient);
    state.aheadMs += 120_000;
    advance();
  };
  const stored = async () => (await readEntry(bucket, `unreachable.${accountId}.880175551`)).entry;
  await codes(60, true);
  await codes(15, false);
  const begun = await until('it is stored', stored);
  const about = { accountId, prefix: '+880175551', accountIds: [accountId], threshold: 5, fromMs: expect.any(Number) };
  expect(begun.json()).toMatchObject({ ...about, statistic: expect.any(Number), end: null });
  await codes(5, true);
  const end = { atMs: expect.any(Number), statistic: 15, threshold: 5 };
  await until('its end is stored', async () => ((await stored())?.revision ?? 0) > begun.revision);
  expect((await stored())?.json()).toMatchObject({ ...about, end });
  stop();
  await guard.stop();
});

describe('two guards', () => {
  test('count what the other sends, and what is entered with the other', async () => {
    const accountId = freshAccount();
    const numbers = Array.from({ length: 20 }, (_, at) => `+88017120${String(at * 30).padStart(5, '0')}`);
    for (const to of numbers) send(one, accountId, to);
    expect(ask(one, accountId, '+8801712009999')).toBe('velocity');
    await until('the other knows', () => ask(two, accountId, '+8801712009999') === 'velocity', patient);
    for (const to of numbers.slice(0, 10)) two.verified({ accountId, to, messageId: null });
    expect(ask(two, accountId, '+8801712009999')).toBe('sent');
    await until('the first knows', () => ask(one, accountId, '+8801712009999') === 'sent', patient);
  });

  test('count what the other sends again', async () => {
    const accountId = freshAccount();
    for (let at = 0; at < 4; at += 1) send(one, accountId, numberOf(at));
    for (let resends = 0; resends < 4; resends += 1) {
      for (let at = 0; at < 4; at += 1) one.resent({ accountId, to: numberOf(at), ip: null, device: null }, null);
    }
    expect(ask(one, accountId, '+8801712009999')).toBe('velocity');
    await until('the other knows', () => ask(two, accountId, '+8801712009999') === 'velocity', patient);
  });

  test('count a message once, however many of its tries report it, at whichever of them', async () => {
    const accountId = freshAccount();
    const to = (at: number) => numberOf(at);
    const resend = (guard: SharedGuard, at: number, messageId: string) =>
      guard.resent({ accountId, to: to(at), ip: null, device: null }, messageId);
    let observed = 0;
    const stop = new GuardTalk(harness.bus, 'listener', systemClock).listen((observation) => {
      if ('accountId' in observation && observation.accountId === accountId) observed += 1;
    });
    await harness.bus.connection.flush();
    // Nine messages: a start and a resend to four numbers each, and one more start; each is reported four times.
    for (const guard of [one, two, one, two]) {
      for (let at = 0; at < 4; at += 1) send(guard, accountId, to(at), `started ${at}`);
      for (let at = 0; at < 4; at += 1) resend(guard, at, `resent ${at}`);
      send(guard, accountId, to(0), 'started again');
    }
    await until('all is published', () => observed === 4 * 9, patient);
    stop();
    // Ten more are less than twenty, eleven are not.
    for (let at = 10; at < 20; at += 1) send(one, accountId, to(at), null);
    expect(ask(one, accountId, '+8801712009999')).toBe('sent');
    send(one, accountId, to(20), null);
    expect(ask(one, accountId, '+8801712009999')).toBe('velocity');
    await until('the other knows', () => ask(two, accountId, '+8801712009999') === 'velocity', patient);
    two.verified({ accountId, to: to(20), messageId: null });
    expect(ask(two, accountId, '+8801712009999')).toBe('sent');
  });

  test('a code that is not accepted after all counts nowhere', async () => {
    const accountId = freshAccount();
    for (let at = 0; at < 30; at += 1) {
      const code = { accountId, to: numberOf(at), ip: null, device: null, carrier: '', isProbe: false };
      one.withdraw(one.begin(code));
    }
    expect(ask(one, accountId, '+8801712009999')).toBe('sent');
  });

  test('block for both what one finds; shadow and off apply from the change on', async () => {
    const accountId = freshAccount();
    for (let at = 0; at < 11; at += 1) send(one, accountId, `+88017300020${String(at).padStart(2, '0')}`);
    await until('both block', () => ask(two, accountId, '+8801730002555') === 'sequence', patient);
    two.configure({ ...rules, safeList: ['+8801730002'] });
    expect(ask(two, accountId, '+8801730002555')).toBe('sent');
    expect(ask(one, accountId, '+8801730002555')).toBe('sequence');
    two.configure({ ...rules, destinations: ['+39'] });
    expect(ask(two, freshAccount(), '+8801730002555')).toBe('destination');
    two.configure({ ...rules, destinations: ['+39'], modes: { ...guardModesDefault, destination: 'shadow' } });
    expect(ask(two, freshAccount(), '+8801730002555')).toBe('sent');
    two.configure(rules);
  });
});

test('of live one-time passwords receipts are published, and the carriers that took those that are scored; what is no observation is left out', async () => {
  const received: GuardObservation[] = [];
  const taken = newMessageId(1_700_000_000_000);
  const listener = new GuardTalk(harness.bus, 'listener', systemClock);
  const accountId = freshAccount();
  // Guards of the tests before may still be publishing theirs.
  const stop = listener.listen((observation) => {
    const isOwn = 'accountId' in observation ? observation.accountId === accountId : observation.messageId === taken;
    if (isOwn) received.push(observation);
  });
  await harness.bus.connection.flush();
  const observations = new OtpObservations(harness.bus, systemClock);
  const delivered = { kind: 'delivered', category: 'otp', livemode: true, accountId, recipient: '+1' };
  for (const event of [
    { ...delivered, kind: 'undelivered' },
    { ...delivered, category: 'promotional' },
    { ...delivered, livemode: false },
    { ...delivered, kind: 'hedged', messageId: taken, error: 'control group: no_response' },
    { ...delivered, kind: 'hedged', messageId: taken, error: 'to beta: no_response' },
    { ...delivered, recipient: '+2' },
  ]) {
    observations.onEvent(event as unknown as DeliveryEvent);
  }
  const message = messageWith({ messageId: taken, category: 'otp', scoredAs: 'gamma' });
  for (const [of, isHedged] of [
    [messageWith({ messageId: taken, category: 'otp' }), false],
    [message, true],
    [{ ...message, hedge: 'copy' }, false],
    [{ ...message, hedge: 'control' }, false],
  ] as const) {
    observations.onTaken({ message: of, hedged: isHedged ? 'copied' : 'no' });
  }
  const later = `{"kind":"of a later version","accountId":"${accountId}","to":"+1"}`;
  const own = `{"kind":"verified","accountId":"${accountId}","to":"+3","messageId":"sms_1"}`;
  for (const wrong of [
    '{',
    '[]',
    '{"from":"x","observations":[{"kind":"sent","accountId":"a","to":"+1"}]}',
    `{"from":"x","observations":[{"kind":"taken","messageId":"${taken}","carrier":"alpha","sender":"HELIO"}]}`,
    `{"from":"x","observations":[${later},${own}]}`,
  ]) {
    harness.bus.connection.publish(otpGuardSubject, wrong);
  }
  await until('all are received', () => received.length >= 4, patient);
  expect(received).toEqual([
    { kind: 'verified', accountId, to: '+3', messageId: 'sms_1' },
    { kind: 'copied', messageId: taken },
    { kind: 'received', accountId, to: '+2' },
    { kind: 'taken', messageId: taken, carrier: 'alpha', operator: 'gamma', sender: 'HELIO' },
  ]);
  stop();
});

// Long messages whose segments have different outcomes: a segment that the carrier has, or may have, is not sent again,
// whatever happens to the others. Counted at the simulator.
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { type LateGates, passLateGates } from '../../../../policy/late/late-gates.ts';
import { type CarrierHarness, carrierHarnessOf, carrierWith } from '../../../support/carrier-harness.ts';
import { account, eventsOf } from '../../../support/invariant.ts';

const moves = { otpFailoverAfterMs: 1_000, othersFailoverAfterMs: 30_000 };
const submitsOf = (harness: CarrierHarness) => harness.simulator.stats().submits;
const textOf = (parts: number) => (nonce: string) => `#${nonce}# ${'long '.repeat(30 * parts - 10)}`;

// Each waits most of its time.
describe.concurrent('the segments of a long message', () => {
  test('quiet hours begin when the carrier has a segment of a message: the rest of it is still sent, and no segment twice', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished);
    harness.simulator.setFault('reject-part', { arg: 2 });
    const opensAtMs = systemClock.nowMs() + 6_000;
    const quiet: LateGates = (message, nowMs) =>
      submitsOf(harness).accepted > 0 && nowMs < opensAtMs
        ? { ok: false, status: 'held', code: 'quiet_hours', untilMs: opensAtMs }
        : passLateGates(message, nowMs);
    await harness.actor(
      carrierWith(harness.simulator, { errors: { ESME_RSUBMITFAIL: 'later' } }),
      systemClock,
      moves,
      quiet,
    );
    const sent = await harness.send(1, { category: 'promotional', segments: 2 }, textOf(2));
    await until('part 2 was refused twice', () => submitsOf(harness).total >= 3);
    harness.simulator.setFault(null);
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 1 } });
    expect(submitsOf(harness).accepted).toBe(2);
  });

  test('the ack deadline passes while segments are out: the redelivered record waits for their answers, and no segment is sent twice', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished, { response: 'fixed:9000' });
    // A segment each second: some are out when the ack_wait of two seconds ends, and some are not.
    await harness.actor(carrierWith(harness.simulator, { tps: 1, responseTimerMs: 20_000 }));
    const sent = await harness.send(1, { category: 'otp', segments: 5 }, textOf(5));
    await until('a part is out', () => submitsOf(harness).total >= 1);
    await harness.nats.kill9();
    const sinceMs = systemClock.monotonicMs();
    await until('the hold has lapsed', () => systemClock.monotonicMs() - sinceMs > 3_500);
    expect(submitsOf(harness).total).toBeLessThan(5);
    await harness.nats.restart();
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 1 } });
    expect(submitsOf(harness).accepted).toBe(5);
  });

  test('kill -9 when one segment was refused and another has no answer: that one may have been accepted, and is not sent again', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished, { response: 'fixed:15000' });
    harness.simulator.setFault('no-receipt');
    harness.simulator.setFault('reject-part', { arg: 1 });
    const carrier = carrierWith(harness.simulator, { errors: { ESME_RSUBMITFAIL: 'later' }, responseTimerMs: 30_000 });
    const first = await harness.host([carrier]);
    const long = await harness.send(1, { category: 'otp', segments: 2 }, textOf(2));
    await until('both parts were written', () => submitsOf(harness).total >= 2);
    const next = await harness.send(1, { category: 'otp' });
    // The events of the first message precede it in the stream.
    const intentOfNext = async () =>
      (await eventsOf(harness.bus)).some(
        ({ kind, messageId }) => kind === 'intent' && messageId === next[0]?.messageId,
      );
    await until('the intent of the next is durable', intentOfNext);
    await until('it is written', () => submitsOf(harness).total >= 3);
    const accepted = submitsOf(harness).accepted;
    await first.kill9();
    harness.simulator.setFault('reject-part', { arg: 9 });
    await harness.host([carrier]);
    const sums = () => account(harness.bus, harness.simulator, [...long, ...next]);
    await until('both are settled', async () => (await sums()).terminal === 2);
    expect((await sums()).statuses).toEqual({ unknown: 2 });
    expect(submitsOf(harness).accepted).toBe(accepted);
  });

  test('two segments refused one after the other: the longer wait counts, and no timer of an earlier wait ends a later one', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished, { response: 'fixed:10' });
    await harness.actor(carrierWith(harness.simulator, { tps: 10 }));
    const sent = await harness.send(1, { segments: 3 }, textOf(3));
    await until('the first part is taken', () => submitsOf(harness).accepted === 1, { everyMs: 1 });
    // The others are out together when they are refused.
    harness.simulator.setFault('queue-full', { arg: 250 });
    const intentsMs = async () =>
      (await eventsOf(harness.bus)).filter(({ kind }) => kind === 'intent').map(({ atMs }) => atMs);
    const at = await until('a fourth try', async () => (await intentsMs()).length >= 4 && intentsMs());
    harness.simulator.setFault(null);
    expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 1 } });
    expect(submitsOf(harness).accepted).toBe(3);
    // At least half of a second, of two, of four.
    const waits = at.slice(1, 4).map((each, index) => each - (at[index] ?? 0));
    expect(waits.map((each, index) => each >= 500 * 2 ** index)).toEqual([true, true, true]);
  });
});

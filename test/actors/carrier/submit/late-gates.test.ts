// Messages whose turn comes at the wrong time or for the wrong recipient: deferred, or blocked, and never written.
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { type LateGates, passLateGates } from '../../../../policy/late/late-gates.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { statesOf } from '../../../support/invariant.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const moves = { otpFailoverAfterMs: 1_000, othersFailoverAfterMs: 30_000 };
const inLater = async () => (await harness.bus.manager.streams.info('LATER')).state.messages;
const inQueue = async () => (await harness.bus.manager.streams.info('MT_PROMO')).state.messages;

test('a message in quiet hours waits in LATER, delays no other, and is sent once when they end', async () => {
  harness = await openCarrierHarness();
  let opensAtMs = 0;
  const quiet: LateGates = (message, nowMs) =>
    message.category === 'promotional' && nowMs < opensAtMs
      ? { ok: false, status: 'held', code: 'quiet_hours', untilMs: opensAtMs }
      : passLateGates(message, nowMs);
  await harness.actor(carrierWith(harness.simulator), systemClock, moves, quiet);
  // Long enough to see that they wait, on a busy machine too.
  opensAtMs = systemClock.nowMs() + 5_000;
  const inFlight = await harness.send(50, { category: 'promotional' });
  const others = await harness.send(50, { category: 'otp' });
  await until('all are in LATER', async () => (await inLater()) === 50 && (await inQueue()) === 0);
  expect(await harness.settled(others)).toMatchObject({ twice: [], never: [], statuses: { delivered: 50 } });
  const early = harness.simulator.messages().length;
  expect(early).toBe(50);
  const states = await statesOf(harness.bus);
  expect(states.get(inFlight[0]?.messageId ?? '')?.status).not.toBe('submitted');
  expect(await harness.settled(inFlight)).toMatchObject({ twice: [], never: [], statuses: { delivered: 50 } });
  expect(systemClock.nowMs()).toBeGreaterThanOrEqual(opensAtMs);
});

test('a number listed since admission gets nothing: blocked, with the reason, and the queue is empty', async () => {
  harness = await openCarrierHarness();
  const listed: LateGates = (message, nowMs) =>
    message.category === 'promotional'
      ? { ok: false, status: 'blocked', code: 'recipient_do_not_disturb:7-abcdef01' }
      : passLateGates(message, nowMs);
  await harness.actor(carrierWith(harness.simulator), systemClock, moves, listed);
  const blocked = await harness.send(100, { category: 'promotional' });
  await until('the queue is empty', async () => (await inQueue()) === 0);
  const states = await until('all of them end', async () => {
    const all = await statesOf(harness.bus);
    return blocked.every(({ messageId }) => all.get(messageId)?.status === 'blocked') && all;
  });
  expect(harness.simulator.messages()).toEqual([]);
  expect(states.get(blocked[0]?.messageId ?? '')?.error).toBe('recipient_do_not_disturb:7-abcdef01');
});

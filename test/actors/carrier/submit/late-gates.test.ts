// Messages whose turn comes at the wrong time or for the wrong person: held in LATER, or blocked, and never written.
import { afterEach, expect, test } from 'vitest';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../../platform/deadline.ts';
import { type LateGates, passLateGates } from '../../../../policy/late/late-gates.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../../support/carrier-house.ts';
import { statesOf } from '../../../support/invariant.ts';

let house: CarrierHouse;
afterEach(() => house.stop());

const moves = { otpMovesAfterMs: 1_000, othersMoveAfterMs: 30_000 };
const inLater = async () => (await house.bus.manager.streams.info('LATER')).state.messages;
const inQueue = async () => (await house.bus.manager.streams.info('MT_PROMO')).state.messages;

test('what is quiet now waits in LATER, holds nothing up, and goes out once when the hour comes', async () => {
  house = await openCarrierHouse();
  let opensAtMs = 0;
  const quiet: LateGates = (message, nowMs) =>
    message.category === 'promotional' && nowMs < opensAtMs
      ? { ok: false, status: 'held', code: 'quiet_hours', untilMs: opensAtMs }
      : passLateGates(message, nowMs);
  await house.actor(carrierWith(house.simulator), systemClock, moves, quiet);
  // Long enough to see that they wait, on a busy machine too.
  opensAtMs = systemClock.nowMs() + 5_000;
  const held = await house.send(50, { category: 'promotional' });
  const others = await house.send(50, { category: 'otp' });
  await until('all are in LATER', async () => (await inLater()) === 50 && (await inQueue()) === 0);
  expect(await house.settled(others)).toMatchObject({ twice: [], never: [], statuses: { delivered: 50 } });
  const early = house.simulator.messages().length;
  expect(early).toBe(50);
  const states = await statesOf(house.bus);
  expect(states.get(held[0]?.messageId ?? '')?.status).not.toBe('submitted');
  expect(await house.settled(held)).toMatchObject({ twice: [], never: [], statuses: { delivered: 50 } });
  expect(systemClock.nowMs()).toBeGreaterThanOrEqual(opensAtMs);
});

test('who was listed since the door let it pass gets nothing: blocked, with the reason, and the queue is empty', async () => {
  house = await openCarrierHouse();
  const listed: LateGates = (message, nowMs) =>
    message.category === 'promotional'
      ? { ok: false, status: 'blocked', code: 'recipient_do_not_disturb:7-abcdef01' }
      : passLateGates(message, nowMs);
  await house.actor(carrierWith(house.simulator), systemClock, moves, listed);
  const blocked = await house.send(100, { category: 'promotional' });
  await until('the queue is empty', async () => (await inQueue()) === 0);
  const states = await until('all of them end', async () => {
    const all = await statesOf(house.bus);
    return blocked.every(({ messageId }) => all.get(messageId)?.status === 'blocked') && all;
  });
  expect(house.simulator.messages()).toEqual([]);
  expect(states.get(blocked[0]?.messageId ?? '')?.error).toBe('recipient_do_not_disturb:7-abcdef01');
});

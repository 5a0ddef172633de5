// Messages sent once more because their outcome is unknown and their account asks for that: on a real nats-server and
// the real simulator, counted at the SMSC peer. Twice at the most, whatever is killed in between, and not at all when
// an answer or a receipt shows in time that the first copy arrived.
import { afterEach, describe, expect, test } from 'vitest';
import { freePort } from '../../../../cluster/embedded/ports.ts';
import { openBucket } from '../../../../cluster/bus/ensure.ts';
import { filledEntryName, tenantEntities } from '../../../../directory/tenant-entities.ts';
import type { Category } from '../../../../model/message.ts';
import { type Clock, systemClock } from '../../../../platform/clock.ts';
import { patienceMs, until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { metrics } from '../../../../platform/telemetry.ts';
import { passLateGates } from '../../../../policy/late/late-gates.ts';
import { startSimulator } from '../../../../smpp/simulator/simulator.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { type SentMessage, eventsOf, statesOf } from '../../../support/invariant.ts';
import { messageWith } from '../../../support/messages.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const moves = { otpFailoverAfterMs: 60_000, othersFailoverAfterMs: 60_000 };
const resendAll = () => true;
const otpOnly = ({ category }: { category: Category }) => category === 'otp';
const actor = (changes: Parameters<typeof carrierWith>[1] = {}, policy = otpOnly, clock = systemClock) =>
  harness.actor(carrierWith(harness.simulator, changes), clock, moves, passLateGates, policy);

const copies = (sent: readonly SentMessage[]) => sent.map(({ nonce }) => harness.simulator.nonceCount(nonce));
const histories = async (sent: readonly SentMessage[]) => {
  const states = await statesOf(harness.bus);
  return sent.map(({ messageId }) =>
    (states.get(messageId)?.history ?? []).map(({ status, error }) => (error === null ? status : `${status} ${error}`)),
  );
};
const kindsOf = async (kind: string) => (await eventsOf(harness.bus)).filter((each) => each.kind === kind);

describe('an answer that does not come', () => {
  test('sends an OTP once more and leaves the rest unknown, as the account asks; history, event and metric show it', async () => {
    // Receipts come long after the timer: one that came before would spare an OTP its second copy.
    harness = await openCarrierHarness({ latency: 'fixed:4000' });
    await harness.eventStore();
    await actor({ responseTimerMs: 1_000 });
    const counted = async () =>
      (await metrics.resentByPolicy.get()).values
        .filter(({ labels }) => labels.carrier === 'alpha' && labels.category === 'otp')
        .reduce((sum, { value }) => sum + value, 0);
    const before = await counted();
    // One kind after the other: all six silences are for first copies, however slow the machine is.
    harness.simulator.setFault('no-resp', { limit: 3 });
    const others = await harness.send(3);
    await until('the others are out', () => copies(others).every((each) => each === 1), { everyMs: 5 });
    harness.simulator.setFault('no-resp', { limit: 3 });
    const otp = await harness.send(3, { category: 'otp' });
    expect((await harness.settled(otp)).statuses).toEqual({ delivered: 3 });
    expect(copies(otp)).toEqual([2, 2, 2]);
    expect((await counted()) - before).toBe(3);
    expect(await kindsOf('resent')).toHaveLength(3);
    for (const history of await histories(otp)) {
      expect(history.slice(0, 2)).toEqual(['accepted', 'unknown resent_by_policy:no_response']);
      expect(history.at(-1)).toBe('delivered');
    }
    // Their receipts arrive, and settle what had no answer.
    const delivered = async () => (await harness.settled(others)).statuses['delivered'] === 3;
    await until('what was unknown is delivered', delivered);
    expect(copies(others)).toEqual([1, 1, 1]);
  });

  test('to the second copy either: unknown, and no third', async () => {
    harness = await openCarrierHarness();
    harness.simulator.setFault('no-receipt');
    harness.simulator.setFault('no-resp', { limit: 10 });
    await actor({ responseTimerMs: 200 });
    const sent = await harness.send(2, { category: 'otp' });
    expect((await harness.settled(sent)).statuses).toEqual({ unknown: 2 });
    expect(copies(sent)).toEqual([2, 2]);
    for (const history of await histories(sent)) {
      expect(history).toEqual(['accepted', 'unknown resent_by_policy:no_response', 'unknown no_response']);
    }
    // No record is left that could send it.
    for (const stream of ['MT_OTP', 'LATER']) {
      await until(`${stream} empty`, async () => (await harness.bus.manager.streams.info(stream)).state.messages === 0);
    }
  });

  test('when its validity is over by then: unknown, and not sent again', async () => {
    harness = await openCarrierHarness();
    harness.simulator.setFault('no-receipt');
    harness.simulator.setFault('no-resp', { limit: 2 });
    await actor({ responseTimerMs: 4_000 });
    const sent = await harness.send(1, { category: 'otp', validUntilMs: systemClock.nowMs() + 3_000 });
    expect((await harness.settled(sent)).statuses).toEqual({ unknown: 1 });
    expect(copies(sent)).toEqual([1]);
    expect(await kindsOf('resent')).toEqual([]);
  });

  test('to a segment of a long message: only that segment is sent again, under the same reference', async () => {
    harness = await openCarrierHarness({ response: 'fixed:20' });
    // So long that a stall of the machine does not make the other segments' answers late.
    await actor({ responseTimerMs: 2_000, bind: { count: 1 } });
    harness.simulator.setFault('no-resp', { limit: 1 });
    const text = (nonce: string) => `#${nonce}# ${'long '.repeat(80)}`;
    const sent = await harness.send(1, { category: 'otp', segments: 3 }, text);
    expect((await harness.settled(sent)).statuses).toEqual({ delivered: 1 });
    expect(harness.simulator.stats().submits.total).toBe(4);
    expect(await kindsOf('resent')).toMatchObject([{ error: 'resent_by_policy:no_response' }]);
    expect(new Set((await kindsOf('submitted')).map((each) => each.segment))).toEqual(new Set([1, 2, 3]));
  });

  test('when the second copy is refused: unknown with the reason, because the first may have arrived', async () => {
    harness = await openCarrierHarness();
    harness.simulator.setFault('no-receipt');
    harness.simulator.setFault('no-resp', { limit: 1 });
    await actor({ responseTimerMs: 200, errors: { ESME_RSYSERR: 'reject' } });
    const sent = await harness.send(1, { category: 'otp' });
    await until('the first copy is there', () => copies(sent)[0] === 1, { everyMs: 5 });
    harness.simulator.setFault('sys-err');
    expect((await harness.settled(sent)).statuses).toEqual({ unknown: 1 });
    expect((await histories(sent))[0]).toEqual([
      'accepted',
      'unknown resent_by_policy:no_response',
      'unknown not_resent:ESME_RSYSERR',
    ]);
  });

  test('a record marked as sent again is not sent again by another carrier either', async () => {
    harness = await openCarrierHarness();
    harness.simulator.setFault('no-receipt');
    harness.simulator.setFault('no-resp', { limit: 2 });
    await actor({ responseTimerMs: 200 }, resendAll);
    const sent = await harness.send(1, { category: 'otp', hop: 1, resends: 1 });
    expect((await harness.settled(sent)).statuses).toEqual({ unknown: 1 });
    expect(copies(sent)).toEqual([1]);
  });
});

describe('a message that is no OTP waits a moment for news of its first copy', () => {
  test('a late answer cancels the second', async () => {
    harness = await openCarrierHarness({ response: 'fixed:900', latency: 'fixed:50' });
    await actor({ responseTimerMs: 300 }, resendAll);
    const sent = await harness.send(3);
    await until('they are to go again', async () => (await kindsOf('resent')).length === 3);
    expect((await harness.settled(sent, limits.carrier.resendWaitMs)).statuses).toEqual({ delivered: 3 });
    await until('all is acked', async () => (await harness.bus.manager.streams.info('MT_TXN')).state.messages === 0);
    expect(copies(sent)).toEqual([1, 1, 1]);
  });

  test('a late receipt cancels the second', async () => {
    harness = await openCarrierHarness({ latency: 'fixed:400' });
    await harness.eventStore();
    harness.simulator.setFault('no-resp', { limit: 3 });
    // A receipt is looked up in the event store, and once more some seconds later when it did not answer in time.
    const { after } = systemClock;
    const patient: Clock['after'] = (delayMs, run) =>
      after(delayMs === limits.carrier.resendWaitMs ? patienceMs : delayMs, run);
    await actor({ responseTimerMs: 200 }, resendAll, { ...systemClock, after: patient });
    const sent = await harness.send(3);
    expect((await harness.settled(sent)).statuses).toEqual({ delivered: 3 });
    await until('all is acked', async () => (await harness.bus.manager.streams.info('MT_TXN')).state.messages === 0);
    expect(copies(sent)).toEqual([1, 1, 1]);
    for (const history of await histories(sent)) {
      expect(history).toEqual(['accepted', 'unknown resent_by_policy:no_response', 'delivered']);
    }
  });

  test('without news it is sent again', async () => {
    harness = await openCarrierHarness();
    harness.simulator.setFault('no-receipt');
    harness.simulator.setFault('no-resp', { limit: 1 });
    await actor({ responseTimerMs: 200 }, resendAll);
    const sent = await harness.send(1);
    await until('the second copy', () => copies(sent)[0] === 2);
    await until('its answer', async () => (await kindsOf('submitted')).length === 1);
  });
});

test('a carrier that is gone by then: the one further copy goes to the next of the plan, and that was the last', async () => {
  harness = await openCarrierHarness({ port: await freePort() });
  const beta = await startSimulator({ magic: false });
  try {
    for (const simulator of [harness.simulator, beta]) simulator.setFault('no-resp', { limit: 5 });
    for (const simulator of [harness.simulator, beta]) simulator.setFault('no-receipt');
    const quick = { otpFailoverAfterMs: 300, othersFailoverAfterMs: 500 };
    const both = [carrierWith(harness.simulator), carrierWith(beta, { name: 'beta' })];
    for (const carrier of both) {
      await harness.actor({ ...carrier, responseTimerMs: 300 }, systemClock, quick, passLateGates, resendAll);
    }
    const sent = await harness.send(3, { plan: ['beta'] });
    await until('they are to go again', async () => (await kindsOf('resent')).length === 3);
    await harness.simulator.close();
    expect((await harness.settled(sent)).statuses).toEqual({ unknown: 3 });
    expect(sent.map(({ nonce }) => [harness.simulator.nonceCount(nonce), beta.nonceCount(nonce)])).toEqual(
      sent.map(() => [1, 1]),
    );
    expect(await kindsOf('resent')).toHaveLength(3);
    expect((await kindsOf('unknown')).map((each) => [each.carrier, each.hop])).toEqual(sent.map(() => ['beta', 1]));
  } finally {
    await beta.close();
  }
});

test('a session lost with a full window: OTP is sent again on the next, once, and both receipts do no harm', async () => {
  harness = await openCarrierHarness({ response: 'fixed:400', latency: 'fixed:700' });
  await actor({ bind: { window: 10, count: 1 } });
  const sent = await harness.send(30, { category: 'otp' });
  await until('a window is out', () => harness.simulator.stats().submits.total >= 10);
  harness.simulator.setFault('unbind', { now: true });
  const settled = await harness.settled(sent);
  expect(settled).toMatchObject({ never: [], statuses: { delivered: 30 } });
  expect(settled.twice.length).toBeGreaterThan(0);
  expect(Math.max(...copies(sent))).toBe(2);
  // Only messages with that decision arrive twice.
  const resent = new Set((await kindsOf('resent')).map((each) => each.messageId));
  for (const { messageId, nonce } of sent) {
    if (harness.simulator.nonceCount(nonce) > 1) expect(resent.has(messageId)).toBe(true);
  }
});

describe('kill -9, with the policy in the directory', () => {
  const child = () =>
    harness.host([carrierWith(harness.simulator, { bind: { window: 10, count: 1 }, responseTimerMs: 60_000 })]);

  async function publishDirectory(resendUnknown: readonly Category[]): Promise<void> {
    const bucket = await openBucket(harness.bus, 'directory');
    const { accountId, sender } = messageWith();
    const entry = { v: 1, accountId, name: 'Test', status: 'active', senders: [sender], resendUnknown } as const;
    await bucket.put(tenantEntities.account.nameOf(accountId), tenantEntities.account.encode(entry));
    await bucket.put(filledEntryName, '{"v":1}');
  }

  test('after the submit and before its answer: each is sent once more, and a further kill sends none a third time', async () => {
    harness = await openCarrierHarness();
    harness.simulator.setFault('no-receipt');
    harness.simulator.setFault('no-resp');
    await publishDirectory(['otp']);
    const sent = await harness.send(10, { category: 'otp' });
    const first = await child();
    await until('the first copies', () => copies(sent).every((each) => each === 1), { everyMs: 5 });
    await first.kill9();
    const second = await child();
    await until('the second copies', () => copies(sent).every((each) => each === 2), { everyMs: 5 });
    await second.kill9();
    await child();
    expect((await harness.settled(sent)).statuses).toEqual({ unknown: 10 });
    expect(new Set(copies(sent))).toEqual(new Set([2]));
  });

  test('between the decision and the second submit: it is sent that once more, and no further time', async () => {
    harness = await openCarrierHarness();
    harness.simulator.setFault('no-receipt');
    harness.simulator.setFault('no-resp', { limit: 5 });
    await publishDirectory(['transactional']);
    const sent = await harness.send(5);
    const carrier = carrierWith(harness.simulator, { bind: { window: 10, count: 1 }, responseTimerMs: 300 });
    const first = await harness.host([carrier]);
    await until('the decision is durable', async () => (await kindsOf('resent')).length === 5, { everyMs: 20 });
    await first.kill9();
    expect(copies(sent)).toEqual([1, 1, 1, 1, 1]);
    harness.simulator.setFault('no-resp', { limit: 5 });
    await harness.host([carrier]);
    expect((await harness.settled(sent)).statuses).toEqual({ unknown: 5 });
    expect(copies(sent)).toEqual([2, 2, 2, 2, 2]);
    expect(await kindsOf('resent')).toHaveLength(5);
  });
});

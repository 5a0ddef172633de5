// Receipts that are not the last (fault 51): UNKNOWN, ENROUTE or a state of the carrier's own, and three seconds later
// the real one. Against the simulator, counted in EVENTS; also over a restart, for long messages, and with little
// memory.
import { describe, expect, test } from 'vitest';
import { until } from '../../../support/until.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { passLateGates } from '../../../../policy/late/late-gates.ts';
import { type CarrierHarness, carrierHarnessOf, carrierWith } from '../../../support/carrier-harness.ts';
import { type SentMessage, eventsOf, statesOf } from '../../../support/invariant.ts';

const [unknown, enroute, accepted, vendorWord] = [7, 1, 6, 0];
const kindsOf = async (harness: CarrierHarness, kind: string) =>
  (await eventsOf(harness.bus)).filter((each) => each.kind === kind);
const histories = async (harness: CarrierHarness, sent: readonly SentMessage[]) => {
  const states = await statesOf(harness.bus);
  return sent.map(({ messageId }) => (states.get(messageId)?.history ?? []).map(({ status }) => status));
};
const delivered = async (harness: CarrierHarness, sent: readonly SentMessage[]) =>
  until(
    'all delivered',
    async () => {
      const states = await statesOf(harness.bus);
      return sent.every(({ messageId }) => states.get(messageId)?.status === 'delivered');
    },
    { everyMs: 50 },
  );

// Each waits for a receipt most of its time.
describe.concurrent('a receipt that is not the last', () => {
  test.for([
    ['UNKNOWN', 'text', unknown, ['accepted', 'submitted', 'unknown', 'delivered']],
    ['ENROUTE', 'text', enroute, ['accepted', 'submitted', 'delivered']],
    ['ACCEPTD', 'text', accepted, ['accepted', 'submitted', 'delivered']],
    ['an unknown word', 'text', vendorWord, ['accepted', 'submitted', 'delivered']],
    ['UNKNOWN', 'tlv', unknown, ['accepted', 'submitted', 'unknown', 'delivered']],
    ['an unknown message_state', 'tlv', vendorWord, ['accepted', 'submitted', 'delivered']],
  ] as const)(
    '%s as %s, and three seconds later DELIVRD: the message is delivered',
    async ([, receipts, arg, history], { onTestFinished }) => {
      const harness = await carrierHarnessOf(onTestFinished, { receipts });
      harness.simulator.setFault('preceding-receipt', { arg });
      await harness.actor(carrierWith(harness.simulator));
      const sent = await harness.send(5);
      await delivered(harness, sent);
      expect(await histories(harness, sent)).toEqual(sent.map(() => history));
      await until('all answered', () => harness.simulator.stats().receipts.acked === 10);
      expect(harness.simulator.stats().submits.total).toBe(5);
    },
  );

  test('UNKNOWN for the segments of a long message, each once: it is delivered when all of them are', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished);
    harness.simulator.setFault('preceding-receipt', { arg: unknown });
    await harness.actor(carrierWith(harness.simulator));
    const sent = await harness.send(3, { segments: 2 }, (nonce) => `${'long '.repeat(60)}#${nonce}#`);
    await delivered(harness, sent);
    const parts = (await kindsOf(harness, 'unknown')).map(({ messageId, segment }) => `${messageId} ${segment}`);
    expect(parts.toSorted()).toEqual(sent.flatMap(({ messageId }) => [`${messageId} 1`, `${messageId} 2`]).toSorted());
    for (const history of await histories(harness, sent)) expect(history.at(-1)).toBe('delivered');
  });

  test('UNKNOWN, then a restart, then the last receipt: it is delivered, and nothing is sent again', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished);
    harness.simulator.setFault('preceding-receipt', { arg: unknown });
    const resendAll = () => true;
    const open = () => harness.actor(carrierWith(harness.simulator), systemClock, undefined, passLateGates, resendAll);
    const first = await open();
    const sent = await harness.send(5);
    await until('all unknown', async () => (await kindsOf(harness, 'unknown')).length === 5, { everyMs: 10 });
    await first.drain();
    expect(await kindsOf(harness, 'delivered')).toEqual([]);
    await open();
    await delivered(harness, sent);
    expect(harness.simulator.stats().submits.total).toBe(5);
    expect(await kindsOf(harness, 'resent')).toEqual([]);
  });

  test('UNKNOWN, and the submit is found only in the event store: so is the last receipt', async ({
    onTestFinished,
  }) => {
    const harness = await carrierHarnessOf(onTestFinished, { latency: 'fixed:1500' });
    harness.simulator.setFault('preceding-receipt', { arg: unknown });
    await harness.eventStore();
    const first = await harness.actor(carrierWith(harness.simulator));
    const sent = await harness.send(5);
    await until('all submitted', async () => (await kindsOf(harness, 'submitted')).length === 5, { everyMs: 10 });
    // The next incarnation remembers nothing of it.
    await first.drain();
    await harness.actor(carrierWith(harness.simulator), longAfter());
    await delivered(harness, sent);
    expect(await histories(harness, sent)).toEqual(sent.map(() => ['accepted', 'submitted', 'unknown', 'delivered']));
  });
});

/** So late that the replay reaches none of what was submitted. */
function longAfter(): typeof systemClock {
  const aheadMs = 10 * 60_000;
  return { ...systemClock, nowMs: () => systemClock.nowMs() + aheadMs };
}

// One-time passwords whose carrier does not answer in its usual time: two simulators, two actors, a real nats-server.
// Counted at both SMSC peers: a second copy when the budget has one, at most one, and never a third, whatever is killed.
import { afterEach, describe, expect, test } from 'vitest';
import { EventWriter } from '../../../../cluster/bus/event-writer.ts';
import { messageSubject } from '../../../../cluster/bus/subjects.ts';
import { type EventKind, eventOfMessage } from '../../../../model/delivery-event.ts';
import type { Message } from '../../../../model/message.ts';
import { bodyCipher } from '../../../../model/records/body-cipher.ts';
import { encodeMessage } from '../../../../model/records/message-record.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { limits } from '../../../../platform/limits.ts';
import { metrics } from '../../../../platform/telemetry.ts';
import type { HedgingRules } from '../../../../policy/otp-hedging/contract.ts';
import { type CarrierHarness, carrierWith } from '../../../support/carrier-harness.ts';
import { bodyKey } from '../../../support/host-process.ts';
import { type SentMessage, statesOf } from '../../../support/invariant.ts';
import { lostTime } from '../../../support/lost-time.ts';
import { messageWith } from '../../../support/messages.ts';
import { until } from '../../../support/until.ts';
import { type HedgingPeers, growthOf, hedged, movesWith, openHedgingPeers } from './hedging-peers.ts';

let peers: HedgingPeers;
let harness: CarrierHarness;
afterEach(() => peers.close());

const rules: HedgingRules = {
  ...{ enabled: true, share: 0.25, control: 0.1 },
  ...{ responseFloorMs: 250, receipts: false, receiptFloorMs: 500 },
};

async function openPeers(): Promise<void> {
  peers = await openHedgingPeers();
  ({ harness } = peers);
}

/** Both carriers; alpha knows its usual time to answer, and has a budget from a hundred and twenty sends. */
async function open(changes: Partial<HedgingRules> = {}, responseTimerMs = 1_500) {
  await openPeers();
  const actor = await peers.actors({ ...rules, ...changes }, { alpha: { responseTimerMs } });
  await peers.learn(120);
  return actor;
}
const settled = (sent: readonly SentMessage[]) => peers.settled(sent);
const copies = (sent: readonly SentMessage[]) => peers.copies(sent);
const kindsOf = (kind: EventKind) => peers.kindsOf(kind);

describe('without an answer in the usual time', () => {
  test('a second copy goes to the next carrier: delivered there, one copy at each, and the first decides nothing later', async () => {
    await open();
    const grown = await growthOf(metrics.otpHedges, 'alpha', 'sent');
    harness.simulator.setFault('no-receipt');
    harness.simulator.setFault('no-resp', { limit: 3 });
    const sent = await harness.send(3, hedged);
    expect(await settled(sent)).toEqual({ delivered: 3 });
    expect(copies(sent)).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ]);
    const events = await kindsOf('hedged');
    expect(events).toHaveLength(3);
    expect(events[0]).toMatchObject({ carrier: 'alpha', hop: 0, error: 'to beta: no_response' });
    expect(await grown()).toBe(3);
    await until('alpha gives up', async () => (await kindsOf('unknown')).length === 3);
    const states = await statesOf(harness.bus);
    for (const { messageId } of sent) {
      expect(states.get(messageId)).toMatchObject({ status: 'delivered', carrier: 'beta' });
    }
    await peers.noneIsLeft();
  });

  test('of ten in a row fewer than five get one, although their share of the last hundred shows no outage', async () => {
    await open({}, 5_000);
    const [sent, outage] = await Promise.all(
      ['sent', 'outage'].map((result) => growthOf(metrics.otpHedges, 'alpha', result)),
    );
    harness.simulator.setFault('no-receipt');
    harness.simulator.setFault('no-resp');
    const { lateInARow } = limits.otpHedging;
    const count = 2 * lateInARow;
    await harness.send(count, hedged);
    await until('all are late', async () => (await sent!()) + (await outage!()) === count, { everyMs: 5 });
    expect(await sent!()).toBeLessThan(lateInARow);
    harness.simulator.setFault(null);
    await peers.noneIsLeft();
  });

  test('and refused by the next carrier: it goes on until the first is known', async () => {
    await open({}, 2_500);
    harness.simulator.setFault('no-receipt');
    harness.simulator.setFault('no-resp', { limit: 1 });
    peers.beta.setFault('sys-err');
    const [sent] = await harness.send(1, { ...hedged, validUntilMs: systemClock.nowMs() + 60_000 });
    // beta's refusals are temporary; its own bound of tries is not what is tested.
    await until('hedged', async () => (await kindsOf('hedged')).length === 1);
    expect((await statesOf(harness.bus)).get(sent!.messageId)?.status).toBe('accepted');
    await until('alpha gives up', async () => (await kindsOf('unknown')).length === 1);
    expect((await statesOf(harness.bus)).get(sent!.messageId)?.status).toBe('accepted');
    peers.beta.setFault(null);
    expect(await settled([sent!])).toEqual({ delivered: 1 });
  });

  test('the control group is noted and gets no copy', async () => {
    await open();
    harness.simulator.setFault('no-resp', { limit: 2 });
    const sent = await harness.send(2, { ...hedged, hedge: 'control' });
    await until('noted', async () => (await kindsOf('hedged')).length === 2);
    expect((await kindsOf('hedged')).map(({ error }) => error)).toEqual([
      'control group: no_response',
      'control group: no_response',
    ]);
    await settled(sent);
    expect(copies(sent)).toEqual([
      [1, 0],
      [1, 0],
    ]);
  });

  test('no copy without a budget, without another carrier, and of what is no POST /v1/otp', async () => {
    await open({ share: 0.001 });
    const grown = await growthOf(metrics.otpHedges, 'alpha', 'no_budget');
    harness.simulator.setFault('no-resp', { limit: 3 });
    const sent = [
      ...(await harness.send(1, hedged)),
      ...(await harness.send(1, { ...hedged, plan: [] })),
      ...(await harness.send(1, { category: 'otp', plan: ['beta'] })),
    ];
    await settled(sent);
    expect(copies(sent)).toEqual([
      [1, 0],
      [1, 0],
      [1, 0],
    ]);
    expect(await kindsOf('hedged')).toEqual([]);
    expect(await grown()).toBe(1);
  });

  test('switched off: no copy', async () => {
    const actor = await open();
    actor.configure(carrierWith(peers.alpha, { responseTimerMs: 1_500 }), movesWith({ ...rules, enabled: false }));
    harness.simulator.setFault('no-resp', { limit: 1 });
    const sent = await harness.send(1, hedged);
    await settled(sent);
    expect(copies(sent)).toEqual([[1, 0]]);
  });
});

test('in an outage the carrier is avoided at once, and no copy is paid for', async () => {
  const actor = await open({}, 5_000);
  const stood = lostTime(harness.bus);
  harness.simulator.setFault('no-receipt');
  harness.simulator.setFault('no-resp');
  const lost = await harness.send(60, hedged);
  await until('avoided', () => actor.status.state === 'weak' && actor.status.why === 'late_answers', { everyMs: 5 });
  await stood.stop();
  // Only where the machine stood still: the first few were written alone then, and looked like a few late answers.
  const paid = (await kindsOf('hedged')).length;
  expect(paid).toBeLessThan(stood.lostMs() > 100 ? 25 : 1);
  const moved = await harness.send(10, hedged);
  await until('at beta', () => moved.every(({ nonce }) => peers.beta.nonceCount(nonce) === 1));
  expect(await settled(moved)).toEqual({ delivered: 10 });
  expect(copies(moved)).toEqual(moved.map(() => [0, 1]));
  expect(await kindsOf('hedged')).toHaveLength(paid);
  // At alpha, or moved to beta before they were written.
  const counted = copies(lost);
  expect(counted.filter(([a, b]) => (a ?? 0) > 1 || (b ?? 0) > 1)).toEqual([]);
  expect(counted.filter(([a, b]) => a === 1 && b === 1)).toHaveLength(paid);
});

describe('the carriers’ process dies between the first copy and the second', () => {
  /** A record of alpha with an intent, and the decision to hedge it `agoMs` ago: nobody knows whether it was published. */
  async function leftBehind(agoMs: number): Promise<SentMessage> {
    await openPeers();
    const [sent] = await harness.send(1, { ...hedged, category: 'otp' });
    const atMs = systemClock.nowMs() - agoMs;
    const message = messageWith({ ...hedged, messageId: sent!.messageId as Message['messageId'] });
    const events = new EventWriter(harness.publisher);
    const write = (kind: EventKind, error: string | null) =>
      new Promise<boolean>((resolve) =>
        events.write(eventOfMessage(message, { kind, attempt: 1, error, atMs }), resolve, true),
      );
    await write('intent', null);
    await write('hedged', 'to beta: no_response');
    return sent!;
  }
  const start = () => peers.actors(rules);

  test('after the decision: the second is sent, the first is not sent again', async () => {
    const sent = await leftBehind(100);
    await start();
    expect(await settled([sent])).toEqual({ delivered: 1 });
    expect(copies([sent])).toEqual([[0, 1]]);
    expect(await kindsOf('unknown')).toMatchObject([{ carrier: 'alpha', error: 'no_outcome_after_restart' }]);
  });

  test('after the second was published too: it is there once', async () => {
    const sent = await leftBehind(100);
    const copy = messageWith({
      ...hedged,
      messageId: sent.messageId as Message['messageId'],
      body: { text: `hello #${sent.nonce}#` },
      ...{ carrier: 'beta', hop: 1, plan: [], hedge: 'copy' },
    });
    const subject = messageSubject('otp', 'beta', copy.accountId);
    await harness.publisher.publishOne(subject, encodeMessage(copy, bodyCipher(bodyKey)), `${sent.messageId}.1`);
    await start();
    expect(await settled([sent])).toEqual({ delivered: 1 });
    expect(copies([sent])).toEqual([[0, 1]]);
  });

  test('long ago: nothing is sent on a guess, and the message is unknown', async () => {
    const sent = await leftBehind(limits.bus.duplicateWindowMs);
    await start();
    expect(await settled([sent])).toEqual({ unknown: 1 });
    expect(copies([sent])).toEqual([[0, 0]]);
  });

  test('killed again and again under load: nothing lost, and no more than one copy at each carrier', async () => {
    await openPeers();
    const carriers = [
      carrierWith(harness.simulator, { responseTimerMs: 1_500 }),
      carrierWith(peers.beta, { name: 'beta' }),
    ];
    let host = await harness.host(carriers);
    const first = await harness.send(150, hedged);
    await until('the first are delivered', async () => (await peers.countsOf(first))['delivered'] === 150);
    const sent: SentMessage[] = [];
    for (let round = 1; round <= 3; round += 1) {
      harness.simulator.setFault('no-resp', { limit: 8 });
      sent.push(...(await harness.send(80, hedged)));
      const seen = (await kindsOf('hedged')).length;
      await until('one is hedged', async () => (await kindsOf('hedged')).length > seen || round > 1, { everyMs: 5 });
      await host.kill9();
      host = await harness.host(carriers);
    }
    const counts = await settled([...first, ...sent]);
    expect(Object.keys(counts).filter((status) => status !== 'delivered' && status !== 'unknown')).toEqual([]);
    const all = copies(sent);
    expect(all.filter(([a, b]) => a > 1 || b > 1)).toEqual([]);
    const states = await statesOf(harness.bus);
    const never = sent.filter((_, at) => all[at]![0] === 0 && all[at]![1] === 0);
    expect(never.filter(({ messageId }) => states.get(messageId)?.status !== 'unknown')).toEqual([]);
    const isHedged = new Set((await kindsOf('hedged')).map(({ messageId }) => messageId));
    expect(isHedged.size).toBeGreaterThan(0);
    // Who has two was hedged.
    expect(sent.filter(({ messageId }, at) => all[at]![1] > 0 && !isHedged.has(messageId))).toEqual([]);
  });
});

// One-time passwords whose carrier accepts them and sends no receipt in its usual time: two simulators, two actors, a real
// nats-server. Counted at both SMSC peers: a second copy when the budget has one, at most one, never a third, whatever is
// killed.
import { afterEach, describe, expect, test } from 'vitest';
import { hopsOf } from '../../../../analytics/queries/hops.ts';
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
import { carrierWith } from '../../../support/carrier-harness.ts';
import { bodyKey } from '../../../support/host-process.ts';
import { type SentMessage, statesOf } from '../../../support/invariant.ts';
import { messageWith } from '../../../support/messages.ts';
import { plainWire } from '../../../support/plain-wire.ts';
import { until } from '../../../support/until.ts';
import { type HedgingPeers, growthOf, hedged, movesWith, openHedgingPeers, silent } from './hedging-peers.ts';

let peers: HedgingPeers;
afterEach(() => peers.close());

const rules: HedgingRules = {
  ...{ enabled: true, share: 0.25, control: 0.1 },
  ...{ responseFloorMs: 10_000, receipts: true, receiptFloorMs: 250 },
};
/** With so many receipts a carrier's usual time is known. */
const enough = limits.otpHedging.receiptTimes.countMin + 10;

/** Both carriers; alpha has sent enough receipts, and has a budget from as many sends. */
async function open(changes: Partial<HedgingRules> = {}, more: Parameters<HedgingPeers['actors']>[1] = {}) {
  peers = await openHedgingPeers({ magic: true });
  const actor = await peers.actors({ ...rules, ...changes }, more);
  await peers.learn(enough);
  return actor;
}

describe('without a receipt in the usual time', () => {
  test('a second copy goes to the next carrier: delivered there, one copy at each, and no record is left', async () => {
    await open();
    const grown = await growthOf(metrics.otpHedges, 'alpha', 'sent');
    const sent = await peers.sendTo(silent, 3);
    expect(await peers.settled(sent)).toEqual({ delivered: 3 });
    await peers.noneIsLeft();
    expect(peers.copies(sent)).toEqual(sent.map(() => [1, 1]));
    const events = await peers.kindsOf('hedged');
    expect(events).toHaveLength(3);
    expect(events[0]).toMatchObject({ carrier: 'alpha', hop: 0, error: 'to beta: no_receipt' });
    expect(await grown()).toBe(3);
    expect(hopsOf(await peers.eventsAbout(sent[0]!))).toMatchObject([
      { carrier: 'alpha', hop: 0, status: 'submitted', hedgedBy: null },
      { carrier: 'beta', hop: 1, status: 'delivered', hedgedBy: 'receipt' },
    ]);
  });

  test('those whose receipt comes in time get none', async () => {
    await open();
    const sent = await peers.sendTo('4321', 20);
    expect(await peers.settled(sent)).toEqual({ delivered: 20 });
    await peers.noneIsLeft();
    expect(peers.copies(sent)).toEqual(sent.map(() => [1, 0]));
    expect(await peers.kindsOf('hedged')).toEqual([]);
  });

  test('the control group is noted and gets no copy', async () => {
    await open();
    const sent = await peers.sendTo(silent, 2, { hedge: 'control' });
    await until('noted', async () => (await peers.kindsOf('hedged')).length === 2);
    expect((await peers.kindsOf('hedged')).map(({ error }) => error)).toEqual([
      'control group: no_receipt',
      'control group: no_receipt',
    ]);
    await peers.noneIsLeft();
    expect(peers.copies(sent)).toEqual(sent.map(() => [1, 0]));
    expect(await peers.countsOf(sent)).toEqual({ submitted: 2 });
  });

  test('no copy without a budget, without another carrier, with too little time left, and of what is no POST /v1/otp', async () => {
    await open({ share: 0.001 });
    const grown = await growthOf(metrics.otpHedges, 'alpha', 'no_budget');
    const { hedge: _, ...ordinary } = hedged;
    const sent = [
      ...(await peers.sendTo(silent, 1, { validUntilMs: systemClock.nowMs() + 3 * rules.receiptFloorMs })),
      ...(await peers.sendTo(silent, 1)),
      ...(await peers.sendTo(silent, 1, { plan: [] })),
      ...(await peers.harness.send(1, { ...ordinary, recipient: `+8801799990005` })),
    ];
    await until('one is refused', async () => (await grown()) > 0);
    await peers.noneIsLeft();
    expect(peers.copies(sent)).toEqual(sent.map(() => [1, 0]));
    expect(await grown()).toBe(1);
    expect(await peers.kindsOf('hedged')).toEqual([]);
  });

  test('no copy with an operator prefix that gets no receipts', async () => {
    await open({}, { more: { operatorPrefixOf: (to) => to.slice(-4) } });
    await getsNone(silent);
  });

  test.each([
    ['where the carrier is asked for none', {}, { wire: { ...plainWire, registeredDelivery: 0 } }, '1234'],
    ['with the rule switched off', { receipts: false }, {}, silent],
    ['with hedging switched off', { enabled: false }, {}, silent],
  ] as const)('no copy %s', async (_, changes, ofAlpha, last) => {
    const actor = await open();
    actor.configure(carrierWith(peers.alpha, ofAlpha), movesWith({ ...rules, ...changes }));
    await getsNone(last);
  });

  /** Its records are acked at once. */
  async function getsNone(last: string): Promise<void> {
    const sent = await peers.sendTo(last, 5);
    await until('submitted', async () => (await peers.countsOf(sent))['submitted'] === 5);
    await peers.noneIsLeft();
    expect(peers.copies(sent)).toEqual(sent.map(() => [1, 0]));
    expect(await peers.kindsOf('hedged')).toEqual([]);
  }
});

test('in an outage of receipts few copies are paid for, and then the carrier is avoided', async () => {
  const actor = await open();
  peers.alpha.setFault('no-receipt');
  const lost: SentMessage[] = [];
  const isAvoided = () => actor.status.state === 'weak' && actor.status.why === 'late_receipts';
  await until(
    'avoided',
    async () => {
      if (!isAvoided()) lost.push(...(await peers.sendTo('1234', 4)));
      return isAvoided();
    },
    { everyMs: 25 },
  );
  await peers.noneIsLeft();
  const paid = (await peers.kindsOf('hedged')).length;
  // Four become late at a time, and the fifth in a row shows the outage.
  expect(paid).toBeLessThanOrEqual(limits.otpHedging.lateInARow - 1);
  const all = peers.copies(lost);
  expect(all.filter(([a, b]) => a + b > 1)).toHaveLength(paid);
  expect(all.filter(([a, b]) => a > 1 || b > 1)).toEqual([]);
  const moved = await peers.sendTo('1234', 10);
  expect(await peers.settled(moved)).toEqual({ delivered: 10 });
  expect(peers.copies(moved)).toEqual(moved.map(() => [0, 1]));
  expect((await peers.kindsOf('hedged')).length).toBe(paid);
});

describe('the carriers’ process dies after the first copy was accepted', () => {
  /** A record of alpha that it has accepted, and the decision to hedge it `agoMs` ago; not known whether it was published. */
  async function leftBehind(agoMs: number | null): Promise<SentMessage> {
    peers = await openHedgingPeers();
    const { harness } = peers;
    const [sent] = await harness.send(1, hedged);
    const atMs = systemClock.nowMs() - (agoMs ?? 0);
    const message = messageWith({ ...hedged, messageId: sent!.messageId as Message['messageId'] });
    const events = new EventWriter(harness.publisher);
    const write = (kind: EventKind, error: string | null, carrierMessageId: string | null = null) =>
      new Promise<boolean>((resolve) => {
        const draft = { kind, attempt: 1, error, segment: kind === 'submitted' ? 1 : 0, carrierMessageId, atMs };
        events.write(eventOfMessage(message, draft), resolve, true);
      });
    await write('intent', null);
    await write('submitted', null, '4711');
    if (agoMs !== null) await write('hedged', 'to beta: no_receipt');
    return sent!;
  }

  test('before the decision: it is only acked, and its receipt may come', async () => {
    const sent = await leftBehind(null);
    await peers.actors(rules);
    await peers.noneIsLeft();
    expect(peers.copies([sent])).toEqual([[0, 0]]);
    expect(await peers.countsOf([sent])).toEqual({ submitted: 1 });
  });

  test('after the decision: the second is sent once, the first is not sent again', async () => {
    const sent = await leftBehind(100);
    await peers.actors(rules);
    expect(await peers.settled([sent])).toEqual({ delivered: 1 });
    await peers.noneIsLeft();
    expect(peers.copies([sent])).toEqual([[0, 1]]);
  });

  test('after the second was published too: it is there once', async () => {
    const sent = await leftBehind(100);
    const copy = messageWith({
      ...hedged,
      messageId: sent.messageId as Message['messageId'],
      body: { text: `hello #${sent.nonce}#` },
      ...{ carrier: 'beta', hop: 1, plan: [], hedge: 'copy' },
    });
    const record = encodeMessage(copy, bodyCipher(bodyKey));
    await peers.harness.publisher.publishOne(
      messageSubject('otp', 'beta', copy.accountId),
      record,
      `${sent.messageId}.1`,
    );
    await peers.actors(rules);
    expect(await peers.settled([sent])).toEqual({ delivered: 1 });
    await peers.noneIsLeft();
    expect(peers.copies([sent])).toEqual([[0, 1]]);
  });

  test('long ago: nothing is sent on a guess, and the first copy decides', async () => {
    const sent = await leftBehind(limits.bus.duplicateWindowMs);
    await peers.actors(rules);
    await peers.noneIsLeft();
    expect(peers.copies([sent])).toEqual([[0, 0]]);
    expect(await peers.countsOf([sent])).toEqual({ submitted: 1 });
    expect(await peers.kindsOf('unknown')).toMatchObject([{ carrier: 'beta', hop: 1, error: 'hedge_not_sent' }]);
  });

  test('killed again and again while copies are decided: nothing lost, and no more than one copy at each carrier', async () => {
    peers = await openHedgingPeers({ magic: true });
    const carriers = [carrierWith(peers.alpha), carrierWith(peers.beta, { name: 'beta' })];
    let host = await peers.harness.host(carriers);
    const sent: SentMessage[] = [];
    for (let round = 1; round <= 3; round += 1) {
      // Receipts and a budget are learnt again by each process.
      await peers.learn(enough);
      const seen = (await peers.kindsOf('hedged')).length;
      // One more at once would look like an outage.
      sent.push(...(await peers.sendTo(silent, limits.otpHedging.lateInARow - 1)));
      await until('one is hedged', async () => (await peers.kindsOf('hedged')).length > seen, { everyMs: 5 });
      await host.kill9();
      host = await peers.harness.host(carriers);
    }
    await peers.noneIsLeft();
    const isHedged = new Set((await peers.kindsOf('hedged')).map(({ messageId }) => messageId));
    /** At beta when the process died: known as such, and nothing of it is sent again. */
    const unclear = async () =>
      new Set((await peers.kindsOf('unknown')).filter(({ hop }) => hop === 1).map(({ messageId }) => messageId));
    await until('every hedged one is delivered, or unclear', async () => {
      const [states, isUnclear] = [await statesOf(peers.harness.bus), await unclear()];
      return [...isHedged].every((id) => states.get(id)?.status === 'delivered' || isUnclear.has(id));
    });
    const isUnclear = await unclear();
    const all = peers.copies(sent);
    expect(all.filter(([a, b]) => a !== 1 || b > 1)).toEqual([]);
    // Who has two was hedged, and who was hedged has two.
    const wrong = sent.filter(({ messageId }, at) => {
      if (all[at]![1] === 1) return !isHedged.has(messageId);
      return isHedged.has(messageId) && !isUnclear.has(messageId);
    });
    expect(wrong).toEqual([]);
    expect(isHedged.size).toBeGreaterThanOrEqual(3);
  });
});

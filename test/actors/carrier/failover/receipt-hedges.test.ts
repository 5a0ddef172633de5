// One-time passwords whose carrier accepts them and sends no receipt in its usual time: two simulators, two actors, a real
// nats-server. Counted at both SMSC peers: a second copy when the budget has one, at most one, never a third, whatever is
// killed; and the copy that is not needed any more is taken back.
import { afterEach, describe, expect, test } from 'vitest';
import type { CarrierActorParts } from '../../../../actors/carrier/assemble.ts';
import { hopsOf } from '../../../../analytics/queries/hops.ts';
import { EventWriter } from '../../../../cluster/bus/event-writer.ts';
import { messageSubject } from '../../../../cluster/bus/subjects.ts';
import type { CarrierConfig } from '../../../../config/configuration.ts';
import { type EventKind, eventOfMessage } from '../../../../model/delivery-event.ts';
import type { Message } from '../../../../model/message.ts';
import { bodyCipher } from '../../../../model/records/body-cipher.ts';
import { encodeMessage } from '../../../../model/records/message-record.ts';
import { isTerminal } from '../../../../model/status.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { limits } from '../../../../platform/limits.ts';
import { metrics } from '../../../../platform/telemetry.ts';
import type { HedgingRules } from '../../../../policy/otp-hedging/contract.ts';
import { buildReceiptText } from '../../../../smpp/receipt-text.ts';
import { parseLatency } from '../../../../smpp/simulator/latency.ts';
import { type Simulator, startSimulator } from '../../../../smpp/simulator/simulator.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { bodyKey } from '../../../support/host-process.ts';
import { type SentMessage, eventsOf, statesOf } from '../../../support/invariant.ts';
import { messageWith } from '../../../support/messages.ts';
import { plainWire } from '../../../support/plain-wire.ts';
import { until } from '../../../support/until.ts';

let harness: CarrierHarness;
let beta: Simulator;
afterEach(async () => {
  await harness.stop();
  await beta.close();
});

const rules: HedgingRules = {
  ...{ enabled: true, share: 0.25, control: 0.1 },
  ...{ responseFloorMs: 10_000, receipts: true, receiptFloorMs: 250 },
};
const hedged: Partial<Message> = { category: 'otp', plan: ['beta'], hedge: 'may' };
const moves = (changes: Partial<HedgingRules> = {}) => ({
  ...{ otpFailoverAfterMs: 60_000, othersFailoverAfterMs: 60_000 },
  hedging: { ...rules, ...changes },
});

/** Alpha knows magic numbers: no receipt ever, and one after half a minute. */
const [silent, slow] = ['0005', '0004'];
let nth = 0;
const numberWith = (last: string) => `+88017${String((nth += 1)).padStart(4, '0')}${last}`;

async function openPeers(): Promise<void> {
  harness = await openCarrierHarness({ magic: true });
  beta = await startSimulator({ magic: false, latency: parseLatency('fixed:20')!, response: parseLatency('fixed:0')! });
}

type Opening = {
  readonly rules?: Partial<HedgingRules>;
  readonly alpha?: Partial<CarrierConfig>;
  readonly beta?: Parameters<typeof carrierWith>[1];
  readonly more?: Partial<CarrierActorParts>;
};

/** With so many receipts a carrier's usual time is known. */
const enough = limits.otpHedging.receiptTimes.countMin + 10;

/** Both carriers; alpha has sent enough receipts, and has a budget from as many sends. */
async function open({ rules: changes = {}, alpha = {}, beta: ofBeta = {}, more = {} }: Opening = {}) {
  await openPeers();
  const args = [systemClock, moves(changes), undefined, undefined] as const;
  const { actor } = await harness.actor(carrierWith(harness.simulator, alpha), ...args, more);
  await harness.actor(carrierWith(beta, { name: 'beta', ...ofBeta }), ...args);
  const first = await sendTo('1234', enough);
  await until('the first are delivered', async () => (await countsOf(first))['delivered'] === enough);
  return actor;
}

async function sendTo(last: string, count: number, changes: Partial<Message> = {}): Promise<SentMessage[]> {
  const each = Array.from({ length: count }, () =>
    harness.send(1, { ...hedged, recipient: numberWith(last), ...changes }),
  );
  return (await Promise.all(each)).flat();
}

async function countsOf(sent: readonly SentMessage[]): Promise<Record<string, number>> {
  const states = await statesOf(harness.bus);
  const counts: Record<string, number> = {};
  for (const { messageId } of sent) {
    const status = states.get(messageId)?.status ?? 'none';
    counts[status] = (counts[status] ?? 0) + 1;
  }
  return counts;
}
const settled = (sent: readonly SentMessage[]) =>
  until('every message terminal', async () => {
    const counts = await countsOf(sent);
    const isOver = Object.keys(counts).every((status) => status !== 'none' && isTerminal(status as never));
    return isOver && counts;
  });
const copies = (sent: readonly SentMessage[]) =>
  sent.map(({ nonce }) => [harness.simulator.nonceCount(nonce), beta.nonceCount(nonce)]);
const kindsOf = async (kind: EventKind) => (await eventsOf(harness.bus)).filter((each) => each.kind === kind);
const eventsAbout = async ({ messageId }: SentMessage) =>
  (await eventsOf(harness.bus)).filter((each) => each.messageId === messageId);
const summed = async (metric: typeof metrics.otpHedges, carrier: string, result: string) =>
  (await metric.get()).values
    .filter(({ labels }) => labels.carrier === carrier && labels.result === result)
    .reduce((sum, { value }) => sum + value, 0);
const noneIsLeft = () =>
  until('no record is left', async () => (await harness.bus.manager.streams.info('MT_OTP')).state.messages === 0);

describe('without a receipt in the usual time', () => {
  test('a second copy goes to the next carrier: delivered there, one copy at each, and no record is left', async () => {
    await open();
    const before = await summed(metrics.otpHedges, 'alpha', 'sent');
    const sent = await sendTo(silent!, 3);
    expect(await settled(sent)).toEqual({ delivered: 3 });
    expect(copies(sent)).toEqual([
      [1, 1],
      [1, 1],
      [1, 1],
    ]);
    const events = await kindsOf('hedged');
    expect(events).toHaveLength(3);
    expect(events[0]).toMatchObject({ carrier: 'alpha', hop: 0, error: 'to beta: no_receipt' });
    expect((await summed(metrics.otpHedges, 'alpha', 'sent')) - before).toBe(3);
    const [of] = await Promise.all(sent.map(eventsAbout));
    expect(hopsOf(of!)).toMatchObject([
      { carrier: 'alpha', hop: 0, status: 'submitted', hedgedBy: null },
      { carrier: 'beta', hop: 1, status: 'delivered', hedgedBy: 'receipt' },
    ]);
    await noneIsLeft();
  });

  test('those whose receipt comes in time get none', async () => {
    await open();
    const sent = await sendTo('4321', 20);
    expect(await settled(sent)).toEqual({ delivered: 20 });
    await noneIsLeft();
    expect(copies(sent)).toEqual(sent.map(() => [1, 0]));
    expect(await kindsOf('hedged')).toEqual([]);
  });

  test('the control group is noted and gets no copy', async () => {
    await open();
    const sent = await sendTo(silent!, 2, { hedge: 'control' });
    await until('noted', async () => (await kindsOf('hedged')).length === 2);
    expect((await kindsOf('hedged')).map(({ error }) => error)).toEqual([
      'control group: no_receipt',
      'control group: no_receipt',
    ]);
    await noneIsLeft();
    expect(copies(sent)).toEqual([
      [1, 0],
      [1, 0],
    ]);
    expect(await countsOf(sent)).toEqual({ submitted: 2 });
  });

  test('no copy without a budget, without another carrier, with too little time left, and of what is no POST /v1/otp', async () => {
    await open({ rules: { share: 0.001 } });
    const before = await summed(metrics.otpHedges, 'alpha', 'no_budget');
    const soon = { validUntilMs: systemClock.nowMs() + 3 * 250 };
    const sent = [
      ...(await sendTo(silent!, 1, soon)),
      ...(await sendTo(silent!, 1)),
      ...(await sendTo(silent!, 1, { plan: [] })),
      ...(await harness.send(1, { category: 'otp', plan: ['beta'], recipient: numberWith(silent!) })),
    ];
    await until('one is refused', async () => (await summed(metrics.otpHedges, 'alpha', 'no_budget')) > before);
    await noneIsLeft();
    expect(copies(sent)).toEqual(sent.map(() => [1, 0]));
    expect((await summed(metrics.otpHedges, 'alpha', 'no_budget')) - before).toBe(1);
    expect(await kindsOf('hedged')).toEqual([]);
  });

  test.each([
    ['a carrier that is asked for none', { alpha: { wire: { ...plainWire, registeredDelivery: 0 } } }, '1234'],
    ['an operator prefix that gets none', { more: { operatorPrefixOf: (to: string) => to.slice(-4) } }, '0005'],
    ['the rule switched off', { rules: { receipts: false } }, '0005'],
  ])('no copy with %s: its records are acked at once', async (_, opening, last) => {
    await openPeers();
    const args = [systemClock, moves(), undefined, undefined] as const;
    const { alpha = {}, more = {}, rules: changes } = opening as Opening;
    const { actor } = await harness.actor(carrierWith(harness.simulator), ...args, more);
    await harness.actor(carrierWith(beta, { name: 'beta' }), ...args);
    const first = await sendTo('1234', enough);
    await until('the first are delivered', async () => (await countsOf(first))['delivered'] === enough);
    actor.configure(carrierWith(harness.simulator, alpha), moves(changes));
    const sent = await sendTo(last, 5);
    await until('submitted', async () => ((await countsOf(sent))['submitted'] ?? 0) === 5);
    await noneIsLeft();
    expect(copies(sent)).toEqual(sent.map(() => [1, 0]));
    expect(await kindsOf('hedged')).toEqual([]);
  });
});

test('in an outage of receipts few copies are paid for, and then the carrier is avoided', async () => {
  const actor = await open();
  harness.simulator.setFault('no-receipt');
  const lost: SentMessage[] = [];
  const isAvoided = () => actor.status.state === 'weak' && actor.status.why === 'late_receipts';
  await until(
    'avoided',
    async () => {
      if (!isAvoided()) lost.push(...(await sendTo('1234', 4)));
      return isAvoided();
    },
    { everyMs: 25 },
  );
  // The health looks five times a second: what is late until then is no reason for copies either.
  await noneIsLeft();
  const paid = (await kindsOf('hedged')).length;
  // A fifth of the last hundred, of which four become late at a time.
  expect(paid).toBeLessThanOrEqual(24 + 4);
  const all = copies(lost);
  expect(all.filter(([a, b]) => a! + b! > 1)).toHaveLength(paid);
  expect(all.filter(([a, b]) => a! > 1 || b! > 1)).toEqual([]);
  const moved = await sendTo('1234', 10);
  expect(await settled(moved)).toEqual({ delivered: 10 });
  expect(copies(moved)).toEqual(moved.map(() => [0, 1]));
  expect((await kindsOf('hedged')).length).toBe(paid);
});

describe('the copy that is not needed any more', () => {
  const cancels = { wire: { ...plainWire, cancelSm: true } };

  test('is cancelled at its carrier, with the id and the numbers of its submit: the message stays delivered', async () => {
    await open({ alpha: cancels });
    const [sent] = await sendTo(slow!, 1);
    expect(await settled([sent!])).toEqual({ delivered: 1 });
    await until('the receipt DELETED', async () =>
      (await eventsAbout(sent!)).some(({ error }) => error?.startsWith('receipt_deleted') === true),
    );
    expect(harness.simulator.stats().cancels).toEqual({ total: 1, canceled: 1 });
    const events = await eventsAbout(sent!);
    expect(events.filter(({ kind }) => kind === 'canceled')).toMatchObject([
      { carrier: 'alpha', hop: 0, error: 'hedge_not_needed' },
    ]);
    expect((await statesOf(harness.bus)).get(sent!.messageId)).toMatchObject({ status: 'delivered', carrier: 'beta' });
    expect(hopsOf(events)).toMatchObject([
      { carrier: 'alpha', status: 'canceled' },
      { carrier: 'beta', status: 'delivered', hedgedBy: 'receipt' },
    ]);
    expect(copies([sent!])).toEqual([[1, 1]]);
  });

  test('stays where the carrier refuses, and nothing else happens', async () => {
    await open({ alpha: cancels });
    const before = await summed(metrics.otpHedgeCancels, 'alpha', 'refused');
    harness.simulator.setFault('cancel-fail');
    const sent = await sendTo(slow!, 2);
    expect(await settled(sent)).toEqual({ delivered: 2 });
    await until(
      'both are refused',
      async () => (await summed(metrics.otpHedgeCancels, 'alpha', 'refused')) - before === 2,
    );
    expect(harness.simulator.stats().cancels).toEqual({ total: 2, canceled: 0 });
    expect(await kindsOf('canceled')).toEqual([]);
    const more = await sendTo('1234', 5);
    expect(await settled(more)).toEqual({ delivered: 5 });
  });

  test('is left alone at a carrier without cancel_sm', async () => {
    await open();
    const sent = await sendTo(slow!, 2);
    expect(await settled(sent)).toEqual({ delivered: 2 });
    await noneIsLeft();
    expect(harness.simulator.stats().cancels.total).toBe(0);
  });

  test('is cancelled at the second carrier when the first one delivers after all', async () => {
    await openPeers();
    await beta.close();
    // Beta's own receipts take long.
    beta = await startSimulator({ magic: false, latency: parseLatency('fixed:30000')! });
    const args = [systemClock, moves(), undefined, undefined] as const;
    await harness.actor(carrierWith(harness.simulator), ...args);
    await harness.actor(carrierWith(beta, { name: 'beta', ...cancels }), ...args);
    const first = await sendTo('1234', enough);
    await until('the first are delivered', async () => (await countsOf(first))['delivered'] === enough);
    const [sent] = await sendTo(silent!, 1);
    await until('the copy is there', () => beta.nonceCount(sent!.nonce) === 1);
    await deliverLate(sent!);
    expect(await settled([sent!])).toEqual({ delivered: 1 });
    await until('cancelled', () => beta.stats().cancels.canceled === 1);
    await until(
      'the copy is known as cancelled',
      async () => hopsOf(await eventsAbout(sent!))[1]?.status === 'canceled',
    );
    expect((await statesOf(harness.bus)).get(sent!.messageId)).toMatchObject({ status: 'delivered', carrier: 'alpha' });
  });

  test('is not sent at all when it still waits for the second carrier', async () => {
    await open({ beta: { responseTimerMs: 2_000, bind: { window: 1, count: 1 } } });
    const before = await summed(metrics.otpHedgeCancels, 'beta', 'not_sent');
    // The only slot of beta's window waits for an answer that does not come.
    beta.setFault('no-resp', { limit: 1 });
    const subject = messageSubject('otp', 'beta', messageWith().accountId);
    const blocker = messageWith({ category: 'otp', carrier: 'beta', plan: [], body: { text: 'first #zzzz#' } });
    await harness.publisher.publishOne(subject, encodeMessage(blocker, bodyCipher(bodyKey)), `${blocker.messageId}.0`);
    await until('the window is full', () => beta.nonceCount('zzzz') === 1);
    const [sent] = await sendTo(silent!, 1);
    await until('hedged', async () => (await kindsOf('hedged')).length === 1);
    await deliverLate(sent!);
    expect(await settled([sent!])).toEqual({ delivered: 1 });
    await until('not sent', async () => (await summed(metrics.otpHedgeCancels, 'beta', 'not_sent')) - before === 1);
    await noneIsLeft();
    expect(copies([sent!])).toEqual([[1, 0]]);
    expect(hopsOf(await eventsAbout(sent!))).toMatchObject([
      { carrier: 'alpha', status: 'delivered' },
      { carrier: 'beta', status: 'canceled', hedgedBy: 'receipt' },
    ]);
  });

  /** The receipt of alpha that did not come. */
  async function deliverLate(sent: SentMessage): Promise<void> {
    const events = await eventsAbout(sent);
    const { carrierMessageId, recipient, sender } = events.find(({ kind, hop }) => kind === 'submitted' && hop === 0)!;
    const nowMs = systemClock.nowMs();
    const times = { submittedAtMs: nowMs, doneAtMs: nowMs };
    const text = {
      carrierMessageId: carrierMessageId!,
      state: 'delivered',
      errorCode: '000',
      ...times,
      text: '',
    } as const;
    harness.simulator.deliver({
      ...{ sourceTon: 1, sourceNpi: 1, source: recipient.slice(1) },
      ...{ destinationTon: 5, destinationNpi: 0, destination: sender },
      ...{ esmClass: 0x04, registeredDelivery: 0, dataCoding: 0 },
      octets: Buffer.from(buildReceiptText(text), 'latin1'),
    });
  }
});

describe('the carriers’ process dies after the first copy was accepted', () => {
  /** A record of alpha that it has accepted, and the decision to hedge it `agoMs` ago; not known whether it was published. */
  async function leftBehind(agoMs: number | null): Promise<SentMessage> {
    await openPeers();
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
  const start = async () => {
    await harness.actor(carrierWith(harness.simulator), systemClock, moves());
    await harness.actor(carrierWith(beta, { name: 'beta' }), systemClock, moves());
  };

  test('before the decision: it is only acked, and its receipt may come', async () => {
    const sent = await leftBehind(null);
    await start();
    await noneIsLeft();
    expect(copies([sent])).toEqual([[0, 0]]);
    expect(await countsOf([sent])).toEqual({ submitted: 1 });
  });

  test('after the decision: the second is sent once, the first is not sent again', async () => {
    const sent = await leftBehind(100);
    await start();
    expect(await settled([sent])).toEqual({ delivered: 1 });
    await noneIsLeft();
    expect(copies([sent])).toEqual([[0, 1]]);
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
    await noneIsLeft();
    expect(copies([sent])).toEqual([[0, 1]]);
  });

  test('long ago: nothing is sent on a guess, and the first copy decides', async () => {
    const sent = await leftBehind(limits.bus.duplicateWindowMs);
    await start();
    await noneIsLeft();
    expect(copies([sent])).toEqual([[0, 0]]);
    expect(await countsOf([sent])).toEqual({ submitted: 1 });
    expect(await kindsOf('unknown')).toMatchObject([{ carrier: 'beta', hop: 1, error: 'hedge_not_sent' }]);
  });

  test('killed again and again while copies are decided: nothing lost, and no more than one copy at each carrier', async () => {
    await openPeers();
    const carriers = [carrierWith(harness.simulator), carrierWith(beta, { name: 'beta' })];
    let host = await harness.host(carriers);
    const sent: SentMessage[] = [];
    const usual: SentMessage[] = [];
    for (let round = 1; round <= 3; round += 1) {
      // Receipts and a budget are learnt again by each process.
      usual.push(...(await sendTo('1234', enough)));
      await until('the usual ones are delivered', async () => (await countsOf(usual))['delivered'] === usual.length);
      const seen = (await kindsOf('hedged')).length;
      sent.push(...(await sendTo(silent!, 8)));
      await until('one is hedged', async () => (await kindsOf('hedged')).length > seen, { everyMs: 5 });
      await host.kill9();
      host = await harness.host(carriers);
    }
    await noneIsLeft();
    const isHedged = new Set((await kindsOf('hedged')).map(({ messageId }) => messageId));
    const hedgedOnes = sent.filter(({ messageId }) => isHedged.has(messageId));
    /** Submitted to beta when the process died: known as such, and nothing of it is sent again. */
    const unclear = async () =>
      new Set((await kindsOf('unknown')).filter(({ hop }) => hop === 1).map(({ messageId }) => messageId));
    await until('every hedged one is delivered, or unclear', async () => {
      const [states, isUnclear] = [await statesOf(harness.bus), await unclear()];
      return hedgedOnes.every(
        ({ messageId }) => states.get(messageId)?.status === 'delivered' || isUnclear.has(messageId),
      );
    });
    const isUnclear = await unclear();
    const all = new Map(copies(sent).map((each, at) => [sent[at]!.messageId, each]));
    expect([...all.values()].filter(([a, b]) => a !== 1 || b! > 1)).toEqual([]);
    // Who has two was hedged, and who was hedged has two.
    const withOne = [...all].filter(([, [, b]]) => b === 0).map(([messageId]) => messageId);
    expect(withOne.filter((messageId) => isHedged.has(messageId) && !isUnclear.has(messageId))).toEqual([]);
    expect(sent.filter(({ messageId }) => all.get(messageId)![1] === 1 && !isHedged.has(messageId))).toEqual([]);
    expect(isHedged.size).toBeGreaterThanOrEqual(3);
  });
});

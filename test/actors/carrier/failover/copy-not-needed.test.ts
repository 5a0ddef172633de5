// The copy of a one-time password that is not needed any more, because the other one is delivered: two simulators, two
// actors, a real nats-server. cancel_sm is counted at the SMSC peer, and its refusal changes nothing.
import { afterEach, describe, expect, test } from 'vitest';
import { hopsOf } from '../../../../analytics/queries/hops.ts';
import { messageSubject } from '../../../../cluster/bus/subjects.ts';
import { bodyCipher } from '../../../../model/records/body-cipher.ts';
import { encodeMessage } from '../../../../model/records/message-record.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { limits } from '../../../../platform/limits.ts';
import { metrics } from '../../../../platform/telemetry.ts';
import type { HedgingRules } from '../../../../policy/otp-hedging/contract.ts';
import { buildReceiptText } from '../../../../smpp/receipt-text.ts';
import { bodyKey } from '../../../support/host-process.ts';
import { type SentMessage, statesOf } from '../../../support/invariant.ts';
import { messageWith } from '../../../support/messages.ts';
import { plainWire } from '../../../support/plain-wire.ts';
import { until } from '../../../support/until.ts';
import { type HedgingPeers, growthOf, openHedgingPeers, silent, slow } from './hedging-peers.ts';

let peers: HedgingPeers;
afterEach(() => peers.close());

const rules: HedgingRules = {
  ...{ enabled: true, share: 0.25, control: 0.1 },
  ...{ responseFloorMs: 250, receipts: true, receiptFloorMs: 250 },
};
const cancels = { wire: { ...plainWire, cancelSm: true } };

async function open(carriers: Parameters<HedgingPeers['actors']>[1], betaLatency = 'fixed:20'): Promise<void> {
  peers = await openHedgingPeers({ magic: true, betaLatency });
  await peers.actors(rules, carriers);
  await peers.learn(limits.otpHedging.receiptTimes.countMin + 10);
}
const stateOf = async ({ messageId }: SentMessage) => (await statesOf(peers.harness.bus)).get(messageId);

describe('of a message that the second carrier delivers', () => {
  test('the first copy is cancelled, with the id and the numbers of its submit: the message stays delivered', async () => {
    await open({ alpha: cancels });
    const [sent] = await peers.sendTo(slow, 1);
    expect(await peers.settled([sent!])).toEqual({ delivered: 1 });
    const isDeleted = async () =>
      (await peers.eventsAbout(sent!)).some(({ error }) => error?.startsWith('receipt_deleted') === true);
    await until('the receipt DELETED', isDeleted);
    expect(peers.alpha.stats().cancels).toEqual({ total: 1, canceled: 1 });
    const events = await peers.eventsAbout(sent!);
    expect(events.filter(({ kind }) => kind === 'canceled')).toMatchObject([
      { carrier: 'alpha', hop: 0, error: 'hedge_not_needed' },
    ]);
    expect(await stateOf(sent!)).toMatchObject({ status: 'delivered', carrier: 'beta' });
    expect(hopsOf(events)).toMatchObject([
      { carrier: 'alpha', status: 'canceled' },
      { carrier: 'beta', status: 'delivered', hedgedBy: 'receipt' },
    ]);
    expect(peers.copies([sent!])).toEqual([[1, 1]]);
  });

  test('the first copy has no id before its submit_sm_resp: without one it is not cancelled', async () => {
    await open({ alpha: { ...cancels, responseTimerMs: 1_500 } });
    peers.alpha.setFault('no-resp', { limit: 1 });
    const [sent] = await peers.sendTo(slow, 1);
    expect(await peers.settled([sent!])).toEqual({ delivered: 1 });
    expect(hopsOf(await peers.eventsAbout(sent!))[1]).toMatchObject({ carrier: 'beta', hedgedBy: 'response' });
    await peers.noneIsLeft();
    expect(peers.alpha.stats().cancels.total).toBe(0);
    expect(await stateOf(sent!)).toMatchObject({ status: 'delivered', carrier: 'beta' });
  });

  test('the first copy stays where the carrier refuses, and nothing else happens', async () => {
    await open({ alpha: cancels });
    const refused = await growthOf(metrics.otpHedgeCancels, 'alpha', 'refused');
    peers.alpha.setFault('cancel-fail');
    const sent = await peers.sendTo(slow, 2);
    expect(await peers.settled(sent)).toEqual({ delivered: 2 });
    await until('both are refused', async () => (await refused()) === 2);
    expect(peers.alpha.stats().cancels).toEqual({ total: 2, canceled: 0 });
    expect(await peers.kindsOf('canceled')).toEqual([]);
    const more = await peers.sendTo('1234', 5);
    expect(await peers.settled(more)).toEqual({ delivered: 5 });
  });

  test('the first copy is left alone at a carrier without cancel_sm', async () => {
    await open({});
    const sent = await peers.sendTo(slow, 2);
    expect(await peers.settled(sent)).toEqual({ delivered: 2 });
    await peers.noneIsLeft();
    expect(peers.alpha.stats().cancels.total).toBe(0);
  });
});

describe('of a message that the first carrier delivers after all', () => {
  test('the second copy is cancelled', async () => {
    await open({ beta: cancels }, 'fixed:30000');
    const [sent] = await peers.sendTo(silent, 1);
    await until('the copy is there', () => peers.beta.nonceCount(sent!.nonce) === 1);
    await deliverLate(sent!);
    expect(await peers.settled([sent!])).toEqual({ delivered: 1 });
    await until('it is cancelled', async () => hopsOf(await peers.eventsAbout(sent!))[1]?.status === 'canceled');
    expect(peers.beta.stats().cancels).toEqual({ total: 1, canceled: 1 });
    expect(await stateOf(sent!)).toMatchObject({ status: 'delivered', carrier: 'alpha' });
  });

  test('the second copy is not sent at all when it still waits there', async () => {
    await open({ beta: { responseTimerMs: 10_000, bind: { window: 1, count: 1 } } });
    const notSent = await growthOf(metrics.otpHedgeCancels, 'beta', 'not_sent');
    // The only slot of beta's window waits for an answer that does not come.
    peers.beta.setFault('no-resp', { limit: 1 });
    const blocker = messageWith({ category: 'otp', carrier: 'beta', plan: [], body: { text: 'first #zzzz#' } });
    const subject = messageSubject('otp', 'beta', blocker.accountId);
    const record = encodeMessage(blocker, bodyCipher(bodyKey));
    await peers.harness.publisher.publishOne(subject, record, `${blocker.messageId}.0`);
    await until('the window is full', () => peers.beta.nonceCount('zzzz') === 1);
    const [sent] = await peers.sendTo(silent, 1);
    await until('hedged', async () => (await peers.kindsOf('hedged')).length === 1);
    await deliverLate(sent!);
    expect(await peers.settled([sent!])).toEqual({ delivered: 1 });
    await until('it is not sent', async () => (await notSent()) === 1);
    await peers.noneIsLeft();
    expect(peers.copies([sent!])).toEqual([[1, 0]]);
    expect(hopsOf(await peers.eventsAbout(sent!))).toMatchObject([
      { carrier: 'alpha', status: 'delivered' },
      { carrier: 'beta', status: 'canceled', hedgedBy: 'receipt' },
    ]);
  });

  /** The receipt of alpha that did not come. */
  async function deliverLate(sent: SentMessage): Promise<void> {
    const events = await peers.eventsAbout(sent);
    const { carrierMessageId, recipient, sender } = events.find(({ kind, hop }) => kind === 'submitted' && hop === 0)!;
    const nowMs = systemClock.nowMs();
    const text = buildReceiptText({
      ...{ carrierMessageId: carrierMessageId!, state: 'delivered', errorCode: '000' },
      ...{ submittedAtMs: nowMs, doneAtMs: nowMs, text: '' },
    });
    peers.alpha.deliver({
      ...{ sourceTon: 1, sourceNpi: 1, source: recipient.slice(1) },
      ...{ destinationTon: 5, destinationNpi: 0, destination: sender },
      ...{ esmClass: 0x04, registeredDelivery: 0, dataCoding: 0, octets: Buffer.from(text, 'latin1') },
    });
  }
});

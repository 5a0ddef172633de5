// A scheduled message is released twice, because the releaser died between the publish and the ack, so long ago that
// the stream would accept the second publish. Whatever became of its carrier between the two, and whatever today's
// routes say: one SMS. A real nats-server, real releasers, real actors, the real event store; counted at the simulator.
import { describe, expect, test } from 'vitest';
import { serveRemoved } from '../../../actors/removed/removed-carrier.ts';
import { RemovedCarriers } from '../../../actors/removed/removed-carriers.ts';
import { ReleaseRules } from '../../../actors/later/release-rules.ts';
import { Releasers } from '../../../actors/later/releasers.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { ensureConsumer } from '../../../cluster/bus/ensure.ts';
import { EventWriter } from '../../../cluster/bus/event-writer.ts';
import { publishLater } from '../../../cluster/bus/later.ts';
import { encodeMessage } from '../../../model/records/message-record.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { waitConsumer } from '../../../cluster/bus/streams.ts';
import { messageSubject } from '../../../cluster/bus/subjects.ts';
import { newMessageId } from '../../../model/ids.ts';
import type { CarrierState } from '../../../model/carrier-state.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import type { RoutingRules } from '../../../policy/contract.ts';
import { everyCarrierIsGood } from '../../../policy/routing/avoid.ts';
import { offer, rules } from '../../policy/rules.ts';
import { type CarrierHarness, carrierHarnessOf, carrierWith } from '../../support/carrier-harness.ts';
import { bodyKey } from '../../support/host-process.ts';
import { messageWith } from '../../support/messages.ts';

type AtEnd = (run: () => Promise<void>) => void;

const cipher = bodyCipher(bodyKey);
const rulesOf = (...carriers: string[]): RoutingRules => ({
  ...rules,
  carriers: carriers.map((name) => offer(name)),
  routes: [{ prefix: '+880', classes: [], carriers, choose: 'listed' }],
});
const left = async (harness: CarrierHarness) => {
  const streams = await Promise.all(['MT_TXN', 'SCHEDULED'].map((each) => harness.bus.manager.streams.info(each)));
  return streams.reduce((sum, { state }) => sum + state.messages, 0);
};

/** The first release is durable and its ack was lost: the record waits in SCHEDULED, delivered before. */
async function releasedOnce(harness: CarrierHarness): Promise<string> {
  const nonce = 'twice';
  const dueAtMs = systemClock.nowMs() - limits.bus.duplicateWindowMs;
  const message = messageWith({
    messageId: newMessageId(dueAtMs),
    recipient: '+8801810000001',
    body: { text: `#${nonce}#` },
    plan: ['beta'],
    scheduledAtMs: dueAtMs,
  });
  const subject = messageSubject(message.category, 'alpha', message.accountId);
  const payload = encodeMessage(message, cipher);
  // Without an id: like one that the stream has forgotten.
  expect(await harness.publisher.publishOne(subject, payload, null)).toMatchObject({ ok: true });
  const record = { subject, payload, dueAtMs, id: 'x', shardKey: 'x', cancelable: message.messageId };
  await new Promise((resolve) => publishLater(harness.publisher, record, dueAtMs, resolve));
  const { bus } = harness;
  const consumer = waitConsumer('scheduled', Math.floor(dueAtMs / 1_000));
  await ensureConsumer(bus.manager, 'SCHEDULED', consumer);
  const waiting = await bus.jetstream.consumers.get('SCHEDULED', consumer.durable_name ?? '');
  const taken = await waiting.next({ expires: 30_000 });
  expect(taken).not.toBeNull();
  taken?.nak();
  await bus.connection.flush();
  return nonce;
}

async function releaseAgain(harness: CarrierHarness, rulesNow: ReleaseRules, atEnd: AtEnd): Promise<void> {
  const publisher = new Publisher(harness.bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const events = new EventWriter(publisher);
  const releasers = new Releasers(harness.bus, { scheduled: { rules: rulesNow, events } });
  await releasers.start();
  atEnd(async () => {
    await releasers.stop();
    events.close();
    publisher.close();
  });
  await until('it is released again', async () => (await scheduled(harness)) === 0);
}
const scheduled = async (harness: CarrierHarness) =>
  (await harness.bus.manager.streams.info('SCHEDULED')).state.messages;

const healthOf = (alpha: CarrierState) => ({
  stateOf: (name: string) => (name === 'alpha' ? alpha : ('good' as const)),
  reasonOf: () => 'no_bind',
});

describe.concurrent('a message that was released long ago', () => {
  test.for(['is back before it moved anything', 'has no bind and moves the first', 'is gone from the configuration'])(
    'a second release, when the carrier of the first %s, makes no second SMS',
    { timeout: 180_000 },
    async (what, { onTestFinished }) => {
      const harness = await carrierHarnessOf(onTestFinished, {}, false);
      await harness.eventStore();
      const nonce = await releasedOnce(harness);
      const isGone = what.startsWith('is gone');
      const releaseRules = isGone
        ? new ReleaseRules(rulesOf('beta'), cipher, everyCarrierIsGood)
        : new ReleaseRules(rulesOf('alpha', 'beta'), cipher, healthOf('down'));
      await harness.actor(carrierWith(harness.simulator, { name: 'beta' }));
      await releaseAgain(harness, releaseRules, onTestFinished);
      // Its present carrier may send it before the first one is looked up.
      await until('beta has looked at what it was given', async () => (await waitingFor(harness, 'beta')) === 0);
      if (isGone) await serveGone(harness, releaseRules, onTestFinished);
      else if (what.startsWith('is back')) await harness.actor(carrierWith(harness.simulator));
      else
        await harness.actor(carrierWith({ port: 1 }), systemClock, {
          otpFailoverAfterMs: 0,
          othersFailoverAfterMs: 0,
        });
      await until('nothing waits', async () => (await left(harness)) === 0);
      expect(harness.simulator.nonceCount(nonce)).toBe(1);
    },
  );
});

const waitingFor = async (harness: CarrierHarness, carrier: string) => {
  const { state } = await harness.bus.manager.streams.info('MT_TXN', { subjects_filter: `mt.txn.${carrier}.*` });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
};

async function serveGone(harness: CarrierHarness, releaseRules: ReleaseRules, atEnd: AtEnd): Promise<void> {
  const removed = new RemovedCarriers({
    bus: harness.bus,
    isConfigured: (name) => releaseRules.isConfigured(name),
    unservedMs: 0,
    serve: (name) =>
      serveRemoved(name, {
        bus: harness.bus,
        cipher,
        carriers: everyCarrierIsGood,
        candidatesOf: (message) => releaseRules.candidatesOf(message).candidates,
        like: carrierWith(harness.simulator),
      }),
  });
  atEnd(() => removed.stop());
  await removed.look();
}

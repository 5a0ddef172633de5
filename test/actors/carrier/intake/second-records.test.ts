// A second record of a message, published when the stream had forgotten the first: by a repeat under an idempotency
// key, a release or a reroute that were begun twice. Its publisher marks it, and its consumer asks the event store (a
// real one) whether the message is further. Counted at the simulator.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { type GetMessageReply, querySubjects } from '../../../../analytics/contract.ts';
import { wasPassedOnAfter } from '../../../../actors/carrier/deduplication/was-submitted.ts';
import { attemptNumber } from '../../../../actors/carrier/in-flight/attempt.ts';
import { asRepublished } from '../../../../cluster/bus/republished.ts';
import { Releasers } from '../../../../actors/later/releasers.ts';
import { bodyCipher } from '../../../../model/records/body-cipher.ts';
import { EventWriter } from '../../../../cluster/bus/event-writer.ts';
import { ensureConsumer } from '../../../../cluster/bus/ensure.ts';
import { publishLater } from '../../../../cluster/bus/later.ts';
import { encodeMessage } from '../../../../model/records/message-record.ts';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
import { waitConsumer } from '../../../../cluster/bus/streams.ts';
import { overflowSubject, messageSubject } from '../../../../cluster/bus/subjects.ts';
import { newMessageId } from '../../../../model/ids.ts';
import { acceptedEvent, eventOfMessage } from '../../../../model/delivery-event.ts';
import type { Message } from '../../../../model/message.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { type RunningRole, startRole } from '../../../analytics/support/role.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { bodyKey } from '../../../support/host-process.ts';
import { startBus, waitingIn } from '../../../support/bus.ts';
import { messageWith } from '../../../support/messages.ts';

let harness: CarrierHarness;
let role: RunningRole | null = null;
const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-second-records-'));
afterEach(async () => {
  await role?.end('SIGKILL');
  role = null;
  await harness?.stop();
  harness = undefined as never;
  rmSync(dataDir, { recursive: true, force: true });
});

let count = 0;
/** A message that can be counted at the simulator. */
function newMessage(): { message: Message; nonce: string } {
  count += 1;
  const nonce = `s${count}`;
  const recipient = `+88018${String(10_000_000 + count)}`;
  const message = messageWith({
    messageId: newMessageId(systemClock.nowMs()),
    recipient,
    body: { text: `#${nonce}#` },
  });
  return { message, nonce };
}

/** As a second record: under an id that the stream does not know, and with the mark. */
async function putAgain(message: Message, subject?: string): Promise<void> {
  const to = subject ?? messageSubject(message.category, message.carrier, message.accountId);
  const record = encodeMessage(message, bodyCipher(bodyKey));
  expect(await harness.publisher.publishOne(to, record, null, asRepublished)).toMatchObject({ ok: true });
}

const waiting = async () => (await harness.bus.manager.streams.info('MT_TXN')).state.messages;
const nothingWaits = () => until('nothing waits', async () => (await waiting()) === 0);
const times = (nonce: string) => harness.simulator.nonceCount(nonce);
const publish = (events: EventWriter, event: ReturnType<typeof acceptedEvent>) =>
  new Promise<boolean>((resolve) => events.write(event, resolve, true));

test('is not sent when the first was, however long ago; it waits while the event store is down', async () => {
  harness = await openCarrierHarness();
  role = await startRole(harness.nats.url, dataDir);
  const first = await harness.actor(carrierWith(harness.simulator));
  const sent = await harness.send(5);
  await harness.settled(sent);
  await first.drain();
  await role.end('SIGTERM');
  role = null;
  // Nothing of it is in EVENTS any more, so that no replay knows of it.
  await harness.bus.manager.streams.purge('EVENTS');
  harness.simulator.forget();
  for (const { messageId, nonce } of sent) {
    await putAgain(messageWith({ messageId: messageId as Message['messageId'], body: { text: `hello #${nonce}#` } }));
  }
  await harness.actor(carrierWith(harness.simulator));
  const other = await harness.send(1);
  await harness.settled(other);
  expect(await waiting()).toBe(5);
  role = await startRole(harness.nats.url, dataDir);
  await nothingWaits();
  for (const { nonce } of sent) expect(times(nonce)).toBe(0);
});

test('is sent once when the first never came, and not when that was deferred or rerouted', async () => {
  harness = await openCarrierHarness();
  role = await startRole(harness.nats.url, dataDir);
  const [never, deferral, moved, back] = [newMessage(), newMessage(), newMessage(), newMessage()];
  const events = new EventWriter(harness.publisher);
  const atMs = systemClock.nowMs();
  for (const { message } of [deferral, moved, back]) await publish(events, acceptedEvent(message));
  await publish(
    events,
    eventOfMessage(deferral.message, { kind: 'deferred', attempt: 1, atMs, error: 'x', detail: 'later' }),
  );
  const to = { kind: 'rerouted', attempt: 1, atMs, error: 'to beta: no_bind', detail: '0' } as const;
  for (const { message } of [moved, back]) await publish(events, eventOfMessage(message, to));
  // Recorded, and gone from EVENTS: only the event store knows of it.
  for (const { message } of [deferral, moved, back]) {
    const question = JSON.stringify({ accountId: message.accountId, messageId: message.messageId, upToDate: true });
    await until('it is taken', async () => {
      const answer = await harness.bus.connection.request(querySubjects.get, question, { timeout: 5_000 });
      return answer.json<GetMessageReply>().result === 'found';
    });
  }
  await role.end('SIGTERM');
  await harness.bus.manager.streams.purge('EVENTS');
  role = await startRole(harness.nats.url, dataDir);
  for (const { message } of [never, deferral, moved]) await putAgain(message);
  // A rerouted one arrives at its next carrier, for the second time or not: it was not begun there.
  await putAgain({ ...back.message, hop: 1 });
  await harness.actor(carrierWith(harness.simulator));
  await until('both are sent', () => times(never.nonce) + times(back.nonce) === 2);
  expect([times(deferral.nonce), times(moved.nonce)]).toEqual([0, 0]);
});

test('is not sent by another carrier, whose own events do not have the first', async () => {
  harness = await openCarrierHarness();
  role = await startRole(harness.nats.url, dataDir);
  await harness.actor(carrierWith(harness.simulator));
  const sent = await harness.send(1);
  await harness.settled(sent);
  for (const { messageId, nonce } of sent) {
    const body = { text: `hello #${nonce}#` };
    await putAgain(messageWith({ messageId: messageId as Message['messageId'], carrier: 'beta', body }));
  }
  await harness.actor(carrierWith(harness.simulator, { name: 'beta' }));
  await nothingWaits();
  expect(sent.map(({ nonce }) => times(nonce))).toEqual([1]);
});

test('is queued behind what waits in overflow, because the first may be there, and is looked up when it comes out', async () => {
  harness = await openCarrierHarness();
  role = await startRole(harness.nats.url, dataDir);
  const { message, nonce } = newMessage();
  const overflow = overflowSubject(message.category, message.carrier, message.accountId);
  await harness.publisher.publishOne(overflow, encodeMessage(message, bodyCipher(bodyKey)), null);
  await putAgain(message);
  await harness.actor(carrierWith(harness.simulator, { tps: 50 }));
  await nothingWaits();
  expect(times(nonce)).toBe(1);
});

test('of a release that may have been made long ago is marked, and one that was begun just now is not', async () => {
  const on = await startBus();
  const { manager, jetstream } = on.bus;
  const publisher = new Publisher(on.bus);
  const ids = { old: 'old', fresh: 'fresh' };
  const nowMs = systemClock.nowMs();
  const dues = { [ids.old]: nowMs - limits.bus.duplicateWindowMs, [ids.fresh]: nowMs - 500 };
  for (const [id, dueAtMs] of Object.entries(dues)) {
    const record = { subject: 'mt.txn.alpha.0', payload: Buffer.from(id), dueAtMs, id, shardKey: id };
    await new Promise((resolve) => publishLater(publisher, record, dueAtMs, resolve));
    const consumer = waitConsumer('later', Math.floor(dueAtMs / 1_000));
    await ensureConsumer(manager, 'LATER', consumer);
    // An earlier releaser got it, and what became of that is unknown.
    const taken = await (await jetstream.consumers.get('LATER', consumer.durable_name ?? '')).next({ expires: 30_000 });
    expect(taken).not.toBeNull();
    taken?.nak();
  }
  await on.bus.connection.flush();
  const releasers = new Releasers(on.bus);
  await releasers.start();
  const released = async () => {
    const records = await waitingIn(on.bus, 'MT_TXN');
    return records.length === 2 && records;
  };
  const records = await until('both are released', released);
  const marks = records.map(({ data, header }) => [Buffer.from(data).toString(), header('Heliograph-Again')]);
  expect(Object.fromEntries(marks)).toEqual({ old: '1', fresh: '' });
  await releasers.stop();
  publisher.close();
  await on.stop();
});

describe('the record with which a message was passed on', () => {
  const anyDelays = fc.integer({ min: 0, max: 40 });
  const anyHop = fc.integer({ min: 0, max: 8 });
  test('is after every earlier record and after no later one, whatever the tries', () => {
    fc.assert(
      fc.property(
        anyHop,
        anyDelays,
        anyHop,
        anyDelays,
        fc.integer({ min: 0, max: 15 }),
        (hop, delays, on, by, tries) => {
          const passedOn = { kind: 'deferred', hop: on, attempt: attemptNumber(by, tries) } as const;
          const isBefore = hop < on || (hop === on && delays <= by);
          expect(wasPassedOnAfter({ hop, delays }, passedOn)).toBe(isBefore);
        },
      ),
    );
  });
});

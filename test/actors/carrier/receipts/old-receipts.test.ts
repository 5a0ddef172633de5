// Receipts of submits that are no longer in the actor's memory: the event store knows the submit, and while it is down
// they are parked. And receipts while nothing can be made durable: the carrier keeps them. Counted at the simulator, in
// LATER and in EVENTS; the analytics role is a real process.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { type GetMessageReply, querySubjects } from '../../../../analytics/contract.ts';
import { until } from '../../../support/until.ts';
import { type RunningRole, askStore, startRole } from '../../../analytics/support/role.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { type SentMessage, eventsOf } from '../../../support/invariant.ts';
import { messageWith } from '../../../support/messages.ts';

let harness: CarrierHarness;
let role: RunningRole | null = null;
const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-old-receipts-'));
afterEach(async () => {
  await role?.end('SIGKILL');
  role = null;
  await harness.stop();
  rmSync(dataDir, { recursive: true, force: true });
});

const kinds = async (kind: string) => (await eventsOf(harness.bus)).filter((each) => each.kind === kind);
const messagesIn = async (stream: string) => (await harness.bus.manager.streams.info(stream)).state.messages;
const receipts = () => harness.simulator.stats().receipts;
const all = (sent: readonly SentMessage[]) => sent.map(({ messageId }) => messageId).toSorted();

/** Submits, records the outcome, and leaves nothing of it in EVENTS: as when receipts take hours. */
async function submittedLongAgo(count: number): Promise<SentMessage[]> {
  harness = await openCarrierHarness({ ids: 'resp-hex-receipt-decimal', latency: 'fixed:4000' });
  role = await startRole(harness.nats.url, dataDir);
  const first = await harness.actor(carrierWith(harness.simulator));
  const sent = await harness.send(count);
  await until('all submitted', async () => (await kinds('submitted')).length === count, { everyMs: 20 });
  await first.drain();
  await until('the recorder has taken all of it', async () => {
    const asked = await Promise.all(sent.map(({ messageId }) => statusOf(messageId)));
    return asked.every((status) => status === 'submitted');
  });
  // The role writes what it has read before it ends.
  await role.end('SIGTERM');
  role = null;
  const [[recorded] = []] = await askStore(
    dataDir,
    "SELECT toUInt32(count()) FROM sms_events WHERE kind = 'submitted'",
  );
  expect(recorded).toBe(count);
  await harness.bus.manager.streams.purge('EVENTS');
  return sent;
}

async function statusOf(messageId: string): Promise<string | null> {
  const { accountId } = messageWith();
  const question = JSON.stringify({ accountId, messageId });
  const answer = await harness.bus.connection.request(querySubjects.get, question, { timeout: 5_000 });
  const reply = answer.json<GetMessageReply>();
  return reply.result === 'found' ? reply.message.status : null;
}

test('receipts of forgotten submits find them in the event store, whatever the form of the id', async () => {
  const sent = await submittedLongAgo(30);
  role = await startRole(harness.nats.url, dataDir);
  await harness.actor(carrierWith(harness.simulator));
  await until('all delivered', async () => (await kinds('delivered')).length === 30);
  expect((await kinds('delivered')).map((each) => each.messageId).toSorted()).toEqual(all(sent));
  await until('all answered', () => receipts().acked === 30);
  expect(await messagesIn('LATER')).toBe(0);
});

test('with the event store down they are parked, answered once they are durable, and matched when it is back', async () => {
  const sent = await submittedLongAgo(30);
  await harness.actor(carrierWith(harness.simulator));
  await until('all parked', async () => (await messagesIn('LATER')) === 30);
  await until('all answered', () => receipts().acked === 30);
  expect(await kinds('delivered')).toEqual([]);
  role = await startRole(harness.nats.url, dataDir);
  await until('all delivered', async () => (await kinds('delivered')).length === 30);
  expect((await kinds('delivered')).map((each) => each.messageId).toSorted()).toEqual(all(sent));
  for (const stream of ['LATER', 'INBOUND', 'DEAD']) {
    await until(`${stream} empty`, async () => (await messagesIn(stream)) === 0);
  }
});

test('while nothing can be made durable no receipt is acknowledged; the carrier keeps them, and each is counted once', async () => {
  // No receipt may come before the server is killed.
  harness = await openCarrierHarness({ latency: 'fixed:3000' });
  await harness.actor(carrierWith(harness.simulator));
  const sent = await harness.send(40);
  await until('all submitted', async () => (await kinds('submitted')).length === 40, { everyMs: 10 });
  expect(receipts().acked).toBe(0);
  await harness.nats.kill9();
  await until('all receipts sent', () => receipts().sent >= 40);
  expect(receipts().acked).toBe(0);
  await harness.nats.restart();
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 40 } });
  await until('all acknowledged', () => receipts().pending === 0 && receipts().acked >= 40);
  const ids = (await kinds('delivered')).map((each) => each.eventId);
  expect(new Set(ids).size).toBe(40);
});

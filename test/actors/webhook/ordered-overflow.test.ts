// What finds its account's share of WEBHOOKS used up, of an endpoint that gets the events of a message in their order: it reaches
// the line when everything before it has left WEBHOOKS, and nothing overtakes it.
import { afterAll, afterEach, beforeAll, beforeEach, expect, test } from 'vitest';
import { ParkedLog } from '../../../actors/webhook/delivery/parked-log.ts';
import { WebhookQueue } from '../../../actors/webhook/webhook-queue.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { parkedSubject, webhookSubject } from '../../../cluster/bus/subjects.ts';
import { type DeliveryEvent, type EventKind, eventOfMessage } from '../../../model/delivery-event.ts';
import { type AccountId, newAccountId, newMessageId } from '../../../model/ids.ts';
import { decodeWebhook } from '../../../model/records/webhook-record.ts';
import type { WebhookEndpoint, WebhookOrdering } from '../../../model/webhook-endpoint.ts';
import { systemClock } from '../../../platform/clock.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { messageWith } from '../../support/messages.ts';
import { until } from '../../support/until.ts';
import { type WebhookBus, putEndpoint, startWebhookBus } from '../../support/webhooks.ts';

const share = 2;
let bus: WebhookBus;
let publisher: Publisher;
let queue: WebhookQueue;
let accountId: AccountId;

beforeAll(async () => {
  bus = await startWebhookBus();
  publisher = new Publisher(bus.bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const { config } = await bus.bus.manager.streams.info(streamNames.webhooks);
  await bus.bus.manager.streams.update(streamNames.webhooks, { ...config, max_msgs_per_subject: share });
});
beforeEach(() => {
  accountId = newAccountId(systemClock.nowMs());
  const parked = new ParkedLog(bus.bus, publisher, defaultShares.webhook_parked, systemClock);
  queue = new WebhookQueue(bus.bus, publisher, parked, systemClock);
});
afterEach(() => queue.settled());
afterAll(async () => {
  publisher?.close();
  await bus?.stop();
});

async function endpointWith(ordering: WebhookOrdering): Promise<WebhookEndpoint> {
  return (await putEndpoint(bus.bus, { accountId, url: 'http://127.0.0.1:1/', ordering })).entry;
}
const message = () => messageWith({ accountId, messageId: newMessageId(systemClock.nowMs()) });
const eventOf = (of: ReturnType<typeof message>, kind: EventKind) =>
  eventOfMessage(of, { kind, atMs: systemClock.nowMs(), segment: 1 });
let sequence = 0;
const put = (endpoint: WebhookEndpoint, event: DeliveryEvent) =>
  new Promise<void>((resolve) => {
    const { eventId } = event;
    queue.put(endpoint, { eventId, url: null, sequence: (sequence += 1), content: { event } }, resolve);
  });

/** Ids of the events in a subject, in their order. */
async function stored(stream: string, subject: string): Promise<readonly string[]> {
  const ids: string[] = [];
  for (let seq = 1; ; ) {
    const query = { seq, next_by_subj: subject };
    const record = await bus.bus.manager.streams.getMessage(stream, query);
    if (record === null) return ids;
    ids.push(decodeWebhook(record.data).eventId);
    seq = record.seq + 1;
  }
}
const queued = ({ id }: WebhookEndpoint) => stored(streamNames.webhooks, webhookSubject(id, accountId));
const line = ({ id }: WebhookEndpoint) => stored(streamNames.webhookLog, parkedSubject(accountId, id));
/** The oldest one is delivered. */
async function take({ id }: WebhookEndpoint): Promise<void> {
  const query = { seq: 1, next_by_subj: webhookSubject(id, accountId) };
  const { streams } = bus.bus.manager;
  const first = await streams.getMessage(streamNames.webhooks, query);
  await streams.deleteMessage(streamNames.webhooks, first?.seq ?? 0, false);
}

test('with an order it waits for what was there before, and what comes later waits for it', async () => {
  const endpoint = await endpointWith('per_message');
  const [one, other] = [message(), message()];
  const [submitted, unknown, delivered] = [
    eventOf(one, 'submitted'),
    eventOf(one, 'unknown'),
    eventOf(one, 'delivered'),
  ];
  const [first, last] = [eventOf(other, 'submitted'), eventOf(other, 'delivered')];
  await put(endpoint, submitted);
  await put(endpoint, first);
  const refused = put(endpoint, unknown);
  // Until it was refused.
  await until('it was refused', () => publisher.inFlight === 0);
  await take(endpoint);
  // There is room again, and they may not pass.
  const later = [put(endpoint, delivered), put(endpoint, last)];
  const look = systemClock.monotonicMs() + 1_000;
  await until('it has looked several times', async () => {
    expect([await queued(endpoint), await line(endpoint)]).toEqual([[first.eventId], []]);
    return systemClock.monotonicMs() > look;
  });
  await take(endpoint);
  await Promise.all([refused, ...later]);
  expect(await queued(endpoint)).toEqual([]);
  expect(await line(endpoint)).toEqual([unknown, delivered, last].map(({ eventId }) => eventId));
  const next = eventOf(message(), 'submitted');
  await put(endpoint, next);
  expect(await queued(endpoint)).toEqual([next.eventId]);
});

test('events of one message that are put at once do not pass each other', async () => {
  const endpoint = await endpointWith('per_message');
  const kinds = ['submitted', 'unknown', 'delivered'] as const;
  const one = message();
  const all = kinds.map((kind) => eventOf(one, kind));
  const puts = all.map((event) => put(endpoint, event));
  await Promise.all(puts.slice(0, share));
  expect(await queued(endpoint)).toEqual(all.slice(0, share).map(({ eventId }) => eventId));
  for (let taken = 0; taken < share; taken += 1) await take(endpoint);
  await Promise.all(puts);
  expect(await line(endpoint)).toEqual(all.slice(share).map(({ eventId }) => eventId));
});

test('without an order it is in the line at once', async () => {
  const endpoint = await endpointWith('none');
  const all = Array.from({ length: share + 1 }, () => eventOf(message(), 'delivered'));
  for (const event of all) await put(endpoint, event);
  expect(await queued(endpoint)).toHaveLength(share);
  expect(await line(endpoint)).toEqual([all.at(-1)?.eventId]);
});

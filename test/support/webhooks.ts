// The delivery of webhooks on a real nats-server, with receivers on loopback: accounts and endpoints are put into the
// directory as the control role does it, and delivery events are published as a carrier's actor does it.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { HttpSender } from '../../actors/webhook/send/http-sender.ts';
import { type WebhookNode, startWebhooks } from '../../actors/webhook/webhook-node.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { readWebhookPlace } from '../../cluster/bus/webhook-place.ts';
import type { Directory, WebhookEntry } from '../../directory/contract.ts';
import { openDirectory } from '../../directory/directory.ts';
import { filledEntryName, tenantEntities } from '../../directory/tenant-entities.ts';
import { type DeliveryEvent, deliveryEvent, eventOfMessage } from '../../model/delivery-event.ts';
import { type AccountId, newAccountId, newMessageId, newWebhookEndpointId } from '../../model/ids.ts';
import { bodyCipher } from '../../model/records/body-cipher.ts';
import { newWebhookSecret, sealWebhookSecrets } from '../../model/webhook-secrets.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { parseNetworks } from '../../platform/ip-address.ts';
import { defaultShares } from '../../platform/limits-shares.ts';
import { type TestBus, startBus } from './bus.ts';
import { bodyKey } from './host-process.ts';
import { messageWith } from './messages.ts';
import { startRolesOf } from './role-child.ts';

export const webhookCipher = bodyCipher(bodyKey);

export type Received = {
  readonly id: string;
  readonly path: string;
  readonly headers: Record<string, string>;
  readonly body: string;
  readonly json: { type: string; timestamp: string; data: Record<string, unknown> };
  readonly atMs: number;
};

export type Receiver = {
  readonly url: string;
  readonly received: Received[];
  /**
   * Answers every request from now on with this; null: never; `working`: never, and it says every second that it works
   * on it (102). A function decides for each.
   */
  answer: AnswerTo;
  close(): Promise<void>;
};
type AnswerOf = { readonly status: number; readonly headers?: Record<string, string> } | 'working' | null;
type AnswerTo = (request: Received, count: number) => AnswerOf | Promise<AnswerOf>;

/** A receiver on a port of its own. `received` has every request, answered or not. */
export async function startReceiver(answer: AnswerTo = () => ({ status: 204 })): Promise<Receiver> {
  const received: Received[] = [];
  const receiver = { url: '', received, answer, close: async () => {} };
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const body = Buffer.concat(chunks).toString();
      const headers = request.headers as Record<string, string>;
      const [id = '', path] = [headers['webhook-id'], request.url ?? ''];
      const one = { id, path, headers, body, json: JSON.parse(body), atMs: systemClock.nowMs() };
      received.push(one);
      void Promise.resolve(receiver.answer(one, received.length)).then((said) => {
        if (said === 'working') {
          const stop = systemClock.every(1_000, () => response.writeProcessing());
          response.once('close', stop);
        } else if (said !== null) response.writeHead(said.status, said.headers).end();
      });
    });
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  receiver.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`;
  receiver.close = async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  };
  return receiver;
}

export async function putAccount(bus: Bus): Promise<AccountId> {
  const accountId = newAccountId(systemClock.nowMs());
  const bucket = await openBucket(bus, 'directory');
  const entry = { v: 1, accountId, name: 'Test', status: 'active', senders: [] } as const;
  await bucket.put(tenantEntities.account.nameOf(accountId), tenantEntities.account.encode(entry));
  await bucket.put(filledEntryName, '{"v":1}');
  return accountId;
}

export type PutEndpoint = { readonly entry: WebhookEntry; readonly secret: string };

type EndpointGiven = Pick<WebhookEntry, 'accountId' | 'url'> & Partial<WebhookEntry>;

/** Registers an endpoint, or changes one. */
export async function putEndpoint(bus: Bus, of: EndpointGiven): Promise<PutEndpoint> {
  const made = newEndpoint(of);
  await putEntry(bus, made.entry);
  return made;
}

/** As the directory has it a moment later. */
export function newEndpoint(of: EndpointGiven): PutEndpoint {
  const nowMs = systemClock.nowMs();
  const id = of.id ?? newWebhookEndpointId(nowMs);
  const secret = newWebhookSecret();
  const entry: WebhookEntry = {
    v: 1,
    livemode: true,
    events: ['*'],
    ordering: 'none',
    batch: null,
    sealedSecrets: sealWebhookSecrets([{ secret, untilMs: null }], id, webhookCipher),
    status: 'enabled',
    disabledReason: null,
    description: '',
    createdAtMs: nowMs,
    ...of,
    id,
  };
  return { entry, secret };
}

export async function putEntry(bus: Bus, entry: WebhookEntry): Promise<void> {
  const { webhook } = tenantEntities;
  const bucket = await openBucket(bus, 'directory');
  await bucket.put(webhook.nameOf(webhook.idOf(entry)), webhook.encode(entry));
}

/** Whether each event published so far is delivered or in WEBHOOK_LOG, as it is stored for the next process. */
export async function isHandedOver({ manager, ...bus }: Bus): Promise<boolean> {
  const { state } = await manager.streams.info(streamNames.events);
  const place = await readWebhookPlace(await openBucket({ manager, ...bus }, 'webhooks'));
  return place !== null && place.pending.size === 0 && place.position.seq >= state.last_seq;
}

/** Events that wait in lines and for retries. */
export async function waitingInLog({ manager }: Bus): Promise<number> {
  return (await manager.streams.info(streamNames.webhookLog)).state.messages;
}

/**
 * Publishes delivery events, and waits until they are durable. The first of each message has its intent before it, as a
 * carrier's actor writes it: without, the event store would be asked what came before.
 */
export function eventPublisher(bus: Bus): { publish(events: readonly DeliveryEvent[]): Promise<void>; close(): void } {
  const publisher = new Publisher(bus);
  const writer = new EventWriter(publisher);
  const begun = new Set<string>();
  const withIntent = (event: DeliveryEvent): readonly DeliveryEvent[] => {
    const { kind, messageId, atMs } = event;
    if (begun.has(messageId)) return [event];
    begun.add(messageId);
    return kind === 'intent' ? [event] : [deliveryEvent(event, { kind: 'intent', attempt: 1, atMs }), event];
  };
  return {
    async publish(events) {
      const all = events.flatMap(withIntent);
      await Promise.all(all.map((event) => new Promise<void>((resolve) => writer.write(event, () => resolve()))));
    },
    close() {
      writer.close();
      publisher.close();
    },
  };
}

/** A bus with what tests of the delivery process need: a publisher of events, and receivers that end with it. */
export type WebhookBus = TestBus & {
  readonly events: ReturnType<typeof eventPublisher>;
  receiver(answer?: AnswerTo): Promise<Receiver>;
  /** Publishes so many messages as delivered; the ids of the events. */
  publishMany(accountId: AccountId, count: number): Promise<readonly string[]>;
};

/** A new message is delivered. */
export function deliveredNow(accountId: AccountId): DeliveryEvent {
  const nowMs = systemClock.nowMs();
  return eventOfMessage(messageWith({ accountId, messageId: newMessageId(nowMs) }), { kind: 'delivered', atMs: nowMs });
}

export async function startWebhookBus(): Promise<WebhookBus> {
  const bus = await startBus();
  const events = eventPublisher(bus.bus);
  const receivers: Receiver[] = [];
  return {
    ...bus,
    events,
    async receiver(answer) {
      const receiver = await startReceiver(answer);
      receivers.push(receiver);
      return receiver;
    },
    async publishMany(accountId, count) {
      const all = Array.from({ length: count }, () => deliveredNow(accountId));
      for (let at = 0; at < all.length; at += 50) await events.publish(all.slice(at, at + 50));
      return all.map(({ eventId }) => eventId);
    },
    async stop() {
      for (const receiver of receivers) await receiver.close();
      events.close();
      await bus.stop();
    },
  };
}

/** The delivery process, allowed to call loopback; resolves with the function that ends it. */
export const startDelivery = (natsUrl: string, env: Record<string, string> = {}) =>
  startRolesOf('delivery', natsUrl, { webhooks: { allowNetworks: ['127.0.0.0/8'], allowHttp: true } }, { env });

export type RunningWebhooks = {
  readonly node: WebhookNode;
  readonly directory: Pick<Directory, 'webhookEndpoint'>;
  stop(): Promise<void>;
};

/** The parts of the delivery process, allowed to call loopback. */
export async function runWebhooks(
  bus: Bus,
  {
    clock = systemClock,
    shares = defaultShares,
    alone = true,
  }: { clock?: Clock; shares?: typeof defaultShares; alone?: boolean } = {},
): Promise<RunningWebhooks> {
  const directory = await openDirectory(bus);
  const sender = new HttpSender({ rules: () => ({ allowed: parseNetworks(['127.0.0.0/8']) }), clock });
  const node = startWebhooks({
    ...{ bus, directory, sender, cipher: webhookCipher, shares, clock },
    replicas: 1,
    alone,
  });
  return {
    node,
    directory,
    async stop() {
      await node.stop();
      await sender.close();
      await directory.close();
    },
  };
}

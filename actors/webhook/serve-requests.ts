// Answers the management API (contract.ts): what was sent to an endpoint, a test event, events again. Only the process
// that delivers listens.
import type { Msg } from '@nats-io/transport-node';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Directory } from '../../directory/contract.ts';
import { eventIdOf } from '../../model/ids.ts';
import type { WebhookRecord } from '../../model/records/webhook-record.ts';
import { webhookTestType } from '../../model/webhook-endpoint.ts';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { secretBytes } from '../../platform/random.ts';
import type { AttemptLog } from './attempts/attempt-log.ts';
import {
  type DeliveriesAnswer,
  type DeliveriesRequest,
  type ReplayRequest,
  type TestAnswer,
  type TestRequest,
  webhookSubjects,
} from './contract.ts';
import type { Delivery } from './delivery/delivery.ts';
import type { ParkedLog } from './delivery/parked-log.ts';
import type { Replays } from './replay/replays.ts';
import type { WebhookRequests } from './send/webhook-requests.ts';

type Parts = {
  readonly bus: Bus;
  readonly directory: Directory;
  readonly delivery: Delivery;
  readonly parked: ParkedLog;
  readonly attempts: AttemptLog;
  readonly requests: WebhookRequests;
  readonly replays: Replays;
  readonly clock: Clock;
};

/** Returns what ends it. */
export function serveRequests(parts: Parts): () => void {
  const { bus, replays } = parts;
  let running = 0;
  const serve = <Request>(subject: string, answer: (request: Request) => Promise<object | null>) =>
    bus.connection.subscribe(subject, {
      callback: (_error, msg) => {
        // Without an answer the API says that it cannot be had now.
        if (running >= limits.delivery.requestsServedMax) return;
        running += 1;
        void reply(msg, answer).finally(() => (running -= 1));
      },
    });
  const subscriptions = [
    serve<DeliveriesRequest>(webhookSubjects.deliveries, (request) => deliveriesOf(parts, request)),
    serve<TestRequest>(webhookSubjects.test, (request) => sendTest(parts, request)),
    serve<ReplayRequest>(webhookSubjects.replay, (request) => replays.begin(request)),
  ];
  return () => {
    for (const subscription of subscriptions) subscription.unsubscribe();
  };
}

async function reply<Request>(msg: Msg, answer: (request: Request) => Promise<object | null>): Promise<void> {
  try {
    const answered = await answer(msg.json<Request>());
    if (answered !== null) msg.respond(JSON.stringify(answered));
  } catch (error) {
    log.warn({ subject: msg.subject, error: messageOf(error) }, 'a question about webhooks could not be answered');
  }
}

async function deliveriesOf(
  { delivery, parked, attempts }: Parts,
  { endpointId }: DeliveriesRequest,
): Promise<DeliveriesAnswer> {
  await attempts.store(endpointId);
  const failing = delivery.failingOf(endpointId);
  return {
    health: {
      failingSinceMs: failing?.sinceMs ?? null,
      nextTryAtMs: failing?.nextTryAtMs ?? null,
      tries: failing?.tries ?? 0,
      parked: parked.countOf(endpointId),
    },
  };
}

/** One request, apart from the queue: an endpoint that fails or is disabled gets it too. */
async function sendTest(
  { directory, requests, attempts, clock }: Parts,
  { accountId, endpointId }: TestRequest,
): Promise<TestAnswer | null> {
  const endpoint = directory.webhookEndpoint(endpointId);
  if (endpoint === undefined || endpoint.accountId !== accountId) return null;
  const atMs = clock.nowMs();
  const detail = secretBytes(9).toString('base64url');
  const eventId = eventIdOf({ messageId: endpointId, kind: webhookTestType, detail });
  const data = { object: 'webhook', id: endpointId, livemode: endpoint.livemode };
  const record: WebhookRecord = {
    ...{ eventId, endpointId, url: null, sequence: 0, tries: 0, dueAtMs: 0, group: null },
    content: { type: webhookTestType, atMs, data },
  };
  return new Promise((resolve) => {
    const outgoing = { webhookId: record.eventId, isBatch: false, records: [record] };
    requests.send(endpoint, outgoing, 1, (_result, ended) => resolve({ attempt: attempts.keep(ended) }));
  });
}

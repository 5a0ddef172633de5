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
import type { Share } from '../../platform/limits-shares.ts';
import { log } from '../../platform/log.ts';
import { secretBytes } from '../../platform/random.ts';
import { SharedBound } from '../../platform/shared-bound.ts';
import type { AttemptLog } from './attempts/attempt-log.ts';
import {
  type Busy,
  type DeliveriesAnswer,
  type DeliveriesRequest,
  type EndpointOf,
  type ReplayRequest,
  type TestAnswer,
  type TestRequest,
  webhookSubjects,
} from './contract.ts';
import type { Delivery } from './delivery/delivery.ts';
import type { ParkedLog } from './delivery/parked-log.ts';
import { endpointFailing } from './endpoint-health.ts';
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
  readonly share: Share;
  readonly clock: Clock;
};

/** Returns what ends it. */
export function serveRequests(parts: Parts): () => void {
  const { bus, replays } = parts;
  const places = new SharedBound('webhook_management', parts.share);
  const serve = <Request extends EndpointOf>(subject: string, answer: (request: Request) => Promise<object | null>) => {
    const inPlace = async (request: Request): Promise<object | null> => {
      const taken = places.take(request.accountId);
      if (taken !== 'taken') return { busy: taken } satisfies Busy;
      try {
        return await answer(request);
      } finally {
        places.giveBack(request.accountId);
      }
    };
    return bus.connection.subscribe(subject, { callback: (_error, msg) => void reply(msg, inPlace) });
  };
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
  { delivery, directory, parked, attempts }: Parts,
  { endpointId }: DeliveriesRequest,
): Promise<DeliveriesAnswer> {
  await attempts.store(endpointId);
  const failing = endpointFailing(directory.webhookEndpoint(endpointId), delivery.failingOf(endpointId));
  return { health: { ...failing, parked: parked.countOf(endpointId) } };
}

/** One request, apart from all others: an endpoint that fails or is disabled gets it too. */
async function sendTest(
  { requests, attempts, clock }: Parts,
  { endpointId, endpoint }: TestRequest,
): Promise<TestAnswer> {
  const atMs = clock.nowMs();
  const detail = secretBytes(9).toString('base64url');
  const eventId = eventIdOf({ messageId: endpointId, kind: webhookTestType, detail });
  const data = { object: 'webhook', id: endpointId, livemode: endpoint.livemode };
  const record: WebhookRecord = {
    ...{ eventId, endpointId, url: null, sequence: 0, tries: 0, dueAtMs: 0, group: null },
    content: { type: webhookTestType, atMs, data },
  };
  return new Promise((resolve) => {
    const { testMs: withinMs } = limits.delivery;
    const outgoing = { webhookId: record.eventId, isBatch: false, records: [record], withinMs };
    requests.send(endpoint, outgoing, 1, (_result, ended) => resolve({ attempt: attempts.keep(ended) }));
  });
}

// The parts of the delivery process: fan-out, delivery and lines, as long as this process is their owner; then again from
// what is stored. How they hang together is all that is here.
import type { KV } from '@nats-io/kv';
import { enabledAtOf } from '../../model/webhook-endpoint.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Consumption } from '../../cluster/bus/consume.ts';
import type { Directory } from '../../directory/contract.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { Clock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Shares } from '../../platform/limits-shares.ts';
import { log } from '../../platform/log.ts';
import { SharedBound } from '../../platform/shared-bound.ts';
import { type OwnershipEnd, runAsOwner } from '../single-owner.ts';
import { type DisableRequest, disableSubject } from './contract.ts';
import { AttemptLog } from './attempts/attempt-log.ts';
import { AccountRequests } from './delivery/account-requests.ts';
import { Delivery, type DeliveryParts } from './delivery/delivery.ts';
import { emptyFormerQueue } from './delivery/former-queue.ts';
import type { EndpointWorker } from './delivery/endpoint-worker.ts';
import { ParkedLog } from './delivery/parked-log.ts';
import { fanOutFacts } from './fan-out/fact-fan-out.ts';
import { FanOut } from './fan-out/fan-out.ts';
import { Replays } from './replay/replays.ts';
import type { HttpSender } from './send/http-sender.ts';
import { WebhookRequests } from './send/webhook-requests.ts';
import { serveRequests } from './serve-requests.ts';
import { disabledEvent, failingEvent } from './endpoint-events.ts';

type WebhookNodeParts = {
  readonly bus: Bus;
  readonly directory: Directory;
  readonly sender: HttpSender;
  readonly cipher: BodyCipher;
  readonly shares: Pick<Shares, `webhook_${'requests' | 'held' | 'parked' | 'replays' | 'management'}`>;
  readonly replicas: number;
  /** No other process can deliver. */
  readonly alone: boolean;
  readonly clock: Clock;
};

export type WebhookNode = {
  /** For people. */
  readonly state: string;
  /** Waits so long for answers to requests in flight: what is answered now is not sent again by the next process. */
  stop(answersWithinMs?: number): Promise<void>;
};

const again = Number.POSITIVE_INFINITY;

/** Returns at once; goes on until it is stopped. */
export function startWebhooks(parts: WebhookNodeParts): WebhookNode {
  const { bus, replicas, alone, clock } = parts;
  let answersMs: number = limits.delivery.stopAnswersMs;
  const start = async (bucket: KV) => {
    const active = await startActive(parts, bucket);
    return { stop: (end: OwnershipEnd) => (end === 'lost' ? active.abandon() : active.stop(answersMs)) };
  };
  const running = runAsOwner({ bus, bucket: 'webhooks', replicas, what: 'the webhooks', alone, clock, start });
  return {
    get state() {
      return running.isAtWork ? 'delivers' : 'standby';
    },
    stop(answersWithinMs = answersMs) {
      answersMs = Math.min(answersMs, answersWithinMs);
      return running.stop();
    },
  };
}

async function startActive(
  parts: WebhookNodeParts,
  bucket: KV,
): Promise<{ stop(answersWithinMs: number): Promise<void>; abandon(): Promise<void> }> {
  const { bus, directory, clock, shares } = parts;
  const { gatherMs } = limits.delivery;
  const parking = new Publisher(bus, { deadlineMs: again, gatherMs, clock });
  const parked = new ParkedLog(bus, parking, shares.webhook_parked, clock);
  const inFlightMax = limits.webhookAttempts.publishesMax;
  const attemptPublisher = new Publisher(bus, { inFlightMax, gatherMs, clock });
  const attempts = new AttemptLog(attemptPublisher, parts.cipher, clock);
  const requests = new WebhookRequests({ sender: parts.sender, cipher: parts.cipher, clock });
  const sends = new SharedBound('webhook_requests', shares.webhook_requests);
  const requestsOf = new AccountRequests(sends, shares.webhook_requests, clock);
  const delivery = new Delivery({
    ...{ bucket, directory, requests, parked, requestsOf, attempts, clock },
    held: new SharedBound('webhook_held', shares.webhook_held),
    publishEvent: (...event) => publishEndpointEvent(fanOut, clock, ...event),
    disable: (worker, reason) => void askToDisable(bus, worker, reason),
  });
  const fanOut = new FanOut({ bus, bucket, directory, delivery, clock });
  const replays = new Replays({ bus, bucket, directory, delivery, share: shares.webhook_replays, clock });
  const emptying = new AbortController();
  let facts: Consumption | null = null;
  const handNothingMore = async (undecidedMs: number) => {
    emptying.abort(new Error('the delivery stops'));
    replays.stop();
    await Promise.all([fanOut.stop(undecidedMs), facts?.stop()]);
  };
  const abandon = async () => {
    // First: what is on its way to lines would be acked, and another process does not know of it.
    delivery.abandon();
    parked.close();
    await handNothingMore(0);
    await attempts.stop();
    attemptPublisher.close();
  };
  try {
    await delivery.start();
    void emptyFormerQueue({ bus, directory, parked, clock, stopping: emptying.signal });
    await fanOut.start();
    facts = await fanOutFacts({
      ...{ bus, directory, delivery, publisher: parking, clock },
      sequence: () => fanOut.sequence,
    });
    await replays.start();
  } catch (error) {
    // It is begun again: two would send from the same lines.
    await abandon();
    throw error;
  }
  const stopServing = serveRequests({
    ...{ bus, directory, delivery, parked, attempts, requests, replays, clock },
    share: shares.webhook_management,
  });
  return {
    async stop(answersWithinMs) {
      stopServing();
      await handNothingMore(Math.min(limits.delivery.undecidedStopMs, answersWithinMs));
      await delivery.stop(answersWithinMs);
      await fanOut.saveLast();
      await attempts.stop();
      // Acks have no answer of their own: when the server answers this, it has them.
      await withDeadline('acks of webhooks', limits.delivery.settleMs, bus.connection.flush(), clock).catch(
        (error: unknown) => ignoring(error, 'the next process repeats what was delivered last'),
      );
      attemptPublisher.close();
      parked.close();
    },
    abandon() {
      stopServing();
      return abandon();
    },
  };
}

/** To the account's other endpoints. */
function publishEndpointEvent(
  fanOut: FanOut,
  clock: Clock,
  ...[what, { endpoint }, failing, done]: Parameters<DeliveryParts['publishEvent']>
): void {
  const { id: endpointId, accountId } = endpoint;
  const { sinceMs, error } = failing;
  const isDisabled = what === 'disabled';
  if (!isDisabled) log.warn({ endpointId, accountId, sinceMs, error }, 'a webhook endpoint has failed for long');
  const event = isDisabled ? disabledEvent(endpoint, failing, clock.nowMs()) : failingEvent(endpoint, failing);
  fanOut.publishEndpointEvent(endpoint, event, done);
}

/**
 * The control role disables it in PostgreSQL, from where every process gets the change. Asked again until that is so.
 */
async function askToDisable(bus: Bus, { endpoint }: EndpointWorker, reason: DisableRequest['reason']): Promise<void> {
  const { accountId, id: endpointId } = endpoint;
  const request: DisableRequest = { accountId, endpointId, reason, enabledAtMs: enabledAtOf(endpoint) };
  try {
    await bus.connection.request(disableSubject, JSON.stringify(request), { timeout: limits.delivery.answerMs });
  } catch (error) {
    ignoring(error, 'the control role disables the endpoint later');
  }
}

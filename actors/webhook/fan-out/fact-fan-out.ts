// Reads FACTS and hands each fact that clients get to the endpoints that it matches. Where it goes on after a restart the
// server knows: a fact is acked when all its endpoints have taken it, or have it in their lines. One that is read again
// is sent with the same webhook-id.
import type { JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { moveToDead } from '../../../cluster/bus/dead-letter.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { factConsumer, streamNames } from '../../../cluster/bus/streams.ts';
import type { Directory } from '../../../directory/contract.ts';
import type { AccountId } from '../../../model/ids.ts';
import { decodeFacts } from '../../../model/records/fact-record.ts';
import { type WebhookEndpoint, subscribesTo } from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';
import { contentOfFact } from '../fact-content.ts';
import type { Delivery, WebhookEvent } from '../delivery/delivery.ts';

type FactFanOutParts = {
  readonly bus: Bus;
  readonly directory: Directory;
  readonly delivery: Pick<Delivery, 'put'>;
  /** For what is published now (fan-out.ts). */
  readonly sequence: () => number;
  /** For unreadable records. */
  readonly publisher: Publisher;
  readonly clock: Clock;
};

/** Resolves when it reads. */
export function fanOutFacts(parts: FactFanOutParts): Promise<Consumption> {
  const { bus, directory, delivery, sequence, publisher, clock } = parts;
  const { prefetch, webhooksHeldMax, webhooksHeldPerAccount } = limits.facts;
  const { rememberedMs, rememberedMax } = limits.delivery;
  /** Records without an ack: one that is delivered again because its endpoint is slow is not sent again. */
  const held = new Set<string>();
  /** Their events that no endpoint has, by account. */
  const heldOf = new Map<AccountId, number>();
  /** The process that publishes facts repeats some after it was killed. */
  const seen = new RotatingMap<string, true>(rememberedMs, rememberedMax, clock);

  /** What is to be handed over for a record; each fact once. */
  function eventsOf(record: JsMsg): readonly { readonly endpoint: WebhookEndpoint; readonly event: WebhookEvent }[] {
    return decodeFacts(record.data).flatMap((fact) => {
      const { eventId, atMs, livemode } = fact;
      const endpoints = directory.account(fact.accountId as AccountId)?.webhooks.of(livemode) ?? [];
      // Most accounts have none: then nothing is made of their facts.
      const content = endpoints.length === 0 ? null : contentOfFact(fact);
      if (content === null || seen.get(eventId) === true) return [];
      return endpoints
        .filter((each) => subscribesTo(each, content.type))
        .filter(({ createdAtMs }) => atMs >= createdAtMs - limits.delivery.clockDifferenceMs)
        .map((endpoint) => ({ endpoint, event: { eventId, url: null, sequence: sequence(), content } }));
    });
  }

  function handle(record: JsMsg): void {
    // Another stream of this name has the same numbers.
    const place = `${record.seq} ${record.timestampNanos}`;
    if (held.has(place)) return;
    const events = eventsOf(record);
    let left = 1;
    const done = () => {
      left -= 1;
      if (left > 0) return;
      held.delete(place);
      record.ack();
    };
    held.add(place);
    for (const { endpoint, event } of events) {
      seen.set(event.eventId, true);
      left += 1;
      handOver(endpoint, event, done);
    }
    done();
  }

  /** When many are held, or many of this account, it is stored at once: then the endpoint holds up nobody. */
  function handOver(endpoint: WebhookEndpoint, event: WebhookEvent, done: () => void): void {
    const { accountId } = endpoint;
    const ofAccount = heldOf.get(accountId) ?? 0;
    heldOf.set(accountId, ofAccount + 1);
    const taken = () => {
      const others = (heldOf.get(accountId) ?? 0) - 1;
      if (others > 0) heldOf.set(accountId, others);
      else heldOf.delete(accountId);
      done();
    };
    const toLine = ofAccount >= webhooksHeldPerAccount || held.size > webhooksHeldMax / 2;
    delivery.put(endpoint, event, taken, toLine);
  }

  return consumeStream(bus, {
    stream: streamNames.facts,
    consumer: factConsumer('webhooks'),
    prefetch: Math.min(prefetch, webhooksHeldMax),
    handle,
    onPoison: (record, reason) => moveToDead(publisher, record, streamNames.facts, reason),
    clock,
  });
}

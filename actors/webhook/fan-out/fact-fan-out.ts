// Reads FACTS and writes one record into WEBHOOKS for each fact that clients get and each endpoint that it matches.
// Where it goes on after a restart the server knows: a fact is acked when all its records are durable. One that is read
// again has the id it had, so within the stream's memory it is stored once, and later sent again with the same
// webhook-id.
import type { JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { moveToDead } from '../../../cluster/bus/dead-letter.ts';
import type { Publisher } from '../../../cluster/bus/publisher.ts';
import { factConsumer, streamNames } from '../../../cluster/bus/streams.ts';
import type { Directory } from '../../../directory/contract.ts';
import type { AccountId } from '../../../model/ids.ts';
import { decodeFacts } from '../../../model/records/fact-record.ts';
import { subscribesTo } from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { contentOfFact } from '../fact-content.ts';
import type { WebhookQueue } from '../webhook-queue.ts';

type FactFanOutParts = {
  readonly bus: Bus;
  readonly directory: Directory;
  readonly queue: WebhookQueue;
  /** For what is published now (fan-out.ts). */
  readonly sequence: () => number;
  /** For unreadable records. */
  readonly publisher: Publisher;
  readonly clock: Clock;
};

/** Resolves when it reads. */
export function fanOutFacts(parts: FactFanOutParts): Promise<Consumption> {
  const { bus, directory, queue, sequence, publisher, clock } = parts;
  const { prefetch, webhooksHeldMax } = limits.facts;

  function handle(record: JsMsg): void {
    let left = 1;
    const done = () => {
      left -= 1;
      if (left === 0) record.ack();
    };
    for (const fact of decodeFacts(record.data)) {
      const { eventId, atMs, livemode } = fact;
      const endpoints = directory.account(fact.accountId as AccountId)?.webhooks.of(livemode) ?? [];
      // Most accounts have none: then nothing is made of their facts.
      const content = endpoints.length === 0 ? null : contentOfFact(fact);
      if (content === null) continue;
      for (const endpoint of endpoints) {
        if (!subscribesTo(endpoint, content.type)) continue;
        if (atMs < endpoint.createdAtMs - limits.delivery.clockDifferenceMs) continue;
        left += 1;
        queue.put(endpoint, { eventId, url: null, sequence: sequence(), content }, done);
      }
    }
    done();
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

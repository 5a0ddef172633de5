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
import { subscribesTo } from '../../../model/webhook-endpoint.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';
import { contentOfFact } from '../fact-content.ts';
import type { Delivery } from '../delivery/delivery.ts';

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
  const held = new Set<number>();
  /** Their events, by account. An account with many has more of them stored in lines at once, so that its endpoints hold up nobody. */
  const heldOf = new Map<AccountId, number>();
  /** The process that publishes facts repeats some after it was killed. */
  const seen = new RotatingMap<string, true>(rememberedMs, rememberedMax, clock);

  function handle(record: JsMsg): void {
    if (held.has(record.seq)) return;
    const facts = decodeFacts(record.data);
    held.add(record.seq);
    let left = 1;
    const done = () => {
      left -= 1;
      if (left > 0) return;
      held.delete(record.seq);
      record.ack();
    };
    for (const fact of facts) {
      const { eventId, atMs, livemode } = fact;
      const accountId = fact.accountId as AccountId;
      const endpoints = directory.account(accountId)?.webhooks.of(livemode) ?? [];
      // Most accounts have none: then nothing is made of their facts.
      const content = endpoints.length === 0 ? null : contentOfFact(fact);
      if (content === null || seen.get(eventId) === true) continue;
      seen.set(eventId, true);
      for (const endpoint of endpoints) {
        if (!subscribesTo(endpoint, content.type)) continue;
        if (atMs < endpoint.createdAtMs - limits.delivery.clockDifferenceMs) continue;
        left += 1;
        const ofAccount = heldOf.get(accountId) ?? 0;
        heldOf.set(accountId, ofAccount + 1);
        const taken = () => {
          const others = (heldOf.get(accountId) ?? 0) - 1;
          if (others > 0) heldOf.set(accountId, others);
          else heldOf.delete(accountId);
          done();
        };
        const event = { eventId, url: null, sequence: sequence(), content };
        delivery.put(endpoint, event, taken, ofAccount >= webhooksHeldPerAccount);
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

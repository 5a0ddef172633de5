// Up to where EVENTS has been handed to webhook endpoints: one record in the bucket `webhooks`. The fan-out
// (actors/webhook/fan-out) writes it and goes on there after a restart; the purge of EVENTS keeps what comes after it.
import type { KV } from '@nats-io/kv';
import type { WebhookEndpointId } from '../../model/ids.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { jsonObjectIn } from '../../platform/json.ts';
import { limits } from '../../platform/limits.ts';
import { readEntry } from './bucket.ts';
import type { StreamPosition } from './stream-position.ts';

export type WebhookPlace = {
  /** Everything up to here was handed to the endpoints that get it. */
  readonly position: StreamPosition;
  /** Of endpoints that have not taken all of that: the sequence of the first event that is neither taken nor in WEBHOOK_LOG. */
  readonly pending: ReadonlyMap<WebhookEndpointId, number>;
  /** Added to sequences of this EVENTS stream, so that they go on growing after it was recreated. */
  readonly sequenceBase: number;
  /** No account has an endpoint: nothing of EVENTS is needed. */
  readonly idle: boolean;
};

const eventsPerRecord = 1_024;

/** Its place among all events: greater for what was published later. `at`: its index in the record `seq` of EVENTS. */
export function webhookSequence({ sequenceBase }: Pick<WebhookPlace, 'sequenceBase'>, seq: number, at: number): number {
  return sequenceBase + seq * eventsPerRecord + at;
}

/** The record of EVENTS after which an endpoint needs what is there. */
export function neededAfter({ position, pending, sequenceBase }: WebhookPlace): number {
  const first = [...pending.values()].reduce((least, each) => Math.min(least, each), Number.POSITIVE_INFINITY);
  return Math.max(0, Math.min(position.seq, Math.floor((first - sequenceBase) / eventsPerRecord) - 1));
}

const key = 'place';

/** Null when there is none. Rejects when the bus does not answer. */
export async function readWebhookPlace(bucket: KV): Promise<WebhookPlace | null> {
  const { entry } = await withDeadline('the place of the webhooks', limits.delivery.answerMs, readEntry(bucket, key));
  const { made, seq, storedAtNs, base, idle, handed } = (entry === null ? null : jsonObjectIn(entry.value)) ?? {};
  if (typeof made !== 'string' || typeof seq !== 'number' || typeof base !== 'number') return null;
  const upTo = (handed ?? { seq, storedAtNs, pending: {} }) as Handed;
  return {
    position: { made, seq: upTo.seq, storedAtNs: typeof upTo.storedAtNs === 'string' ? BigInt(upTo.storedAtNs) : null },
    pending: new Map(Object.entries(upTo.pending) as [WebhookEndpointId, number][]),
    sequenceBase: base,
    idle: idle === true,
  };
}

/** Written beside the place where a version goes on that does not know it. */
type Handed = {
  readonly seq: number;
  readonly storedAtNs?: string | null;
  readonly pending: Readonly<Record<string, number>>;
};

/** With more endpoints than have room in an entry, all events after the first pending one are handed to all again. */
export async function writeWebhookPlace(bucket: KV, place: WebhookPlace): Promise<void> {
  const { position, sequenceBase, idle, pending } = place;
  const { made } = position;
  const storedAtNs = position.storedAtNs === null ? null : String(position.storedAtNs);
  const seq = neededAfter(place);
  const handed: Handed = { seq: position.seq, storedAtNs, pending: Object.fromEntries(pending) };
  const entry = {
    ...{ made, seq, base: sequenceBase, idle, storedAtNs: seq === position.seq ? storedAtNs : null },
    ...(pending.size === 0 || pending.size > limits.delivery.pendingEndpointsMax ? {} : { handed }),
  };
  const written = bucket.put(key, JSON.stringify(entry));
  await withDeadline('the place of the webhooks', limits.delivery.answerMs, written);
}

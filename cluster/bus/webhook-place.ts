// Up to where EVENTS has been handed to webhook endpoints: one record in the bucket `webhooks`. The fan-out
// (actors/webhook/fan-out) writes it and goes on there after a restart; the purge of EVENTS keeps what comes after it.
import type { KV } from '@nats-io/kv';
import { jsonObjectIn } from '../../platform/json.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { limits } from '../../platform/limits.ts';
import { readEntry } from './bucket.ts';
import type { StreamPosition } from './stream-position.ts';

export type WebhookPlace = {
  /** Everything up to here is in WEBHOOKS or WEBHOOK_LOG. */
  readonly position: StreamPosition;
  /** Added to sequences of this EVENTS stream, so that they go on growing after it was recreated. */
  readonly sequenceBase: number;
  /** No account has an endpoint: nothing of EVENTS is needed. */
  readonly idle: boolean;
};

const key = 'place';

/** Null when there is none. Rejects when the bus does not answer. */
export async function readWebhookPlace(bucket: KV): Promise<WebhookPlace | null> {
  const { entry } = await withDeadline('the place of the webhooks', limits.delivery.answerMs, readEntry(bucket, key));
  const { made, seq, storedAtNs, base, idle } = (entry === null ? null : jsonObjectIn(entry.value)) ?? {};
  if (typeof made !== 'string' || typeof seq !== 'number' || typeof base !== 'number') return null;
  const position = { made, seq, storedAtNs: typeof storedAtNs === 'string' ? BigInt(storedAtNs) : null };
  return { position, sequenceBase: base, idle: idle === true };
}

export async function writeWebhookPlace(bucket: KV, { position, sequenceBase, idle }: WebhookPlace): Promise<void> {
  const { made, seq, storedAtNs } = position;
  const entry = { made, seq, storedAtNs: storedAtNs === null ? null : String(storedAtNs), base: sequenceBase, idle };
  const written = bucket.put(key, JSON.stringify(entry));
  await withDeadline('the place of the webhooks', limits.delivery.answerMs, written);
}

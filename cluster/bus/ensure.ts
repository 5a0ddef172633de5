// Creates or updates the streams and buckets; safe to run any number of times from any process. It never deletes a
// stream: one that no version declares any more is left to the operator.
import { isDeepStrictEqual } from 'node:util';
import type { ConsumerConfig, JetStreamManager } from '@nats-io/jetstream';
import { type KV, Kvm } from '@nats-io/kv';
import { consumerNotFound, isApiError, nameInUse, streamNotFound } from './api-errors.ts';
import type { Bus } from './connect.ts';
import {
  type KeyValueBucket,
  type StreamDeclaration,
  type StreamBounds,
  bucketBytesMax,
  keyValueBuckets,
  streamDeclarations,
  streamOfBucket,
  streamBoundsDefault,
} from './streams.ts';

export async function ensureStreams(bus: Bus, bounds: StreamBounds = streamBoundsDefault): Promise<void> {
  for (const declaration of streamDeclarations(bounds)) await ensureStream(bus.manager, declaration);
  for (const bucket of Object.keys(keyValueBuckets) as KeyValueBucket[]) {
    const wanted = { num_replicas: bounds.streamReplicas, max_bytes: bucketBytesMax(bucket, bounds) };
    await openBucket(bus, bucket, wanted.num_replicas);
    // Another process may have created it first, or with fewer replicas or a smaller bound.
    const { config } = await bus.manager.streams.info(streamOfBucket(bucket));
    if (!isMetBy(wanted, config)) await bus.manager.streams.update(config.name, { ...config, ...wanted });
  }
}

/** Opens a key-value bucket; creates it when missing. */
export async function openBucket(bus: Bus, bucket: KeyValueBucket, replicas = 1): Promise<KV> {
  const { ttlMs, maxBytes } = keyValueBuckets[bucket];
  return new Kvm(bus.jetstream).create(bucket, {
    history: 1,
    replicas,
    max_bytes: maxBytes,
    ...(ttlMs > 0 ? { ttl: ttlMs } : {}),
  });
}

/** Creates the durable consumer, or updates it to this configuration. */
export async function ensureConsumer(
  manager: JetStreamManager,
  stream: string,
  config: Partial<ConsumerConfig> & { durable_name?: string },
): Promise<void> {
  const name = config.durable_name ?? config.name ?? '';
  try {
    const { config: present } = await manager.consumers.info(stream, name);
    // In a cluster an update silently drops the pulls of other clients.
    if (!isMetBy(config, present)) await manager.consumers.update(stream, name, config);
  } catch (error) {
    if (!isApiError(error, consumerNotFound)) throw error;
    await manager.consumers.add(stream, config);
  }
}

/** Whether `present` has every value that `wanted` names. */
function isMetBy<T extends object>(wanted: Partial<T>, present: T): boolean {
  return (Object.keys(wanted) as (keyof T)[]).every((field) => isDeepStrictEqual(wanted[field], present[field]));
}

/** Null when there is none. */
export const consumerInfo = (manager: JetStreamManager, stream: string, name: string) =>
  orNoConsumer(manager.consumers.info(stream, name));

/** Deletes a consumer that another replaces; that one gets its records without an ack. */
export const dropConsumer = (manager: JetStreamManager, stream: string, name: string) =>
  orNoConsumer(manager.consumers.delete(stream, name));

function orNoConsumer<T>(answer: Promise<T>): Promise<T | null> {
  return answer.catch((error: unknown) => {
    if (!isApiError(error, consumerNotFound)) throw error;
    return null;
  });
}

async function ensureStream(manager: JetStreamManager, declaration: StreamDeclaration): Promise<void> {
  try {
    const { config: present } = await manager.streams.info(declaration.name);
    if (!isMetBy(declaration, present)) await manager.streams.update(declaration.name, declaration);
  } catch (error) {
    if (!isApiError(error, streamNotFound)) throw error;
    await manager.streams.add(declaration).catch(async (raced: unknown) => {
      // Another process created it since the check.
      if (!isApiError(raced, nameInUse)) throw raced;
      await manager.streams.update(declaration.name, declaration);
    });
  }
}

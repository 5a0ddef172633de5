// After a start a carrier reads its own events before it takes any work: which records already have an outcome, which
// were in the middle of a submit, and which submits still wait for a receipt. Where it begins is the carrier's replay
// floor (replay-floor.ts). It reads to the end however long that takes: without its intents a carrier must not begin.
import { type Consumer, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { decodeEvents } from '../../../model/records/event-record.ts';
import { type StreamPosition, changeSince, streamMade } from '../../../cluster/bus/stream-position.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { eventFilter } from '../../../cluster/bus/subjects.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { EventPosition } from './replay-index.ts';

export type ReplayParts = {
  readonly bus: Bus;
  readonly carrier: string;
  /** The first sequence to read. */
  readonly fromSeq: number;
  readonly learn: (event: DeliveryEvent, place: EventPosition) => void;
  readonly clock?: Clock;
  /** Ends it: the carrier is to stop before it has begun. */
  readonly signal?: AbortSignal;
};

type Read = { place: StreamPosition; events: number };

const retryAfterMs = 500;
const recordsPerPull = 500;

/**
 * Calls `learn` for every event from there on in stream order; resolves with how many there were. When the stream is
 * silent it says so and tries again, behind what it has read. Rejects only with the signal's reason.
 */
export async function replayEvents(parts: ReplayParts): Promise<number> {
  const { carrier, fromSeq, clock = systemClock, signal } = parts;
  const beganAtMs = clock.monotonicMs();
  const read: Read = { place: { made: '', seq: Math.max(1, fromSeq) - 1, storedAtNs: null }, events: 0 };
  while (!(await readOn(parts, read, clock))) {
    log.warn(
      { alarm: 'replay_waiting', carrier, lastSeq: read.place.seq, events: read.events },
      'the carrier takes no work until it has read its events',
    );
    await clock.sleep(retryAfterMs, signal);
  }
  const ms = Math.round(clock.monotonicMs() - beganAtMs);
  log.info({ carrier, events: read.events, fromSeq, ms }, 'replayed');
  return read.events;
}

/** False when the stream went silent first. */
async function readOn({ bus, carrier, learn, signal }: ReplayParts, read: Read, clock: Clock): Promise<boolean> {
  signal?.throwIfAborted();
  const silence = Promise.withResolvers<false>();
  let heardAtMs = clock.monotonicMs();
  const stopWatch = clock.every(limits.carrier.replaySilentMs / 4, () => {
    if (clock.monotonicMs() - heardAtMs >= limits.carrier.replaySilentMs) silence.resolve(false);
  });
  const onAbort = () => silence.resolve(false);
  signal?.addEventListener('abort', onAbort);
  let isOver = false;
  let stop = () => {};
  // Left there it would keep EVENTS from being purged until the server forgets it.
  const discard = (consumer: Consumer) =>
    void consumer.delete().catch((error: unknown) => ignoring(error, 'the server forgets it by itself'));
  const reading = (async () => {
    const consumer = await bus.jetstream.consumers.get(streamNames.events, {
      filter_subjects: eventFilter(carrier),
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: read.place.seq + 1,
    });
    stop = () => discard(consumer);
    if (isOver) discard(consumer);
    if (!(await isSame(bus, carrier, read, clock))) return false;
    const { num_pending: waiting } = await consumer.info();
    if (waiting === 0) return true;
    const messages = await consumer.consume({ max_messages: recordsPerPull });
    stop = () => {
      messages.stop();
      discard(consumer);
    };
    for await (const record of messages) {
      heardAtMs = clock.monotonicMs();
      if (isOver) return false;
      if (record.seq > read.place.seq) {
        read.events += learnRecord(record, learn);
        read.place = { made: read.place.made, seq: record.seq, storedAtNs: record.timestampNanos };
      }
      if (record.info.pending === 0) return true;
    }
    return false;
  })().catch((error: unknown) => {
    log.warn({ carrier, error: messageOf(error) }, 'the events of a carrier cannot be read');
    return false;
  });
  try {
    const isAll = await Promise.race([reading, silence.promise]);
    signal?.throwIfAborted();
    return isAll;
  } finally {
    stopWatch();
    signal?.removeEventListener('abort', onAbort);
    isOver = true;
    stop();
  }
}

/** Otherwise it is read from its beginning next: it was recreated, or put back from a backup. */
async function isSame(bus: Bus, carrier: string, read: Read, clock: Clock): Promise<boolean> {
  if (read.place.made === '') read.place = { ...read.place, made: await streamMade(bus, streamNames.events) };
  const change = await changeSince(bus, streamNames.events, read.place, clock);
  if (change === null) return true;
  metrics.eventsChanged.inc({ reader: 'replay' });
  log.error({ alarm: 'events_changed', carrier, change }, 'reads EVENTS from its beginning');
  read.place = { made: '', seq: 0, storedAtNs: null };
  return false;
}

/** How many events the record had. */
export function learnRecord(
  record: Pick<JsMsg, 'data' | 'seq' | 'timestampNanos'>,
  learn: (event: DeliveryEvent, place: EventPosition) => void,
): number {
  const place = { seq: record.seq, storedAtMs: Number(record.timestampNanos / 1_000_000n) };
  try {
    const events = decodeEvents(record.data, 'carrier');
    for (const event of events) learn(event, place);
    return events.length;
  } catch (error) {
    // The recorder moves it to DEAD; a replay must not stop at it.
    ignoring(error, 'a poison batch of events was skipped');
    return 0;
  }
}

// Reads a carrier's own events at its start, before it accepts work: which records have an outcome, which were being
// submitted, which submits wait for a receipt. It begins at the replay floor (replay-floor.ts) and reads to the end
// however long that takes: without its intents a carrier must not begin.
import type { JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { decodeEvents } from '../../../model/records/event-record.ts';
import { lowLatencyPull, patientPull } from '../../../cluster/bus/lost-pull.ts';
import { type StreamReader, readStream } from '../../../cluster/bus/read-stream.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { eventFilter } from '../../../cluster/bus/subjects.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { EventPosition } from './replay-index.ts';

export type CarrierEvents = {
  readonly bus: Bus;
  readonly carrier: string;
  readonly fromSeq: number;
  readonly clock?: Clock;
  /** Aborts the reading: the carrier is to stop. */
  readonly signal?: AbortSignal;
};

export type ReplayParts = CarrierEvents & {
  readonly learn: (event: DeliveryEvent, place: EventPosition) => void;
};

const recordsPerPull = 500;

/** Calls `learn` for every event in stream order; resolves with their number. Rejects only with the signal's reason. */
export async function replayEvents({ learn, ...from }: ReplayParts): Promise<number> {
  const { carrier, fromSeq, clock = systemClock } = from;
  const beganAtMs = clock.monotonicMs();
  let events = 0;
  const reader = await readCarrierEvents(from, 'replay', (record) => {
    events += learnRecord(record, learn);
    return undefined;
  });
  reader.stop();
  const ms = Math.round(clock.monotonicMs() - beganAtMs);
  log.info({ carrier, events, fromSeq, ms }, 'replayed');
  return events;
}

/** Resolves when everything that was there has been read; then it continues. `reader`: for the metric. */
export async function readCarrierEvents(
  { bus, carrier, fromSeq, clock = systemClock, signal }: CarrierEvents,
  reader: 'replay' | 'follower',
  take: (record: JsMsg) => undefined,
): Promise<StreamReader> {
  const opened = readStream(bus, {
    stream: streamNames.events,
    filter: eventFilter(carrier),
    from: { made: '', seq: Math.max(1, fromSeq) - 1, storedAtNs: null },
    take,
    onChanged(change) {
      metrics.eventsChanged.inc({ reader });
      log.error({ alarm: 'events_changed', carrier, change }, 'reads EVENTS from its beginning');
    },
    prefetch: recordsPerPull,
    pull: reader === 'replay' ? patientPull : lowLatencyPull,
    clock,
  });
  let seenSeq = opened.position.seq;
  const stopLooks = clock.every(limits.carrier.replaySilentMs, () => {
    const { seq: lastSeq } = opened.position;
    if (lastSeq !== seenSeq) return void (seenSeq = lastSeq);
    log.warn({ alarm: 'replay_waiting', carrier, lastSeq }, 'the carrier accepts no work until it has read its events');
    // What the server counted as still to come may have been purged since.
    opened.reopen();
  });
  const onAbort = () => opened.stop(signal?.reason);
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted === true) onAbort();
  try {
    await opened.caughtUp;
  } finally {
    stopLooks();
    signal?.removeEventListener('abort', onAbort);
  }
  return opened;
}

/** Returns how many events the record had. */
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

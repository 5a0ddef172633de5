// Reads a carrier's events as long as its actor lives, beginning at its replay floor: what other nodes write about
// messages they hold is known here a moment later, and the order is that of the stream, the same for everybody. Only
// where nodes share a carrier; alone, replay.ts reads them once. It learns nothing itself.
import { type Consumer, type ConsumerMessages, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { lowLatencyPull, watchConsumer, watchPulls } from '../../../cluster/bus/lost-pull.ts';
import { type StreamPosition, changeSince, streamMade } from '../../../cluster/bus/stream-position.ts';
import { streamNames } from '../../../cluster/bus/streams.ts';
import { eventFilter } from '../../../cluster/bus/subjects.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { ignoring, messageOf } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { EventPosition } from '../deduplication/replay-index.ts';
import { learnRecord } from '../deduplication/replay.ts';

export type FollowParts = {
  readonly bus: Bus;
  readonly carrier: string;
  /** The first sequence to read. */
  readonly fromSeq: number;
  /** The events' writer of this actor: its batches are known by their ids. */
  readonly writerId: string;
  /** Each event once, in stream order. `isOwn`: this actor has written it itself. */
  readonly learn: (event: DeliveryEvent, isOwn: boolean, place: EventPosition) => void;
  readonly clock?: Clock;
  /** Ends it before everything that was there has been read: the carrier is to stop. */
  readonly signal?: AbortSignal;
};

export type Following = {
  /** Something that must be there has not come: the consumer is recreated behind what was read. */
  again(): void;
  /** Up to which sequence everything was read; Infinity when it is all there is. Rejects when nobody can say. */
  readTo(): Promise<number>;
  stop(): Promise<void>;
};

const retryAfterMs = 500;
const recordsPerPull = 500;

/** Resolves when everything that was there has been learnt; then it goes on. */
export async function followEvents(parts: FollowParts): Promise<Following> {
  const { bus, carrier, fromSeq, writerId, learn, clock = systemClock, signal } = parts;
  const ownPrefix = `${writerId}.`;
  let place: StreamPosition = { made: '', seq: Math.max(1, fromSeq) - 1, storedAtNs: null };
  let stopped = false;
  let isOnlyPullLost = false;
  let messages: ConsumerMessages | null = null;
  let consumer: Consumer | null = null;
  const caughtUp = Promise.withResolvers<void>();

  function take(record: JsMsg): void {
    // A consumer that was recreated may begin with what it had told before.
    if (record.seq > place.seq) {
      place = { made: place.made, seq: record.seq, storedAtNs: record.timestampNanos };
      const isOwn = record.headers?.get('Nats-Msg-Id').startsWith(ownPrefix) === true;
      learnRecord(record, (event, place) => learn(event, isOwn, place));
    }
    if (record.info.pending === 0) caughtUp.resolve();
  }

  const consumerFrom = (seq: number) =>
    bus.jetstream.consumers.get(streamNames.events, {
      filter_subjects: eventFilter(carrier),
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: seq,
    });

  /** Behind what was read, or from the beginning when EVENTS is not the stream that was read so far. */
  async function openConsumer(): Promise<Consumer> {
    if (place.made === '') place = { ...place, made: await streamMade(bus, streamNames.events) };
    const opened = await consumerFrom(place.seq + 1);
    // Looked at when the consumer is there: it ends with its stream.
    const change = await changeSince(bus, streamNames.events, place, clock);
    if (change === null) return opened;
    void opened.delete().catch((error: unknown) => ignoring(error, 'the server forgets it by itself'));
    place = { made: await streamMade(bus, streamNames.events), seq: 0, storedAtNs: null };
    metrics.eventsChanged.inc({ reader: 'follower' });
    log.error({ alarm: 'events_changed', carrier, change }, 'reads EVENTS from its beginning');
    return consumerFrom(1);
  }

  async function open(): Promise<ConsumerMessages> {
    isOnlyPullLost = false;
    consumer = await openConsumer();
    const { num_pending: waiting } = await consumer.info();
    if (waiting === 0) caughtUp.resolve();
    const opened = await consumer.consume({ max_messages: recordsPerPull, ...lowLatencyPull, callback: take });
    const onLost = () => {
      isOnlyPullLost = true;
      opened.stop();
    };
    watchPulls(bus, opened, lowLatencyPull.expires, clock, onLost);
    watchConsumer(opened, () => opened.stop());
    return opened;
  }

  async function keepGoing(): Promise<void> {
    while (!stopped) {
      try {
        messages ??= await open();
        if (stopped) messages.stop();
        await messages.closed();
      } catch (error) {
        log.warn({ carrier, error: messageOf(error) }, 'the events of other nodes are not heard, trying again');
      }
      messages = null;
      if (!stopped && !isOnlyPullLost) await clock.sleep(retryAfterMs);
    }
  }

  const again = () => messages?.stop();
  messages = await open();
  const stopReconnects = bus.onReconnect(again);
  const running = keepGoing();
  const stop = async () => {
    stopped = true;
    stopReconnects();
    messages?.stop();
    await Promise.race([running, clock.sleep(2_000)]);
  };
  const readTo = async () => {
    if (consumer === null) throw new Error('the events are not read at the moment');
    const toSeq = place.seq;
    const asked = consumer.info();
    const { num_pending: waiting } = await withDeadline('a follower', limits.carrier.floorTimeoutMs, asked, clock);
    return waiting === 0 ? Number.POSITIVE_INFINITY : toSeq;
  };
  const stopPublishing = clock.every(limits.carrier.replaySilentMs, () =>
    log.warn(
      { alarm: 'replay_waiting', carrier, lastSeq: place.seq },
      'the carrier takes no work until it has read its events',
    ),
  );
  const onAbort = () => caughtUp.reject(signal?.reason);
  signal?.addEventListener('abort', onAbort);
  if (signal?.aborted === true) onAbort();
  try {
    await caughtUp.promise;
  } catch (error) {
    await stop();
    throw error;
  } finally {
    stopPublishing();
    signal?.removeEventListener('abort', onAbort);
  }
  return { again, readTo, stop };
}

// Reads EVENTS from a given record on, each once and in order, for ever: through reconnects, server restarts and lost
// consumers. The recorder's ranges must be repeatable, so it uses an ordered consumer from a position the recorder
// keeps; acks could deliver out of order after a reconnect. When the stream is another one of that name it ends.
import { DeliverPolicy, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../../cluster/bus/connect.ts';
import { lowLatencyPull, watchConsumer, watchPulls } from '../../cluster/bus/lost-pull.ts';
import { StreamChanged, type StreamPosition, changeSince } from '../../cluster/bus/stream-position.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';

export type StreamReader = {
  /**
   * Settles when reading ended: after `stop`, or because `handle` failed (then it rejects with that), or with
   * StreamChanged when EVENTS is not the stream that was read so far.
   */
  readonly done: Promise<void>;
  stop(): void;
};

const retryAfterMs = 500;

/**
 * Calls `handle` for every record behind `from`, one after the other. While the promise it returns is open
 * nothing more is read than the prefetch; after `pausedMaxMs` the consumer is let go and opened again later.
 */
export function readEvents(
  bus: Bus,
  from: StreamPosition,
  handle: (record: JsMsg) => Promise<void> | undefined,
  { clock = systemClock, pausedMaxMs = 2_000 }: { clock?: Clock; pausedMaxMs?: number } = {},
): StreamReader {
  /** Up to here it was read. */
  let place = from;
  let stopped = false;
  let messages: ConsumerMessages | null = null;
  let handlerFailure: { readonly error: unknown } | null = null;

  async function read(): Promise<void> {
    while (!stopped) {
      try {
        messages = await open(bus, place, clock);
        if (stopped) break;
        await take(messages);
      } catch (error) {
        if (handlerFailure !== null) throw handlerFailure.error;
        if (error instanceof StreamChanged) {
          if (stopped) return;
          throw error;
        }
        log.warn({ error: messageOf(error) }, 'the reader of EVENTS was lost, opening it again');
        await clock.sleep(retryAfterMs);
      } finally {
        messages?.stop();
      }
    }
  }

  async function take(from: ConsumerMessages): Promise<void> {
    for await (const record of from) {
      if (stopped) return;
      if (record.seq <= place.seq) continue;
      const work = attempt(record);
      place = { made: place.made, seq: record.seq, storedAtNs: record.timestampNanos };
      if (work === undefined) continue;
      const paused = work.catch((error: unknown) => {
        handlerFailure = { error };
        throw error;
      });
      const patience = new AbortController();
      const long = clock.sleep(pausedMaxMs, patience.signal).then(
        () => true,
        () => false,
      );
      const tooLong = await Promise.race([paused.then(() => false), long]);
      patience.abort();
      if (!tooLong) continue;
      from.stop();
      await paused;
      return;
    }
  }

  /** A handler that throws is a bug, and reading on would only repeat it: it ends the reader. */
  function attempt(record: JsMsg): Promise<void> | undefined {
    try {
      return handle(record);
    } catch (error) {
      handlerFailure = { error };
      throw error;
    }
  }

  // On a new connection the server may be one that was put back from a backup.
  const stopReconnects = bus.onReconnect(() => messages?.stop());
  return {
    done: read().finally(stopReconnects),
    stop() {
      stopped = true;
      messages?.stop();
    },
  };
}

async function open(bus: Bus, place: StreamPosition, clock: Clock): Promise<ConsumerMessages> {
  const consumer = await bus.jetstream.consumers.get(streamNames.events, {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: place.seq + 1,
    inactive_threshold: 30_000,
  });
  // Looked at when the consumer is there: it ends with its stream.
  const change = await changeSince(bus, streamNames.events, place, clock);
  if (change !== null) {
    void consumer.delete().catch((error: unknown) => ignoring(error, 'the server forgets it by itself'));
    throw new StreamChanged(streamNames.events, change);
  }
  const messages = await consumer.consume({ max_messages: limits.recorder.prefetchRecords, ...lowLatencyPull });
  watchPulls(bus, messages, lowLatencyPull.expires, clock, () => messages.stop());
  watchConsumer(messages, () => messages.stop());
  return messages;
}

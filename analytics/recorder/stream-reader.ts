// The records of EVENTS from a given one on, each once and in order, for ever: over reconnects, a restarted server
// and consumers that were lost. Order is what makes the ranges of the recorder repeatable, so this reads with an
// ordered consumer from a position the recorder keeps itself; acks could hand records out of order after a reconnect.
import { DeliverPolicy, type ConsumerMessages, type JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../../cluster/bus/connect.ts';
import { promptPull, watchPulls } from '../../cluster/bus/lost-pull.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';

export type StreamReader = {
  /** Settles when reading ended: after `stop`, or because `handle` failed (then it rejects with that). */
  readonly done: Promise<void>;
  stop(): void;
};

const retryAfterMs = 500;

/**
 * Calls `handle` for every record from `fromSeq` on, one after the other. While the promise it returns is open
 * nothing more is read than the prefetch; after `pausedMaxMs` the consumer is let go and opened again later.
 */
export function readEvents(
  bus: Bus,
  fromSeq: number,
  handle: (record: JsMsg) => Promise<void> | undefined,
  { clock = systemClock, pausedMaxMs = 2_000 }: { clock?: Clock; pausedMaxMs?: number } = {},
): StreamReader {
  let nextSeq = fromSeq;
  let stopped = false;
  let messages: ConsumerMessages | null = null;
  let handlerFailure: { readonly error: unknown } | null = null;

  async function read(): Promise<void> {
    while (!stopped) {
      try {
        messages = await open(bus, nextSeq, clock);
        if (stopped) break;
        await take(messages);
      } catch (error) {
        if (handlerFailure !== null) throw handlerFailure.error;
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
      if (record.seq < nextSeq) continue;
      const work = attempt(record);
      nextSeq = record.seq + 1;
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

  return {
    done: read(),
    stop() {
      stopped = true;
      messages?.stop();
    },
  };
}

async function open(bus: Bus, fromSeq: number, clock: Clock): Promise<ConsumerMessages> {
  const consumer = await bus.jetstream.consumers.get(streamNames.events, {
    deliver_policy: DeliverPolicy.StartSequence,
    opt_start_seq: fromSeq,
    inactive_threshold: 30_000,
  });
  const messages = await consumer.consume({ max_messages: limits.recorder.prefetchRecords, ...promptPull });
  watchPulls(bus, messages, promptPull.expires, clock, () => messages.stop());
  return messages;
}

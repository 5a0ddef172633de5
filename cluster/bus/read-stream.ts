// Reads a stream from a given record on, each record once and in order, for ever: through reconnects, server restarts
// and lost consumers. The reader's position is kept here and by its owner, not by acks, which could deliver out of
// order after a reconnect. A stream that was recreated under the reader is noticed before anything of it is taken.
import { type Consumer, type ConsumerMessages, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import type { Bus } from './connect.ts';
import { lowLatencyPull, type patientPull, watchConsumer, watchPulls } from './lost-pull.ts';
import { StreamChanged, type StreamPosition, changeSince, streamMade } from './stream-position.ts';

type StreamReading = {
  readonly stream: string;
  /** Left out: all of it. */
  readonly filter?: string;
  /** It begins behind this record. `made` '': of the stream as it is now. */
  readonly from: StreamPosition;
  /** While the promise it returns is open no other record is taken. A failure is a bug and ends the reader. */
  readonly take: (record: JsMsg) => Promise<void> | undefined;
  /** The stream is another one: it is read from its beginning. Left out: the reader ends with StreamChanged. */
  readonly onChanged?: (change: string) => void;
  /** Records on their way to `take`, at the most. */
  readonly prefetch: number;
  /** Left out: a lost consumer is noticed within a second. */
  readonly pull?: typeof lowLatencyPull | typeof patientPull;
  readonly clock?: Clock;
};

export type StreamReader = {
  /** Resolves when all that was there has been taken; rejects when reading ends first, after `stop` with its reason. */
  readonly caughtUp: Promise<void>;
  /** Resolves after `stop`; rejects with what `take` failed with, or with StreamChanged. */
  readonly done: Promise<void>;
  /** The last record that was taken. */
  readonly position: StreamPosition;
  /** How many records have not been taken yet. Rejects when the server does not say. */
  waiting(answerWithinMs: number): Promise<number>;
  /** Recreates the consumer behind what was taken. */
  reopen(): void;
  stop(why?: unknown): void;
};

const retryAfterMs = 500;
/** How long `take` may keep a record until the consumer is let go: a server forgets one that does not pull. */
const pausedMaxMs = 2_000;
/** A consumer that is left holds back the purge of its stream. */
const forgottenAfterMs = 30_000;

export function readStream(bus: Bus, reading: StreamReading): StreamReader {
  const { stream, filter, take, onChanged, prefetch, pull = lowLatencyPull, clock = systemClock } = reading;
  let position = reading.from;
  let stopped = false;
  let consumer: Consumer | null = null;
  let messages: ConsumerMessages | null = null;
  /** Of `messages`, those that have been taken or were known already. */
  let seen = 0;
  let failure: { readonly error: unknown } | null = null;
  const caughtUp = Promise.withResolvers<void>();
  caughtUp.promise.catch((error: unknown) => ignoring(error, 'reported to whoever waits for it'));

  async function read(): Promise<void> {
    while (!stopped) {
      try {
        messages = await open();
        // It ends with its iteration only.
        if (stopped) messages.stop();
        await takeAll(messages);
      } catch (error) {
        if (failure !== null) throw failure.error;
        if (stopped) return ignoring(error, 'the reader was stopped');
        if (error instanceof StreamChanged) throw error;
        log.warn({ stream, filter, error: messageOf(error) }, 'the reader of a stream was lost, opening it again');
        await clock.sleep(retryAfterMs);
      } finally {
        close();
      }
    }
  }

  async function open(): Promise<ConsumerMessages> {
    if (position.made === '') position = { ...position, made: await streamMade(bus, stream) };
    consumer = await bus.jetstream.consumers.get(stream, {
      ...(filter === undefined ? {} : { filter_subjects: filter }),
      deliver_policy: DeliverPolicy.StartSequence,
      opt_start_seq: position.seq + 1,
      inactive_threshold: forgottenAfterMs,
    });
    // Looked at when the consumer is there: it ends with its stream.
    const change = await changeSince(bus, stream, position, clock);
    if (change !== null) {
      if (onChanged === undefined) throw new StreamChanged(stream, change);
      onChanged(change);
      position = { made: '', seq: 0, storedAtNs: null };
      close();
      return open();
    }
    const { num_pending: present } = await consumer.info();
    if (present === 0) caughtUp.resolve();
    seen = 0;
    const opened = await consumer.consume({ max_messages: prefetch, ...pull });
    watchPulls(bus, opened, pull.expires, clock, () => opened.stop());
    watchConsumer(opened, () => opened.stop());
    return opened;
  }

  function close(): void {
    messages?.stop();
    void consumer?.delete().catch((error: unknown) => ignoring(error, 'the server forgets it by itself'));
    messages = consumer = null;
  }

  async function takeAll(records: ConsumerMessages): Promise<void> {
    for await (const record of records) {
      if (stopped) return;
      // A consumer that was recreated may begin with what it had delivered before.
      if (record.seq > position.seq) {
        const work = attempt(record);
        position = { made: position.made, seq: record.seq, storedAtNs: record.timestampNanos };
        if (work !== undefined && (await outlasts(work))) {
          records.stop();
          return work;
        }
      }
      seen += 1;
      if (record.info.pending === 0) caughtUp.resolve();
    }
  }

  /** Reading on would only repeat a failure. */
  function attempt(record: JsMsg): Promise<void> | undefined {
    const failed = (error: unknown) => {
      failure = { error };
      throw error;
    };
    try {
      return take(record)?.catch(failed);
    } catch (error) {
      return failed(error);
    }
  }

  /** False when it is done in time. */
  async function outlasts(work: Promise<void>): Promise<boolean> {
    const patience = new AbortController();
    const long = clock.sleep(pausedMaxMs, patience.signal).then(
      () => true,
      () => false,
    );
    const isTooLong = await Promise.race([work.then(() => false), long]);
    patience.abort();
    return isTooLong;
  }

  const reopen = () => messages?.stop();
  // On a new connection the server may be one that was put back from a backup.
  const stopReconnects = bus.onReconnect(reopen);
  const failed = (error: unknown) => {
    caughtUp.reject(error);
    throw error;
  };
  return {
    caughtUp: caughtUp.promise,
    done: read().catch(failed).finally(stopReconnects),
    get position() {
      return position;
    },
    async waiting(answerWithinMs) {
      if (consumer === null) throw new Error(`${stream} is not read at the moment`);
      const { num_pending: notSent } = await withDeadline('a reader', answerWithinMs, consumer.info(), clock);
      // Its `getPending` counts pulls, too.
      return notSent + (messages === null ? 0 : messages.getReceived() - seen);
    },
    reopen,
    stop(why = new Error(`the reader of ${stream} was stopped`)) {
      stopped = true;
      caughtUp.reject(why);
      messages?.stop();
    },
  };
}

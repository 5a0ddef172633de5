// Reads a stream from a given record on, each record once and in order, for ever: through reconnects, server restarts
// and lost consumers. The reader and its owner keep the position, not acks, which could deliver out of order after a
// reconnect. A stream that was recreated is noticed before any of its records is taken.
import { type Consumer, type ConsumerMessages, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { WorkTurn } from '../../platform/work-turn.ts';
import type { Bus } from './connect.ts';
import { lowLatencyPull, type patientPull, watchConsumer, watchPulls } from './lost-pull.ts';
import { StreamChanged, type StreamPosition, changeSince, streamMade } from './stream-position.ts';

type StreamReading = {
  readonly stream: string;
  /** Missing: all subjects. */
  readonly filter?: string;
  /** The record to start after. `made` '': of the present stream. */
  readonly from: StreamPosition;
  /** No other record is taken until its promise resolves. A rejection is a bug and ends the reader. */
  readonly take: (record: JsMsg) => Promise<void> | undefined;
  /** Called when the stream is another one, which is then read from its beginning. Missing: ends with StreamChanged. */
  readonly onChanged?: (change: string) => void;
  /** The most records received and not taken. */
  readonly prefetch: number;
  /** Missing: a lost consumer is noticed within a second. */
  readonly pull?: typeof lowLatencyPull | typeof patientPull;
  readonly clock?: Clock;
};

export type StreamReader = ReturnType<typeof readStream>;

const retryAfterMs = 500;
/** How long `take` may run before the consumer is closed: the server deletes one that does not pull. */
const pausedMaxMs = 2_000;
/** An abandoned consumer holds back the purge of its stream. */
const forgottenAfterMs = 30_000;

export function readStream(bus: Bus, reading: StreamReading) {
  const { stream, filter, take, onChanged, prefetch, pull = lowLatencyPull, clock = systemClock } = reading;
  let position = reading.from;
  let stopped = false;
  let consumer: Consumer | null = null;
  let messages: ConsumerMessages | null = null;
  /** How many of `messages` have been taken or skipped. */
  let seen = 0;
  let failure: { readonly error: unknown } | null = null;
  const caughtUp = Promise.withResolvers<void>();
  caughtUp.promise.catch((error: unknown) => ignoring(error, 'reported to the caller that waits for it'));

  async function read(): Promise<void> {
    while (!stopped) {
      try {
        messages = await open();
        // Stopping takes effect in its iteration.
        if (stopped) messages.stop();
        await takeAll(messages);
      } catch (error) {
        if (failure !== null) throw failure.error;
        if (stopped) return ignoring(error, 'the reader was stopped');
        if (error instanceof StreamChanged) throw error;
        log.warn({ stream, filter, error: messageOf(error) }, 'the reader of a stream was lost, reopening it');
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
    // Checked while the consumer exists: it is deleted with its stream.
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
    watchPulls(bus, consumer, opened, pull.expires, clock, () => opened.stop());
    watchConsumer(opened, () => opened.stop());
    return opened;
  }

  function close(): void {
    messages?.stop();
    void consumer?.delete().catch((error: unknown) => ignoring(error, 'the server deletes the unused consumer itself'));
    messages = consumer = null;
  }

  async function takeAll(records: ConsumerMessages): Promise<void> {
    // Records that came together would be one long turn.
    const turn = new WorkTurn(clock);
    for await (const record of records) {
      if (turn.isOver) await turn.next();
      if (stopped) return;
      // A recreated consumer may begin with records delivered before.
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

  /** A failure is not retried: it would repeat. */
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

  /** Whether the work takes longer than pausedMaxMs. */
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
  // After a reconnect the server may be one restored from a backup.
  const stopReconnects = bus.onReconnect(reopen);
  const failed = (error: unknown) => {
    caughtUp.reject(error);
    throw error;
  };
  return {
    /** Resolves when everything present at the start has been taken; rejects when reading ends first. */
    caughtUp: caughtUp.promise,
    /** Resolves after `stop`; rejects with the error of `take`, or with StreamChanged. */
    done: read().catch(failed).finally(stopReconnects),
    /** The last record taken. */
    get position() {
      return position;
    },
    /** The number of records not taken yet. Rejects when the server does not answer. */
    async waiting(answerWithinMs: number): Promise<number> {
      if (consumer === null) throw new Error(`${stream} is not read at the moment`);
      const { num_pending: notSent } = await withDeadline('a reader', answerWithinMs, consumer.info(), clock);
      // `getPending` of the client counts pulls too.
      return notSent + (messages === null ? 0 : messages.getReceived() - seen);
    },
    /** Recreates the consumer after the last record taken. */
    reopen,
    stop(why: unknown = new Error(`the reader of ${stream} was stopped`)) {
      stopped = true;
      caughtUp.reject(why);
      messages?.stop();
    },
  };
}

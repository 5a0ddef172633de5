// Publishes what happens to one-time passwords and what the guard against fraud decides: reads their records, which are
// the truth, and publishes a fact to FACTS for each change. So nothing is published that was not stored, everything
// that was stored is published, and a request never waits for it. One process of all publishes; what it must know after
// a restart is one small entry.
import type { JsMsg } from '@nats-io/jetstream';
import type { KV } from '@nats-io/kv';
import { readEntry } from '../../cluster/bus/bucket.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { readGuardEntry } from '../../cluster/bus/otp-guard-bucket.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { type StreamReader, readStream } from '../../cluster/bus/read-stream.ts';
import { type KeyValueBucket, bucketOperation, streamOfBucket, subjectInBucket } from '../../cluster/bus/streams.ts';
import { type GuardFact, type OtpFact, otpFactsOf } from '../../model/fact.ts';
import { decodeOtpNumber } from '../../model/records/otp-record.ts';
import type { Clock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { jsonObjectIn } from '../../platform/json.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { runAsOwner } from '../single-owner.ts';
import { factsOfEntry } from './guard-facts.ts';
import { OtpEnds } from './otp-ends.ts';
import { PublishedEnds } from './published-ends.ts';
import { PublishedFacts } from './published-facts.ts';

type OtpEventsParts = { readonly bus: Bus; readonly bucket: KV; readonly clock: Clock };
type RunParts = Omit<OtpEventsParts, 'bucket'> & { readonly replicas: number; readonly alone: boolean };

/** Keeps one process of all publishing them, for as long as this one runs. Returns at once. */
export function runOtpEvents({ bus, replicas, alone, clock }: RunParts): { stop(): Promise<void> } {
  const what = 'the events of one-time passwords';
  const start = (bucket: KV) => OtpEvents.start({ bus, bucket, clock });
  return runAsOwner({ bus, bucket: 'otp_events', replicas, what, alone, clock, start });
}

/**
 * Up to where a bucket's records were published. `made`: when its stream was created; '' when nothing was published.
 */
type Place = { readonly made: string; readonly seq: number };

/**
 * `fromSeq`: OTP of records from here on may still wait for their end · `endedToMs`: earlier ends by time were published,
 * of the records up to the place · `publishedToMs`: earlier ends were published, whatever record has them.
 */
type Kept = {
  readonly otp: Place;
  readonly fromSeq: number;
  readonly endedToMs: number;
  /** Missing in entries of an earlier version. */
  readonly publishedToMs?: number;
  readonly guard: Place;
};

const bounds = limits.facts;
const placeKey = 'place';
const placeName = 'the place of one-time passwords';
const nothing: Place = { made: '', seq: 0 };
const publishedNothing: Kept = { otp: nothing, fromSeq: 0, endedToMs: 0, guard: nothing };

export class OtpEvents {
  readonly #parts: OtpEventsParts;
  readonly #publisher: Publisher;
  readonly #ends: OtpEnds;
  readonly #publishedEnds: PublishedEnds;
  readonly #stopping = new AbortController();
  readonly #before: Kept;
  readonly #otps: Publishing;
  readonly #blocks: Publishing;
  readonly #keeping: Promise<void>;
  #stored = '';

  /** Goes on where the last one ended. Rejects while NATS does not answer. */
  static async start(parts: OtpEventsParts): Promise<OtpEvents> {
    const read = readEntry(parts.bucket, placeKey);
    const { entry } = await withDeadline(placeName, limits.delivery.answerMs, read, parts.clock);
    const stored = entry === null ? null : jsonObjectIn(entry.value);
    return new OtpEvents(parts, stored === null ? publishedNothing : (stored as unknown as Kept));
  }

  private constructor(parts: OtpEventsParts, before: Kept) {
    const { bus, clock } = parts;
    this.#parts = parts;
    this.#before = before;
    this.#publisher = new Publisher(bus, {
      deadlineMs: Number.POSITIVE_INFINITY,
      inFlightMax: bounds.inFlightMax * 32,
      gatherMs: limits.delivery.gatherMs,
      clock,
    });
    this.#ends = new OtpEnds({ bus, clock, publish: (fact, done) => this.#otps.facts.publish(fact, done) });
    const { otp, fromSeq, publishedToMs = 0, guard } = before;
    this.#publishedEnds = new PublishedEnds(publishedToMs);
    this.#otps = this.#publishOf('otp', otp, Math.min(otp.seq, Math.max(0, fromSeq - 1)), (record, key) =>
      this.#otpFacts(record, key),
    );
    this.#blocks = this.#publishOf('otp_guard', guard, guard.seq, ({ data }, key) => {
      const said = readGuardEntry(key, data);
      return said === null ? [] : factsOfEntry(said);
    });
    this.#keeping = this.#keepPlace();
  }

  /** Stores how far it came. What is not durable by then the next process publishes. */
  async stop(): Promise<void> {
    this.#stopping.abort(new Error('the events of one-time passwords stop'));
    this.#ends.stop();
    for (const { reader } of [this.#otps, this.#blocks]) reader.stop();
    await this.#keeping;
    const idle = withDeadline('the last events', limits.delivery.answerMs, this.#publisher.idle(), this.#parts.clock);
    await idle.catch((error: unknown) => ignoring(error, 'they are published again'));
    await this.#store().catch((error: unknown) => ignoring(error, 'the next process publishes a little again'));
    this.#publisher.close();
  }

  #otpFacts({ data, seq, info, timestampNanos }: JsMsg, key: string): readonly OtpFact[] {
    const [accountId = '', mode] = key.split('.');
    const { number } = decodeOtpNumber(data);
    const held = otpFactsOf(number, { accountId, livemode: mode === 'live' }, seq);
    const facts = this.#publishedEnds.unpublished(held, number.failuresMs);
    const wasPublished = seq <= this.#before.otp.seq && this.#otps?.isAnother !== true;
    for (const fact of facts) {
      if (!wasPublished || fact.expiresAtMs >= this.#before.endedToMs) this.#ends.note(fact, key, seq);
    }
    if (info.pending === 0) this.#publishedEnds.readLast(seq, Number(timestampNanos / 1_000_000n));
    // What has ended by its time is published as ended, by OtpEnds, maybe before this record was written again.
    const nowMs = this.#parts.clock.nowMs();
    return facts.filter(({ status, expiresAtMs }) => status !== 'pending' || expiresAtMs + bounds.graceMs > nowMs);
  }

  /**
   * Reads a bucket from `fromSeq` on; records that were published before are read for what they say, and not published.
   */
  #publishOf(
    bucket: KeyValueBucket,
    before: Place,
    fromSeq: number,
    factsOf: (record: JsMsg, key: string) => readonly (OtpFact | GuardFact)[],
  ): Publishing {
    const { bus, clock } = this.#parts;
    const { signal } = this.#stopping;
    const facts = new PublishedFacts(this.#publisher, before.seq, clock);
    const keyAt = subjectInBucket(bucket, '').length;
    const state = { facts, isAnother: false, isCaughtUp: false };
    const take = (record: JsMsg): Promise<void> | undefined => {
      const wasPublished = !state.isAnother && record.seq <= before.seq;
      let said: readonly (OtpFact | GuardFact)[] = [];
      try {
        if (record.headers?.has(bucketOperation) !== true) said = factsOf(record, record.subject.slice(keyAt));
      } catch (error) {
        log.warn({ bucket, seq: record.seq, error: messageOf(error) }, 'a record cannot be read and is not published');
      }
      if (wasPublished) return undefined;
      facts.take(
        record.seq,
        said.map((fact) => [fact.kind === 'otp' ? fact.id : `${fact.accountId} ${fact.scope}`, fact] as const),
      );
      return facts.hasRoom && !this.#ends.isFull ? undefined : facts.room(signal, () => this.#ends.isFull);
    };
    const reader = readStream(bus, {
      stream: streamOfBucket(bucket),
      // The record there may have been replaced by a later one of its key: its time proves nothing.
      from: { made: before.made, seq: fromSeq, storedAtNs: null },
      take,
      onChanged: () => {
        const changed = { alarm: 'otp_records_changed', bucket };
        log.error(changed, 'the records of one-time passwords are others: all are published');
        state.isAnother = true;
        facts.reset();
        if (bucket === 'otp') {
          this.#ends.forget();
          this.#publishedEnds.reset();
        }
      },
      prefetch: bounds.prefetch,
      clock,
    });
    const caughtUp = () => {
      state.isCaughtUp = true;
    };
    reader.caughtUp.then(caughtUp, (error: unknown) => ignoring(error, 'stopped before everything was read'));
    reader.done.catch((error: unknown) => ignoring(error, 'the reader was stopped'));
    return Object.assign(state, { reader });
  }

  async #keepPlace(): Promise<void> {
    const { signal } = this.#stopping;
    while (!signal.aborted) {
      try {
        await this.#store();
      } catch (error) {
        log.warn({ error: messageOf(error) }, 'the place of one-time passwords could not be stored, trying again');
      }
      await this.#parts.clock.sleep(bounds.placeEveryMs, signal).catch((error: unknown) => ignoring(error, 'it stops'));
    }
  }

  async #store(): Promise<void> {
    const { fromSeq, endedToMs } = this.#ends.place;
    const otp = placeOf(this.#otps);
    const guard = placeOf(this.#blocks);
    if (otp.made === '' || guard.made === '') return;
    // Until the records of before were read again, it is not known which OTP wait for their end.
    if (!this.#otps.isCaughtUp) return;
    this.#publishedEnds.durable(otp.seq, endedToMs);
    const { toMs: publishedToMs } = this.#publishedEnds;
    const kept: Kept = { otp, fromSeq: Math.min(fromSeq, otp.seq + 1), endedToMs, publishedToMs, guard };
    const text = JSON.stringify(kept);
    if (text === this.#stored) return;
    const written = this.#parts.bucket.put(placeKey, text);
    await withDeadline(placeName, limits.delivery.answerMs, written, this.#parts.clock);
    this.#stored = text;
  }
}

type Publishing = {
  readonly facts: PublishedFacts;
  readonly reader: StreamReader;
  /** Its stream is another one than that of the place. */
  readonly isAnother: boolean;
  /** What was there at the start was read. */
  readonly isCaughtUp: boolean;
};

function placeOf({ facts, reader }: Publishing): Place {
  return { made: reader.position.made, seq: facts.durableSeq };
}

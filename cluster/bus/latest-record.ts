// Reads the latest record of a key of a bucket, as the base of a compare-and-set: from any copy of the stream, fast and
// perhaps older, or from its leader, with which the next write is compared. A server that has just started loads its
// store with the first reads, so a read is repeated until its deadline.
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import type { Bus } from './connect.ts';
import { type KeyValueBucket, streamOfBucket, subjectInBucket } from './streams.ts';

export type LatestRecord = { readonly octets: Uint8Array; readonly revision: number };

/** readMs: in all · readTryMs: one try · readAgainMs: between two. */
export type ReadTimes = { readonly readMs: number; readonly readTryMs: number; readonly readAgainMs: number };

const notFoundCode = 404;

/** Every method resolves with null when there is no record, and rejects when NATS does not answer in time. */
export class LatestRecords {
  readonly #bus: Bus;
  readonly #bucket: KeyValueBucket;
  readonly #stream: string;
  readonly #times: ReadTimes;
  readonly #clock: Clock;

  constructor(bus: Bus, bucket: KeyValueBucket, times: ReadTimes, clock: Clock = systemClock) {
    this.#bus = bus;
    this.#bucket = bucket;
    this.#stream = streamOfBucket(bucket);
    this.#times = times;
    this.#clock = clock;
  }

  any(key: string): Promise<LatestRecord | null> {
    const subject = `$JS.API.DIRECT.GET.${this.#stream}.${subjectInBucket(this.#bucket, key)}`;
    return this.#persistently(async (timeout) => {
      const answer = await this.#bus.connection.request(subject, undefined, { timeout });
      if (answer.headers?.code === notFoundCode) return null;
      const revision = Number(answer.headers?.get('Nats-Sequence'));
      if (!(revision > 0))
        throw new Error(`a record could not be read: ${answer.headers?.description ?? 'no sequence'}`);
      return { octets: answer.data, revision };
    });
  }

  leader(key: string): Promise<LatestRecord | null> {
    return this.#persistently(async () => {
      const query = { last_by_subj: subjectInBucket(this.#bucket, key) };
      const stored = await this.#bus.manager.streams.getMessage(this.#stream, query);
      return stored === null ? null : { octets: stored.data, revision: stored.seq };
    });
  }

  async #persistently(ask: (timeoutMs: number) => Promise<LatestRecord | null>): Promise<LatestRecord | null> {
    const { readMs, readTryMs, readAgainMs } = this.#times;
    const endAtMs = this.#clock.monotonicMs() + readMs;
    for (;;) {
      try {
        return await ask(Math.max(1, Math.min(readTryMs, endAtMs - this.#clock.monotonicMs())));
      } catch (error) {
        if (this.#clock.monotonicMs() + readAgainMs >= endAtMs) throw error;
        ignoring(error, 'a record could not be read; it is read again');
        await this.#clock.sleep(readAgainMs);
      }
    }
  }
}

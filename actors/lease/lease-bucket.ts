// The bucket `leases`: every change in order, and writes by compare-and-set only. A write ends in a revision, in
// `conflict`, or in `unclear` when no answer came: then it may have been stored, and only another compare-and-set shows
// it.
import { type ConsumerMessages, DeliverPolicy, type JsMsg } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { type Written, orConflict } from '../../cluster/bus/bucket.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { lowLatencyPull } from '../../cluster/bus/lost-pull.ts';
import { bucketOperation, streamOfBucket, subjectInBucket } from '../../cluster/bus/streams.ts';

export type LeaseEntry = {
  readonly key: string;
  readonly revision: number;
  /** Null: it was released or deleted. */
  readonly value: Uint8Array | null;
};

export type LeaseWrite = Written | 'unclear';

/** The storage of leases; a test implements it with delays of its own. */
export type LeaseStore = Pick<LeaseBucket, 'watch' | 'put' | 'remove' | 'last' | 'close'>;

const stream = streamOfBucket('leases');
const prefix = subjectInBucket('leases', '');

export class LeaseBucket {
  readonly #bus: Bus;
  readonly #replicas: number;
  #messages: ConsumerMessages | null = null;
  #closed = false;

  constructor(bus: Bus, replicas = 1) {
    this.#bus = bus;
    this.#replicas = replicas;
  }

  /**
   * Delivers the present state of every key, then every change in the bucket's order. Resolves when the present state
   * is delivered. Creates a missing bucket; a second watch replaces the first.
   */
  async watch(onEntry: (entry: LeaseEntry) => void): Promise<void> {
    this.#messages?.stop();
    await openBucket(this.#bus, 'leases', this.#replicas);
    // Read first: the watch then delivers at least this much. The server's count of what is still to come may be too
    // high while entries are overwritten.
    const { state } = await this.#bus.manager.streams.info(stream);
    const consumer = await this.#bus.jetstream.consumers.get(stream, {
      filter_subjects: `${prefix}>`,
      deliver_policy: DeliverPolicy.LastPerSubject,
    });
    const { num_pending: present } = await consumer.info();
    const loaded = Promise.withResolvers<void>();
    if (present === 0) loaded.resolve();
    const messages = await consumer.consume({
      max_messages: 500,
      ...lowLatencyPull,
      callback: (record) => {
        onEntry(entryOf(record));
        if (record.info.pending === 0 || record.seq >= state.last_seq) loaded.resolve();
      },
    });
    if (this.#closed) messages.stop();
    this.#messages = messages;
    void messages.closed().then(() => loaded.reject(new Error('the watch of the leases ended')));
    try {
      await withDeadline('reading the present leases', limits.leases.loadedWithinMs, loaded.promise);
    } catch (error) {
      messages.stop();
      throw error;
    }
  }

  /** `expected`: the revision the key has now, 0 when it never had one. */
  put(key: string, value: Uint8Array, expected: number): Promise<LeaseWrite> {
    return this.#write(key, value, expected, null);
  }

  remove(key: string, expected: number): Promise<LeaseWrite> {
    return this.#write(key, new Uint8Array(0), expected, 'DEL');
  }

  /** As the stream's leader has it, and not an earlier state of some replica; null when there is none. */
  async last(key: string): Promise<LeaseEntry | null> {
    const record = await this.#bus.manager.streams.getMessage(stream, { last_by_subj: prefix + key });
    if (record === null) return null;
    const isGone = record.header?.get(bucketOperation) ? true : record.data.length === 0;
    return { key, revision: record.seq, value: isGone ? null : record.data };
  }

  close(): void {
    this.#closed = true;
    this.#messages?.stop();
    this.#messages = null;
  }

  async #write(key: string, value: Uint8Array, expected: number, verb: string | null): Promise<LeaseWrite> {
    // Buffered in a lost connection it would be stored late, when it means something else.
    if (!this.#bus.connected()) return 'unclear';
    const marks = headers();
    if (verb !== null) marks.set(bucketOperation, verb);
    try {
      const publish = this.#bus.jetstream.publish(prefix + key, value, {
        headers: marks,
        expect: { lastSubjectSequence: expected },
        timeout: limits.leases.requestTimeoutMs,
      });
      return await orConflict(publish.then(({ seq }) => ({ revision: seq })));
    } catch (error) {
      ignoring(error, 'a lease was written and no answer came: the next compare-and-set will show it');
      return 'unclear';
    }
  }
}

function entryOf(record: JsMsg): LeaseEntry {
  const isGone = record.headers?.has(bucketOperation) === true || record.data.length === 0;
  return { key: record.subject.slice(prefix.length), revision: record.seq, value: isGone ? null : record.data };
}

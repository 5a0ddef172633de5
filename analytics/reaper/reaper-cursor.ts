// The reaper's cursor, in the KV bucket of the recorder's progress. Every change is a compare-and-set: of two reapers
// only the later one goes on. It only moves forward.
import type { KV, KvEntry } from '@nats-io/kv';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { Fenced } from '../recorder/progress.ts';

/** Everything that falls due before it, and at the same time with an id up to this one, is settled. */
export type DuePosition = { readonly dueMs: number; readonly messageId: string };

type CursorRecord = DuePosition & { readonly owner: string };

const key = 'reaper';
const { busMs } = limits.reaper;

export class ReaperCursor {
  readonly #bucket: KV;
  readonly #clock: Clock;
  readonly #owner = secretBytes(9).toString('base64url');
  #revision: number;
  #position: DuePosition;

  private constructor(bucket: KV, clock: Clock, revision: number, position: DuePosition) {
    this.#bucket = bucket;
    this.#clock = clock;
    this.#revision = revision;
    this.#position = position;
  }

  /** Takes the place over from whoever had it; `startMs` says where to begin when nobody ever did. */
  static async takeOver(bucket: KV, startMs: () => Promise<number>, clock: Clock = systemClock): Promise<ReaperCursor> {
    const entry = await withDeadline('reading the reaper’s cursor', busMs, bucket.get(key), clock);
    const { dueMs, messageId } = parse(entry) ?? { dueMs: await startMs(), messageId: '' };
    const cursor = new ReaperCursor(bucket, clock, entry?.revision ?? 0, { dueMs, messageId });
    await cursor.#write({ dueMs, messageId });
    return cursor;
  }

  get position(): DuePosition {
    return this.#position;
  }

  /**
   * Durable when it resolves. Rejects with Fenced when another reaper has taken over, or when the bus does not answer.
   */
  async save({ dueMs, messageId }: DuePosition): Promise<void> {
    try {
      await this.#write({ dueMs, messageId });
    } catch (error) {
      const entry = await withDeadline('reading the reaper’s cursor', busMs, this.#bucket.get(key), this.#clock);
      const found = parse(entry);
      if (found !== null && found.owner !== this.#owner) throw new Fenced(found.owner);
      // What was not written is settled once more, which changes nothing.
      this.#revision = entry?.revision ?? 0;
      throw new Error(`the reaper's cursor could not be written: ${messageOf(error)}`);
    }
  }

  async #write(position: DuePosition): Promise<void> {
    const record: CursorRecord = { ...position, owner: this.#owner };
    const work = this.#bucket.put(key, JSON.stringify(record), { previousSeq: this.#revision });
    this.#revision = await withDeadline('writing the reaper’s cursor', busMs, work, this.#clock);
    this.#position = position;
  }
}

function parse(entry: KvEntry | null): CursorRecord | null {
  return entry === null || entry.operation !== 'PUT' ? null : entry.json<CursorRecord>();
}

// The reaper's cursor, in the KV bucket of the recorder's progress. Of two reapers only the later one continues. It
// only moves forward.
import type { KV } from '@nats-io/kv';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { FencedEntry } from '../fenced-entry.ts';

/** All messages due before it, and those due at the same time with an id up to this one, are settled. */
export type DuePosition = { readonly dueMs: number; readonly messageId: string };

type CursorRecord = DuePosition & { readonly owner: string };

export class ReaperCursor {
  readonly #entry: FencedEntry<CursorRecord>;
  #position: DuePosition;

  private constructor(entry: FencedEntry<CursorRecord>, position: DuePosition) {
    this.#entry = entry;
    this.#position = position;
  }

  /** Takes the cursor over from its owner; `startMs` gives the start when there is none. */
  static async takeOver(bucket: KV, startMs: () => Promise<number>, clock: Clock = systemClock): Promise<ReaperCursor> {
    const { busMs: answerWithinMs } = limits.reaper;
    const what = 'the reaper’s cursor';
    const entry = new FencedEntry<CursorRecord>({ bucket, key: 'reaper', what, answerWithinMs, clock });
    const { dueMs, messageId } = (await entry.takeOver()) ?? { dueMs: await startMs(), messageId: '' };
    const cursor = new ReaperCursor(entry, { dueMs, messageId });
    await cursor.#write({ dueMs, messageId });
    return cursor;
  }

  get position(): DuePosition {
    return this.#position;
  }

  /** Resolves when durable. Rejects with Fenced when another reaper has taken over, or when the bus does not answer. */
  async save({ dueMs, messageId }: DuePosition): Promise<void> {
    try {
      await this.#write({ dueMs, messageId });
    } catch (error) {
      // The messages since the stored position are settled once more, which changes nothing.
      await this.#entry.readBack();
      throw new Error(`the reaper's cursor could not be written: ${messageOf(error)}`);
    }
  }

  async #write(position: DuePosition): Promise<void> {
    await this.#entry.write({ ...position, owner: this.#entry.owner });
    this.#position = position;
  }
}

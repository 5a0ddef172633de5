// The reaper's cursor, in the KV bucket of the recorder's progress. Of two reapers only the later one continues. It
// only moves forward.
import type { KV } from '@nats-io/kv';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { FencedEntry } from '../fenced-entry.ts';

/** All messages due before it, and those due at the same time with an id up to this one, are settled. */
export type DuePosition = { readonly dueMs: number; readonly messageId: string };

export type ReaperCursor = {
  readonly position: DuePosition;
  /** Resolves when durable. Rejects with Fenced when another reaper has taken over, or when the bus does not answer. */
  save(position: DuePosition): Promise<void>;
};

/** Takes the cursor over from its owner; `startMs` gives the start when there is none. */
export async function takeOverCursor(
  bucket: KV,
  startMs: () => Promise<number>,
  clock: Clock = systemClock,
): Promise<ReaperCursor> {
  const { busMs: answerWithinMs } = limits.reaper;
  const what = 'the reaper’s cursor';
  type CursorRecord = DuePosition & { readonly owner: string };
  const entry = new FencedEntry<CursorRecord>({ bucket, key: 'reaper', what, answerWithinMs, clock });
  let position: DuePosition = (await entry.takeOver()) ?? { dueMs: await startMs(), messageId: '' };

  async function write({ dueMs, messageId }: DuePosition): Promise<void> {
    await entry.write({ dueMs, messageId, owner: entry.owner });
    position = { dueMs, messageId };
  }

  await write(position);
  return {
    get position() {
      return position;
    },
    async save(to) {
      try {
        await write(to);
      } catch (error) {
        // The messages since the stored position are settled once more, which changes nothing.
        await entry.readBack();
        throw new Error(`the reaper's cursor could not be written: ${messageOf(error)}`);
      }
    },
  };
}

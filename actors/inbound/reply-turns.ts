// The first asker of a keyword's answer: one entry of the bucket `inbound` per minute, written by compare-and-set, so
// that repeats and other nodes find the same moment. It expires after a day; only then could a repeat of the same
// message be answered as a new one.
import { createHash } from 'node:crypto';
import type { KV } from '@nats-io/kv';
import { readEntry, replace } from '../../cluster/bus/bucket.ts';
import { RetryLater } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';

export class ReplyTurns {
  readonly #bucket: KV;

  constructor(bucket: KV) {
    this.#bucket = bucket;
  }

  /**
   * The moment that was first said of this turn: `atMs`, unless an earlier one was written. Rejects when it is not
   * known.
   */
  async firstOf(turn: string, atMs: number): Promise<number> {
    const key = `reply.${createHash('sha256').update(turn).digest('base64url').slice(0, 22)}`;
    if ((await replace(this.#bucket, key, String(atMs), 0)) !== 'conflict') return atMs;
    const { entry } = await readEntry(this.#bucket, key);
    const firstAtMs = Number(entry?.string());
    // A replica that does not have it yet.
    if (!Number.isSafeInteger(firstAtMs) || firstAtMs <= 0) {
      throw new RetryLater('who asked first is not known yet', limits.bus.nakDelayMsMax);
    }
    return firstAtMs;
  }
}

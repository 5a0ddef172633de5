// One process at a time changes the schema of the event store. Who does it has an entry in the bucket of the recorder, writes
// it again while it works and before each statement, and frees it at the end; another one waits until it is free, or has
// been silent for a while. The former owner finds that out before its next statement, as a recorder does.
import type { KV } from '@nats-io/kv';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { FencedEntry } from '../fenced-entry.ts';

export type UpgradeLease = {
  /** Resolves when no other process upgrades. */
  take(): Promise<void>;
  /** Rejects with Fenced when another process has taken over: nothing more may be changed. */
  confirm(): Promise<void>;
  release(): Promise<void>;
};

/** For a store that no other process can open. */
export const noOther: UpgradeLease = {
  take: async () => {},
  confirm: async () => {},
  release: async () => {},
};

/** `heartbeats` grows with every write. */
export type LeaseRecord = { readonly owner: string; readonly heartbeats: number; readonly isFree: boolean };

/** In the bucket `recorder`. */
export const upgradeKey = 'schema';

type LeaseOptions = {
  readonly bucket: KV;
  /** After a silence of so long an owner is gone; 0 where only one process can have the store open. */
  readonly silentMs?: number;
  readonly stopping: AbortSignal;
  readonly clock?: Clock;
};

const { upgradeHeartbeatMs, upgradeSilentMs } = limits.recorder;
const askEveryMs = 1_000;
const answerWithinMs = 3_000;

/** Kept for all attempts of a process: what it left behind by an attempt that failed is its own. */
export function upgradeLease(options: LeaseOptions): UpgradeLease {
  const { bucket, silentMs = upgradeSilentMs, stopping, clock = systemClock } = options;
  const what = 'the upgrade of the event store';
  const entry = new FencedEntry<LeaseRecord>({ bucket, key: upgradeKey, what, answerWithinMs });
  let heartbeats = 0;
  let stopHeartbeats = () => {};
  /** Writes of the entry, one after the other: each needs the revision of the one before. */
  let last: Promise<unknown> = Promise.resolve();

  function write(isFree: boolean): Promise<void> {
    heartbeats += 1;
    return entry.write({ owner: entry.owner, heartbeats, isFree });
  }

  function inTurn(work: () => Promise<void>): Promise<void> {
    const turn = last.then(work, work);
    last = turn;
    return turn;
  }

  async function heartbeat(): Promise<void> {
    try {
      await write(false);
    } catch (error) {
      ignoring(error, 'the stored entry says whose it is');
      await entry.readBack();
    }
  }

  async function isClaimed(): Promise<boolean> {
    try {
      await write(false);
      return true;
    } catch (error) {
      ignoring(error, 'the stored entry is read again');
      return false;
    }
  }

  async function take(): Promise<void> {
    let seen = { by: '', sinceMs: clock.monotonicMs() };
    for (;;) {
      stopping.throwIfAborted();
      const found = await entry.takeOver();
      const by =
        found === null || found.isFree || found.owner === entry.owner ? '' : `${found.owner} ${found.heartbeats}`;
      const nowMs = clock.monotonicMs();
      if (by !== seen.by) {
        if (seen.by === '') log.info('another process upgrades the event store: waiting for its end');
        seen = { by, sinceMs: nowMs };
      }
      if ((by === '' || nowMs - seen.sinceMs >= silentMs) && (await isClaimed())) return;
      await clock.sleep(Math.min(askEveryMs, silentMs), stopping);
    }
  }

  return {
    async take() {
      await inTurn(take);
      stopHeartbeats = clock.every(upgradeHeartbeatMs, () => {
        inTurn(heartbeat).catch((error: unknown) => ignoring(error, 'the next statement is not made without it'));
      });
    },
    confirm: () => inTurn(heartbeat),
    async release() {
      stopHeartbeats();
      await inTurn(() => write(true)).catch((error: unknown) =>
        ignoring(error, 'the others wait until this process has been silent for long enough'),
      );
    },
  };
}

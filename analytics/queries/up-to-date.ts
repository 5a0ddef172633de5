// Whether this node has every event that EVENTS held when a query arrived: only then may it answer `none`. Only the
// recording node can know, because it holds the events that are not in ClickHouse yet. Concurrent queries share one
// request for the end of the stream, sent after they arrived.
import type { Bus } from '../../cluster/bus/connect.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Unavailable, UnavailableWhy } from '../contract.ts';
import type { Recorder } from '../recorder/recorder.ts';
import { batchLoader } from './batch-loader.ts';

export type UpToDate = {
  /** The last sequence recorded or held here; null while another node records. */
  recordedTo(): number | null;
  /** Runs `read` when everything up to `recordedTo` is recorded or held, and returns its result. */
  surely<T>(read: () => Promise<T>): Promise<Surely<T> | Unavailable>;
};

type Surely<T> = { readonly result: 'sure'; readonly recordedTo: number; readonly value: T };

type EndOfEvents = { readonly streamMade: string; readonly endSeq: number; readonly lastSeq: number };

/** `recorder` is called for each query; null while another node records. */
export function upToDateOver(
  bus: Pick<Bus, 'manager'>,
  recorder: () => Pick<Recorder, 'streamMade' | 'taken'> | null,
  clock: Clock = systemClock,
): UpToDate {
  const ask = async (asked: readonly null[]) => {
    const info = bus.manager.streams.info(streamNames.events);
    const { created, state } = await withDeadline('the end of EVENTS', limits.queries.catchUpMs, info, clock);
    // Purged records cannot be missing: only recorded ones are purged.
    const lastSeq = state.messages === 0 ? 0 : state.last_seq;
    return asked.map(() => ({ streamMade: String(created), endSeq: state.last_seq, lastSeq }));
  };
  const endOfEvents = batchLoader<null, EndOfEvents>(limits.queries.heldMax, ask, null, clock);

  return {
    recordedTo: () => recorder()?.taken.seq ?? null,
    async surely(read) {
      const from = recorder();
      if (from === null) return unavailable('behind', 'another node records');
      const takenTo = from.taken.seq;
      let end: EndOfEvents;
      try {
        end = await endOfEvents(null);
      } catch (error) {
        return unavailable('away', messageOf(error));
      }
      if (end.streamMade !== from.streamMade || end.endSeq < takenTo)
        return unavailable('behind', 'EVENTS was recreated');
      if (!(await from.taken.reached(end.lastSeq, limits.queries.catchUpMs))) {
        return unavailable('behind', `recorded up to ${from.taken.seq} of ${end.lastSeq}`);
      }
      const value = await read();
      // Events held when the read started may be dropped now without being in ClickHouse.
      if (!from.taken.isValid) return unavailable('behind', 'another node has started to record');
      return { result: 'sure', recordedTo: Math.max(end.lastSeq, from.taken.seq), value };
    },
  };
}

export const unavailable = (why: UnavailableWhy, detail: string): Unavailable => ({
  result: 'unavailable',
  why,
  detail,
});

// The clicks right before those that a recorder reads first, from CLICKS, which keeps them for that long after they are recorded:
// what is a burst does not depend on a restart, and a range that is repeated after a kill gets the classes it was published with.
import type { Bus } from '../../cluster/bus/connect.ts';
import { readStream } from '../../cluster/bus/read-stream.ts';
import type { StreamPosition } from '../../cluster/bus/stream-position.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { clicksSubject } from '../../cluster/bus/subjects.ts';
import { type Click, decodeClickRecord } from '../../model/records/click-record.ts';
import type { Clock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';

const { prefetchRecords, recentReadMs } = limits.clicks;
const recentKeptNs = BigInt(limits.clicks.recentKeptMs) * 1_000_000n;

type Recorded = {
  /** The ends of batches, in order. */
  readonly ends: readonly StreamPosition[];
  /** The last of them; and the last by the durable progress, from which a restart goes on. */
  readonly recorded: StreamPosition;
  readonly recordedTo: number;
  readonly lastSeq: number;
  readonly nowMs: number;
};

/** The end of what a restart does not need: it is durably recorded, and was stored long before what comes next. 0: nothing. */
export function notRecentTo({ ends, recorded, recordedTo, lastSeq, nowMs }: Recorded): number {
  const nowNs = BigInt(Math.floor(nowMs)) * 1_000_000n;
  const nextAtNs = lastSeq > recorded.seq ? (recorded.storedAtNs ?? nowNs) : nowNs;
  const isOver = ({ seq, storedAtNs }: StreamPosition) =>
    seq <= recordedTo && (storedAtNs === null || storedAtNs <= nextAtNs - recentKeptNs);
  return ends.findLast(isOver)?.seq ?? 0;
}

/** In the order of the stream. `before`: the first record that is read, and when it was stored. */
export async function recentClicks(
  bus: Bus,
  before: { readonly seq: number; readonly atNs: bigint },
  clock: Clock,
): Promise<readonly Click[]> {
  const clicks: Click[] = [];
  const { promise, resolve, reject } = Promise.withResolvers<void>();
  const reader = readStream(bus, {
    stream: streamNames.clicks,
    filter: clicksSubject,
    from: { made: '', seq: 0, storedAtNs: null },
    prefetch: prefetchRecords,
    clock,
    take({ seq, timestampNanos, data }) {
      if (seq >= before.seq) resolve();
      else if (timestampNanos > before.atNs - recentKeptNs) clicks.push(...clicksIn(data));
      return undefined;
    },
  });
  reader.caughtUp.then(resolve, reject);
  reader.done.catch(reject);
  try {
    await withDeadline('the clicks before', recentReadMs, promise, clock);
  } finally {
    reader.stop();
  }
  return clicks;
}

function clicksIn(octets: Uint8Array): readonly Click[] {
  try {
    const record = decodeClickRecord(octets);
    return record.kind === 'clicks' ? record.clicks : [];
  } catch (error) {
    ignoring(error, 'the record is in DEAD since it was read first');
    return [];
  }
}

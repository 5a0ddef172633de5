// A position in a stream by which a reader notices that the stream is another one. A stream that was recreated,
// restored from a backup, or lost its end in a power failure assigns its sequences again, and a reader that continues
// after its last one would miss records. The creation time, the end, and the time of the record at the position show
// the difference.
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import type { Bus } from './connect.ts';

export type StreamPosition = {
  /** The stream's creation time, as the server writes it. */
  readonly made: string;
  /** The last record read; 0 before the first. */
  readonly seq: number;
  /** When the server stored that record; null when unknown. */
  readonly storedAtNs: bigint | null;
};

/** The stream is not the one read so far: its sequences mean other records. */
export class StreamChanged extends Error {
  constructor(stream: string, how: string) {
    super(`${stream} has changed: ${how}`);
    this.name = 'StreamChanged';
  }
}

/** When the present stream was created. */
export async function streamMade(bus: Bus, stream: string): Promise<string> {
  return String((await infoOf(bus, stream)).created);
}

const answerWithinMs = 3_000;
/** A new leader of a cluster may briefly lag behind the one that delivered. */
const looksAtEnd = 3;
const betweenLooksMs = 500;

/** Null when the stream still has what was read up to that position; otherwise what happened to it. */
export async function changeSince(
  bus: Bus,
  stream: string,
  place: StreamPosition,
  clock: Clock = systemClock,
): Promise<string | null> {
  for (let look = 1; ; look += 1) {
    const { created, state } = await infoOf(bus, stream);
    if (String(created) !== place.made) return `it was recreated at ${String(created)}`;
    if (state.last_seq >= place.seq) break;
    if (look === looksAtEnd) return `it ends at ${state.last_seq} and was read up to ${place.seq}`;
    await clock.sleep(betweenLooksMs);
  }
  if (place.seq === 0 || place.storedAtNs === null) return null;
  const asked = bus.manager.streams.getMessage(stream, { seq: place.seq });
  const record = await withDeadline('a record of a stream', answerWithinMs, asked);
  if (record !== null) {
    return nanosOf(record.timestamp) === place.storedAtNs ? null : `record ${place.seq} is a different one`;
  }
  const { state } = await infoOf(bus, stream);
  return state.first_seq > place.seq ? null : `record ${place.seq} is gone, and older ones are not`;
}

async function infoOf(bus: Bus, stream: string) {
  return withDeadline('the state of a stream', answerWithinMs, bus.manager.streams.info(stream));
}

/** Parses an RFC 3339 time with up to nine digits of a second. */
export function nanosOf(time: string): bigint {
  const [, seconds = '', fraction = '', zone = 'Z'] = /^([^.Z+]*?)(?:\.(\d+))?(Z|[+-]\d\d:\d\d)$/.exec(time) ?? [];
  return BigInt(Date.parse(`${seconds}${zone}`)) * 1_000_000n + BigInt(fraction.padEnd(9, '0'));
}

// How much the streams may hold, in MiB, unless heliograph.yaml (limits.streams) says otherwise. What clients scheduled
// has its size from its share (limits-shares.ts), the queues of messages theirs from what accounts may have waiting.
import type { Shares } from './limits-shares.ts';
import { waitingLimits } from './limits-waiting.ts';

export const streamMbDefault = {
  /**
   * ~1 KiB a message, four events: 4.2 million messages. Two and a half minutes of traffic, hours while ClickHouse is
   * away.
   */
  events: 4_096,
  /** ~500 B each: four million messages that wait for the end of quiet hours. */
  holds: 2_048,
  /** ~500 B each: a million short waits. */
  later: 512,
  /** ~300 B each: 1.7 million parts of subscribers' messages and parked receipts. */
  inbound: 512,
  /** ~1 KiB each: a quarter of a million records that wait for a person. */
  dead: 256,
  /** ~20 B each: 26 million keys of 24 hours, 300 a second, are 530 MB; there is room for 1,200 a second. */
  idempotency: 2_048,
} as const;
export type StreamMb = Readonly<Record<keyof typeof streamMbDefault, number>>;

/** The queues of messages 6,656, cancels 1,024, orders 64, the buckets without the idempotency keys 1,554; rounded up. */
const otherStreamsMb = 9_472;
const mib = 2 ** 20;

/** What all streams and buckets may hold together, for one copy: a server takes none beyond its own bound. */
export function storeMbNeeded(
  streamMb: StreamMb,
  { scheduled_messages: scheduled }: Pick<Shares, 'scheduled_messages'>,
): number {
  const sized = Object.values(streamMb).reduce((sum, each) => sum + each, 0);
  return otherStreamsMb + sized + Math.ceil((scheduled.total * waitingLimits.scheduled.unitBytes) / mib);
}

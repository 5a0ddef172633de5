// Default sizes of the streams in MiB (`limits.streams` of heliograph.yaml changes them). The size of SCHEDULED follows
// from its share (limits-shares.ts), that of the queues from what accounts may have waiting.
import { busLimits } from './limits-bus.ts';
import { otpLimits } from './limits-otp.ts';
import type { Shares } from './limits-shares.ts';

export const streamMbDefault = {
  /**
   * ~1 KiB a message, four events: 4.2 million messages. Two and a half minutes of events while ClickHouse is
   * unavailable, hours of usual traffic.
   */
  events: 4_096,
  /** ~500 B each: four million messages that wait for the end of quiet hours. */
  holds: 2_048,
  /** ~500 B each: a million short waits. */
  later: 512,
  /** ~300 B each: 1.7 million parts of subscribers' messages and parked receipts. */
  inbound: 512,
  /** ~400 B each: five million events that webhook endpoints did not take, for a week. */
  webhookLog: 2_048,
  /** ~3 KB a record: what 800 busy webhook endpoints keep, or 100,000 that get an event now and then. */
  webhookAttempts: 512,
  /** ~1 KiB each: a quarter of a million records that wait for an operator. */
  dead: 256,
  /** ~300 B each: 1.7 million series of codes. */
  links: 512,
  /** ~300 B each: 3.5 million clicks and messages with links while ClickHouse is unavailable. */
  clicks: 1_024,
  /** ~600 B each: 850,000 events of one-time passwords and clicks, four each, while ClickHouse or webhooks are away. */
  facts: 512,
  /** ~20 B each: 26 million keys of 24 hours, 300 a second, are 530 MB; the size suffices for 1,200 a second. */
  idempotency: 2_048,
} as const;
/** How long a short link leads on, in days. */
export const linkDaysDefault = 90;
export type StreamMb = Readonly<Record<keyof typeof streamMbDefault, number>>;

/** Message queues 6,656, cancels 1,024, operator commands 64, buckets without idempotency keys and OTP 1,874; rounded up. */
const otherStreamsMb = 9_792;
const mib = 2 ** 20;

/** Of the bucket `otp`: a rate of an hour grants a whole burst, and what is regained meanwhile, in one hour. */
export function otpBytesOf(startedPerHour: number): number {
  return 2 * startedPerHour * otpLimits.otp.recordBytes;
}

/** MiB of all streams and buckets together, one replica each: nats-server refuses a stream beyond its own bound. */
export function storeMbNeeded(
  streamMb: StreamMb,
  { scheduled_messages: scheduled, otp_started: otp }: Pick<Shares, 'scheduled_messages' | 'otp_started'>,
): number {
  const sized = Object.values(streamMb).reduce((sum, each) => sum + each, 0);
  const shared = scheduled.total * busLimits.scheduled.unitBytes + otpBytesOf(otp.total);
  return otherStreamsMb + sized + Math.ceil(shared / mib);
}

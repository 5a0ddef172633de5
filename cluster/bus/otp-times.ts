// How long the intents of OTP take, as heartbeats: actors count and publish, entry points adapt the pace of bulk work
// (api/http/bulk-pace.ts). A lost one changes nothing.
import { limits } from '../../platform/limits.ts';
import type { SlowCount } from '../../platform/slow-times.ts';
import { type Heartbeat, heartbeatSubject } from './heartbeat.ts';

/** Since the last one of this carrier and node. */
export type OtpTimes = Heartbeat & SlowCount;

export const otpTimes = heartbeatSubject<OtpTimes>(
  'times.carrier',
  limits.heartbeats.bytesMax,
  ({ count, slow }, from) => (isCount(count) && isCount(slow) && slow <= count ? { ...from, count, slow } : null),
);

const isCount = (value: unknown): value is number => Number.isSafeInteger(value) && Number(value) >= 0;

// The part of limits.ts about what a carrier reads after a restart (actors/carrier/deduplication/). A separate file
// only for its length; read as `limits.carrier`.
import { assert } from './assert.ts';

export const replayLimits = {
  /**
   * The least span of its events that a carrier reads after a restart, and how long it remembers outcomes, because an
   * ack may have been lost. Messages without an outcome are read however old they are (replay floor). See the assertion
   * below.
   */
  replayWindowMs: 60_000,
  /** Interval at which the replay floor is computed, and the longest one at which it is stored. */
  floorEveryMs: 5_000,
  floorAgainMs: 60_000,
  floorTimeoutMs: 5_000,
  /** Messages whose state is republished at one check: × ~250 B. */
  republishedAtOnce: 200,
  /** An intent whose PDU was not written within this is closed, and the message starts again with a new one. */
  intentAgeMsMax: 30_000,
  /** A replay that receives nothing for this long logs it and requests the records again. */
  replaySilentMs: 10_000,
  /** A carrier whose replay takes longer does not delay the others of its thread any more. */
  startWaitMs: 10_000,
  /** Idle consumers send a heartbeat every two seconds and are reopened after five missing ones. */
  consumerHeardWithinMs: 12_000,
} as const;

assert(
  replayLimits.intentAgeMsMax * 2 <= replayLimits.replayWindowMs,
  'intents that wait for a bind would keep more of EVENTS than every restart reads',
);

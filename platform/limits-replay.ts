// The part of limits.ts about what a carrier reads after a restart (actors/carrier/deduplication/). A file of its own
// only for its length; it is read as `limits.carrier`.
import { assert } from './assert.ts';

export const replayLimits = {
  /**
   * So much of its events a carrier reads after a restart at least, and so long it remembers outcomes: an ack may have
   * been lost. What has no outcome yet is read however old it is (its replay floor). See the assertion below.
   */
  replayWindowMs: 60_000,
  /** The replay floor is looked at this often, and stored again at least this often. */
  floorEveryMs: 5_000,
  floorAgainMs: 60_000,
  floorTimeoutMs: 5_000,
  /** Messages whose state is published once more in one look: × ~250 B. */
  republishedAtOnce: 200,
  /** An intent whose PDU was not written in this time is closed, and the message begins with a new one. */
  intentAgeMsMax: 30_000,
  /** A replay that hears nothing for so long says so and asks again. */
  replaySilentMs: 10_000,
  /** A carrier whose replay takes longer begins after the others of its thread. */
  startWaitMs: 10_000,
  /** Idle consumers send a heartbeat every two seconds, and are reopened after five that did not come. */
  consumerHeardWithinMs: 12_000,
} as const;

assert(
  replayLimits.intentAgeMsMax * 2 <= replayLimits.replayWindowMs,
  'intents that wait for a bind would keep more of EVENTS than every restart reads',
);

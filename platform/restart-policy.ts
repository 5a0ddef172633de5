// When a crashed process or thread is restarted. The budget refills over time: one that crashes once in a while is
// restarted at once, one that crashes in a loop is delayed, then counts as failed and is retried at a long interval.
// Pure: the caller waits and restarts.
import { limits } from './limits.ts';
import { type Random, systemRandom } from './random.ts';

export type RestartBudget = {
  /** Restarts left; below one the child counts as failed. */
  tokens: number;
  /** Monotonic time of the count. */
  countedAtMs: number;
};

export type RestartDecision = {
  delayMs: number;
  /** The budget is spent: raise an alarm. */
  failed: boolean;
  budget: RestartBudget;
};

const { restartBurst, restartRefillMs, restartBackoffBaseMs, restartBackoffCapMs, restartFailedEveryMs } =
  limits.supervision;

export function freshRestartBudget(nowMs: number): RestartBudget {
  return { tokens: restartBurst, countedAtMs: nowMs };
}

/** Call it once per crash. `failedEveryMs`: the interval between retries of a failed one. */
export function restartPolicy(
  budget: RestartBudget,
  nowMs: number,
  random: Random = systemRandom,
  failedEveryMs: number = restartFailedEveryMs,
): RestartDecision {
  const refill = Math.max(0, nowMs - budget.countedAtMs) / restartRefillMs;
  const tokens = Math.min(restartBurst, budget.tokens + refill);
  // A failed retry costs a token too, with at most one token of debt: while it crashes at once it stays failed, and
  // after a minute of running it is an ordinary child again.
  const after = { tokens: Math.max(-1, tokens - 1), countedAtMs: nowMs };
  if (tokens < 1) return { failed: true, delayMs: spread(failedEveryMs, random), budget: after };
  const crashesBefore = Math.ceil(restartBurst - tokens);
  if (crashesBefore === 0) return { failed: false, delayMs: 0, budget: after };
  const backoffMs = Math.min(restartBackoffCapMs, restartBackoffBaseMs * 2 ** (crashesBefore - 1));
  return { failed: false, delayMs: spread(backoffMs, random), budget: after };
}

/** Between half and all of the delay, so that children that crashed together do not restart together. */
function spread(delayMs: number, random: Random): number {
  return Math.round(delayMs * (0.5 + random.unit() / 2));
}

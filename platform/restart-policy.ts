// When a crashed process or thread is started again. A budget that decays: one that crashes once in a while is back at
// once, one that crashes in a loop is slowed down and then given up as failed, with a try now and then.
// Pure: whoever started it waits and starts.
import { limits } from './limits.ts';
import { type Random, systemRandom } from './random.ts';

export type RestartBudget = {
  /** Restarts left; below one the child counts as failed. */
  tokens: number;
  /** Monotonic time the tokens were counted at. */
  countedAtMs: number;
};

export type RestartDecision = {
  delayMs: number;
  /** The budget is spent: an alarm. */
  failed: boolean;
  budget: RestartBudget;
};

const { restartBurst, restartRefillMs, restartBackoffBaseMs, restartBackoffCapMs, restartFailedEveryMs } =
  limits.supervision;

export function freshRestartBudget(nowMs: number): RestartBudget {
  return { tokens: restartBurst, countedAtMs: nowMs };
}

/** Called once per crash. `failedEveryMs`: between the tries of one that has failed. */
export function restartPolicy(
  budget: RestartBudget,
  nowMs: number,
  random: Random = systemRandom,
  failedEveryMs: number = restartFailedEveryMs,
): RestartDecision {
  const refill = Math.max(0, nowMs - budget.countedAtMs) / restartRefillMs;
  const tokens = Math.min(restartBurst, budget.tokens + refill);
  // A failed try is paid for too, with at most one token of debt: as long as it crashes at once it stays failed,
  // and a minute of life makes it an ordinary child again.
  const after = { tokens: Math.max(-1, tokens - 1), countedAtMs: nowMs };
  if (tokens < 1) {
    return { failed: true, delayMs: spread(failedEveryMs, random), budget: after };
  }
  const crashesBefore = Math.ceil(restartBurst - tokens);
  if (crashesBefore === 0) return { failed: false, delayMs: 0, budget: after };
  const backoffMs = Math.min(restartBackoffCapMs, restartBackoffBaseMs * 2 ** (crashesBefore - 1));
  return { failed: false, delayMs: spread(backoffMs, random), budget: after };
}

/** Between half and all of it, so that children which fell together do not come back together. */
function spread(delayMs: number, random: Random): number {
  return Math.round(delayMs * (0.5 + random.unit() / 2));
}

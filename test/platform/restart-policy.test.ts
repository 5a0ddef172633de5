// The restart policy: at once after a rare crash, slower in a loop, then an alarm and slow retries.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { freshRestartBudget, restartPolicy } from '../../platform/restart-policy.ts';
import { limits } from '../../platform/limits.ts';

const { restartBurst, restartRefillMs, restartBackoffCapMs, restartFailedEveryMs } = limits.supervision;
const random = { unit: () => 0.5 };

describe('restartPolicy', () => {
  it('restarts at once after the first crash, and again after a long quiet time', () => {
    const first = restartPolicy(freshRestartBudget(0), 1_000, random);
    expect(first).toMatchObject({ delayMs: 0, failed: false });
    const muchLater = restartPolicy(first.budget, 1_000 + restartRefillMs * restartBurst, random);
    expect(muchLater).toMatchObject({ delayMs: 0, failed: false });
  });

  it('waits after a second crash, also when the first run was short', () => {
    const first = restartPolicy(freshRestartBudget(0), 0, random);
    expect(restartPolicy(first.budget, 120, random).delayMs).toBeGreaterThan(50);
  });

  it('slows down a crash loop and fails at the end of the budget, not before', () => {
    let budget = freshRestartBudget(0);
    const delays: number[] = [];
    for (let crash = 0; crash < restartBurst; crash += 1) {
      const decision = restartPolicy(budget, 0, random);
      expect(decision.failed).toBe(false);
      delays.push(decision.delayMs);
      budget = decision.budget;
    }
    expect(delays).toEqual([...delays].sort((a, b) => a - b));
    expect(restartPolicy(budget, 0, random).failed).toBe(true);
    expect(restartPolicy(budget, 0, random).delayMs).toBe(0.75 * restartFailedEveryMs);
    expect(restartPolicy(budget, 0, random, 10_000).delayMs).toBe(7_500);
  });

  it('stays failed while it crashes at once, and recovers by running', () => {
    let budget = freshRestartBudget(0);
    let nowMs = 0;
    let decision = restartPolicy(budget, nowMs, random);
    while (!decision.failed) decision = restartPolicy((budget = decision.budget), nowMs, random);
    for (let tries = 0; tries < 10; tries += 1) {
      nowMs += decision.delayMs;
      decision = restartPolicy(decision.budget, nowMs, random);
      expect(decision.failed).toBe(true);
    }
    expect(restartPolicy(decision.budget, nowMs + 3 * restartRefillMs, random).failed).toBe(false);
  });

  it('never starts more often than burst and refill allow, however long each run is', () => {
    const livesMs = fc.array(fc.integer({ min: 0, max: 120_000 }), { minLength: 1, maxLength: 200 });
    const chance = fc.double({ min: 0, max: 0.999, noNaN: true });
    fc.assert(
      fc.property(livesMs, chance, (lives, unit) => {
        let budget = freshRestartBudget(0);
        let nowMs = 0;
        let restarts = 0;
        let slowRestarts = 0;
        for (const lifeMs of lives) {
          nowMs += lifeMs;
          const decision = restartPolicy(budget, nowMs, { unit: () => unit });
          budget = decision.budget;
          expect(decision.delayMs).toBeGreaterThanOrEqual(0);
          expect(decision.delayMs).toBeLessThanOrEqual(decision.failed ? restartFailedEveryMs : restartBackoffCapMs);
          expect(budget.tokens).toBeLessThanOrEqual(restartBurst);
          if (decision.failed) slowRestarts += 1;
          else restarts += 1;
          nowMs += decision.delayMs;
        }
        expect(restarts).toBeLessThanOrEqual(restartBurst + nowMs / restartRefillMs + 1);
        expect(slowRestarts * (restartFailedEveryMs / 2)).toBeLessThanOrEqual(nowMs);
      }),
    );
  });
});

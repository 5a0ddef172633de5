// The budget of second copies and the control group: no sequence of sends has more copies than its share, and a restart
// begins with none.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type OtpPlace, newMessageId, otpIdOf } from '../../../model/ids.ts';
import { HedgeBudget } from '../../../policy/otp-hedging/hedge-budget.ts';
import { isInControlGroup } from '../../../policy/otp-hedging/decide-hedge.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const bounds = { tokensMax: 50, pairsMax: 100, idleMs: 3_600_000 };

test('starts empty, and twenty sends of a twentieth are one copy', () => {
  const budget = new HedgeBudget(bounds, new ManualClock());
  expect(budget.spend('a', 'beta')).toBe(false);
  for (let at = 0; at < 19; at += 1) budget.earn('a', 'beta', 0.05);
  expect(budget.spend('a', 'beta')).toBe(false);
  budget.earn('a', 'beta', 0.05);
  expect(budget.spend('a', 'beta')).toBe(true);
  expect(budget.spend('a', 'beta')).toBe(false);
});

test('of each account and pair of carriers has its own, up to its most', () => {
  const budget = new HedgeBudget(bounds, new ManualClock());
  for (let at = 0; at < 2_000; at += 1) budget.earn('a', 'beta', 0.05);
  expect(budget.spend('b', 'beta')).toBe(false);
  expect(budget.spend('a', 'gamma')).toBe(false);
  let copies = 0;
  while (budget.spend('a', 'beta')) copies += 1;
  expect(copies).toBe(50);
});

test('in any sequence there are no more copies than the share of the sends before them', () => {
  fc.assert(
    fc.property(fc.array(fc.boolean(), { maxLength: 400 }), fc.constantFrom(0.05, 0.1, 0.25), (steps, share) => {
      const budget = new HedgeBudget(bounds, new ManualClock());
      let sends = 0;
      let copies = 0;
      for (const isSend of steps) {
        if (isSend) {
          sends += 1;
          budget.earn('a', 'beta', share);
        } else if (budget.spend('a', 'beta')) copies += 1;
        expect(copies).toBeLessThanOrEqual(sends * share + 1e-6);
      }
    }),
  );
});

test('an account that has sent nothing for two hours begins with none', () => {
  const clock = new ManualClock();
  const budget = new HedgeBudget(bounds, clock);
  for (let at = 0; at < 40; at += 1) budget.earn('a', 'beta', 0.05);
  clock.advance(bounds.idleMs);
  budget.earn('b', 'beta', 0.05);
  clock.advance(bounds.idleMs);
  budget.earn('b', 'beta', 0.05);
  expect(budget.spend('a', 'beta')).toBe(false);
});

test('the control group is its share of the one-time passwords, and the same at every ask', () => {
  const ids = Array.from({ length: 20_000 }, (_, at) =>
    otpIdOf(newMessageId(1_750_000_000_000 + at), `place${at % 97}` as OtpPlace),
  );
  const inGroup = ids.filter((id) => isInControlGroup(id, 0.1));
  expect(inGroup.length / ids.length).toBeGreaterThan(0.09);
  expect(inGroup.length / ids.length).toBeLessThan(0.11);
  expect(inGroup.every((id) => isInControlGroup(id, 0.1) && isInControlGroup(id, 0.5))).toBe(true);
  expect(ids.some((id) => isInControlGroup(id, 0))).toBe(false);
});

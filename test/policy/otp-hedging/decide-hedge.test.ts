// When a message that waits too long gets a copy: both sides of each condition, and a token is taken for a copy only.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { type HedgeQuestion, decideHedge } from '../../../policy/otp-hedging/decide-hedge.ts';

const fulfilled: HedgeQuestion = {
  hasRoute: true,
  leftMs: 2_000,
  afterMs: 1_000,
  isOutage: false,
  takeToken: () => true,
};

test.each([
  ['everything is fulfilled', {}, 'hedge'],
  ['twice the usual time is left', { leftMs: 2_000 }, 'hedge'],
  ['less than that is left', { leftMs: 1_999 }, 'too_late'],
  ['its time is over', { leftMs: -1 }, 'too_late'],
  ['no other carrier is good', { hasRoute: false }, 'no_route'],
  ['many wait', { isOutage: true }, 'outage'],
  ['the budget is spent', { takeToken: () => false }, 'no_budget'],
] as const)('%s', (_, changes, decided) => {
  expect(decideHedge({ ...fulfilled, ...changes })).toBe(decided);
});

test('a token is asked for last, and once for each copy', () => {
  const question = fc.record({
    hasRoute: fc.boolean(),
    leftMs: fc.integer({ min: 0, max: 3_000 }),
    afterMs: fc.integer({ min: 1, max: 1_500 }),
    isOutage: fc.boolean(),
    hasToken: fc.boolean(),
  });
  fc.assert(
    fc.property(question, ({ hasToken, ...rest }) => {
      let asked = 0;
      const decided = decideHedge({
        ...rest,
        takeToken() {
          asked += 1;
          return hasToken;
        },
      });
      const mayAsk = rest.hasRoute && !rest.isOutage && rest.leftMs >= 2 * rest.afterMs;
      expect(asked).toBe(mayAsk ? 1 : 0);
      expect(decided === 'hedge').toBe(mayAsk && hasToken);
    }),
  );
});

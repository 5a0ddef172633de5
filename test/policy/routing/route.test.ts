// Routing: explicit routes first, then the longest prefix; test keys always to the sandbox; never a carrier that
// does not take the category.
import { expect, test } from 'vitest';
import { numberPlan } from '../../../policy/country/number-plan.ts';
import { router } from '../../../policy/routing/route.ts';
import { rules } from '../rules.ts';

const { route } = router(rules, numberPlan(rules.country));

test.each([
  ['a prefix', '+8801812345678', 'otp', true, 'beta'],
  ['the longest prefix', '+8801712345678', 'otp', true, 'alpha'],
  ['the longest prefix, longer', '+8801719345678', 'otp', true, 'gamma'],
  ['a prefix whose carrier does not take the category', '+8801812345678', 'promotional', true, null],
  [
    'a longer prefix whose carrier does not take it: the shorter one is not tried',
    '+8801719345678',
    'promotional',
    true,
    null,
  ],
  ['no prefix', '+8801112345678', 'otp', true, null],
  ['a route by category, whose first carrier does not take it', '+8801799345678', 'promotional', true, 'alpha'],
  ['a route for all, in order', '+8801799345678', 'otp', true, 'gamma'],
  ['a route for all, in order, by what the carriers take', '+8801799345678', 'transactional', true, 'beta'],
  ['a test key', '+8801112345678', 'promotional', false, 'sandbox'],
] as const)('%s', (_name, to, category, livemode, carrier) => {
  const routed = route(to, category, livemode);
  expect(routed.carrier).toBe(carrier);
  expect(routed.carrier === null ? routed.why : routed.reason).not.toBe('');
});

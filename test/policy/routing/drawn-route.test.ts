// A route drawn by conversion: where it goes and what it says, health before scores, the operator under which it asks, and
// that nothing else asks. The draw itself: conversion-draw.test.ts.
import { expect, test } from 'vitest';
import type { CarrierState } from '../../../model/carrier-state.ts';
import type { CarrierHealthView, RoutingRules } from '../../../policy/contract.ts';
import type { ConversionPlace } from '../../../policy/otp-conversion/contract.ts';
import { type RouterOptions, router } from '../../../policy/routing/route.ts';
import { rules } from '../rules.ts';

const health = (states: Record<string, CarrierState>): CarrierHealthView => ({
  stateOf: (carrier) => states[carrier] ?? 'good',
  reasonOf: (carrier) => (states[carrier] === undefined ? '' : 'no_bind'),
});

const drawn: RoutingRules = {
  ...rules,
  routes: [{ prefix: '+88018', classes: ['otp'], carriers: ['gamma', 'alpha', 'beta'], choose: 'conversion' }],
};
const to = '+8801812345678';
const bad = { verified: 0, missed: 500 };
const good = { verified: 350, missed: 150 };
const conversions = { of: ({ carrier }: ConversionPlace) => (carrier === 'beta' ? good : bad) };
const ids = Array.from({ length: 4_000 }, (_, at) => `sms_01JXT21Q003XC5EN4S${at.toString(36).padStart(8, '0')}`);
const plansOf = (options: RouterOptions) => {
  const { route } = router(drawn, options);
  return ids.map((id) => {
    const routed = route({ to, category: 'otp', from: 'HELIO', livemode: true });
    if ('why' in routed) throw new Error(routed.why);
    expect(routed.planFor(id)).toBe(routed.planFor(id));
    return routed.planFor(id);
  });
};
const sharesOf = (options: RouterOptions) => {
  const plans = plansOf(options);
  const share = (name: string) => plans.filter(({ carrier }) => carrier === name).length / plans.length;
  return { alpha: share('alpha'), beta: share('beta'), gamma: share('gamma') };
};

test('goes to the carrier whose codes are entered, and by the floor to each of the others', () => {
  const { alpha, beta, gamma } = sharesOf({ conversions });
  for (const share of [alpha, gamma]) expect(Math.abs(share - 0.02)).toBeLessThan(0.009);
  expect(beta).toBeCloseTo(1 - alpha - gamma, 9);
});

test('gives the same id the same plan, asked again and by another router', () => {
  expect(plansOf({ conversions })).toEqual(plansOf({ conversions }));
});

test('says why: draw, floor, demotion, with the codes they rest on', () => {
  const whys = new Set(plansOf({ conversions }).flatMap(({ candidates }) => candidates.map(({ why }) => why)));
  expect(whys).toContain('route +88018, conversion: floor of 2 %, 0 of 500 codes entered');
  expect(whys).toContain('route +88018, conversion: floor of 2 %, 350 of 500 codes entered');
  expect(whys).toContain('route +88018, conversion: demoted, 0 of 500 codes entered');
  expect(
    [...whys].filter((why) => /^route \+88018, conversion: drew 0\.[67]\d, 350 of 500 codes entered$/.test(why)),
  ).not.toEqual([]);
  const [plan] = plansOf({ conversions });
  expect(plan?.trace).toEqual([plan?.candidates[0]?.why]);
});

test('an avoided carrier takes no part: not by its score, not by the floor; and none is demoted because of it', () => {
  const weak = health({ beta: 'weak' });
  const { alpha, beta, gamma } = sharesOf({ conversions, health: weak });
  expect(beta).toBe(0);
  expect(Math.abs(alpha - 0.5)).toBeLessThan(0.04);
  expect(alpha + gamma).toBeCloseTo(1, 9);
  const [plan] = plansOf({ conversions, health: weak });
  expect(plan?.candidates.at(-1)).toEqual({
    carrier: 'beta',
    why: 'route +88018, conversion, avoided: weak (no_bind)',
  });
  expect(plan?.candidates[1]?.why).toContain('drew');
});

test('when all are avoided nothing is drawn: the order is that of the list', () => {
  const down = health({ alpha: 'down', beta: 'down', gamma: 'down' });
  const [plan] = plansOf({ conversions, health: down });
  expect(plan?.candidates.map(({ carrier }) => carrier)).toEqual(['gamma', 'alpha', 'beta']);
  expect(plan?.trace).toEqual(['route +88018, conversion, no better way: down (no_bind)']);
});

test('asks for what is known under the operator of the number: ported, by its prefix, or the route itself', () => {
  const asked = new Set<string>();
  const noting = {
    of(place: ConversionPlace) {
      asked.add(`${place.operator} ${place.sender}`);
      return good;
    },
  };
  const scoredAs = (with_: RoutingRules, portedTo: string | null = null) => {
    const options = { conversions: noting, portedTo: () => portedTo };
    const routed = router(with_, options).route({
      ...{ to, category: 'otp', from: 'ACME', livemode: true },
    });
    if ('why' in routed) throw new Error(routed.why);
    routed.planFor('sms_1');
    return routed.scoredAs;
  };
  expect(scoredAs(drawn)).toBe('beta');
  expect(scoredAs(drawn, 'gamma')).toBe('gamma');
  expect(scoredAs(drawn, 'nobody')).toBe('beta');
  expect(scoredAs({ ...drawn, country: { ...drawn.country, prefixes: { '17': 'alpha' } } })).toBe('+88018');
  expect([...asked]).toEqual(['beta ACME', 'gamma ACME', '+88018 ACME']);
});

function routeOf(given: RoutingRules, of: { to?: string; livemode?: boolean }, options: RouterOptions = {}) {
  const question = { to, category: 'otp', from: 'HELIO', livemode: true, ...of } as const;
  const routed = router(given, options).route(question);
  if ('why' in routed) throw new Error(routed.why);
  return { scoredAs: routed.scoredAs, excluded: routed.excluded, plan: routed.planFor('sms_1') };
}

test('where conversion is not counted the order is that of the list, and nothing is scored', () => {
  expect(sharesOf({})).toEqual({ alpha: 0, beta: 0, gamma: 1 });
  const { scoredAs, plan } = routeOf(drawn, {});
  expect(scoredAs).toBeUndefined();
  expect(plan.trace).toEqual(['route +88018, conversion']);
});

test('other routes and test keys ask nothing', () => {
  const asking = {
    of(): never {
      throw new Error('conversion was asked for');
    },
  };
  const given = { ...drawn, routes: [...drawn.routes, ...rules.routes] };
  for (const asked of [{ to: '+8801799345678' }, { to: '+8801712345678' }, { livemode: false }]) {
    const routed = routeOf(given, asked, { conversions: asking });
    expect(routed).toEqual(routeOf(given, asked));
    expect(routed.scoredAs).toBeUndefined();
  }
  expect(() => routeOf(given, {}, { conversions: asking })).toThrow('conversion was asked for');
});

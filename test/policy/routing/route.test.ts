// Routing: explicit routes first, then the number's own carrier and the fallback after it; test keys always and only to
// the sandbox; never a carrier that does not take the category or the sender; and avoided carriers come last.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { CarrierState } from '../../../model/carrier-state.ts';
import { type Category, categories } from '../../../model/message.ts';
import type { CarrierHealthView, RoutingRules } from '../../../policy/contract.ts';
import type { ConversionPlace } from '../../../policy/otp-conversion/contract.ts';
import { isAvoided } from '../../../policy/routing/avoid.ts';
import { type RouterOptions, router } from '../../../policy/routing/route.ts';
import { offer, rules } from '../rules.ts';

const ask = (
  to: string,
  category: Category = 'otp',
  {
    livemode = true,
    from = 'HELIO',
    id = 'sms_1',
    with: given = rules,
    ...options
  }: {
    livemode?: boolean;
    from?: string;
    id?: string;
    with?: RoutingRules;
  } & RouterOptions = {},
) => {
  const routed = router(given, options).route({ to, category, from, livemode });
  if ('why' in routed) return { ...noPlan, why: routed.why };
  return { ...routed.planFor(id), excluded: routed.excluded, why: '' };
};
const noPlan = { carrier: null, others: [], candidates: [], trace: [], excluded: [] } as const;
const health = (states: Record<string, CarrierState>): CarrierHealthView => ({
  stateOf: (carrier) => states[carrier] ?? 'good',
  reasonOf: (carrier) => (states[carrier] === undefined ? '' : 'no_bind'),
});

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
  const found = ask(to, category, { livemode });
  expect(found.carrier).toBe(carrier);
  expect(carrier === null ? found.why : found.trace[0]).toBeTruthy();
});

describe('the plan', () => {
  test('names the others of a route, in order, with the reason of each, and the excluded ones', () => {
    expect(ask('+8801799345678', 'transactional')).toMatchObject({
      candidates: [{ carrier: 'beta', why: 'route +8801799' }],
      others: [],
      excluded: [{ carrier: 'gamma', why: 'takes no transactional messages' }],
    });
  });

  test("has the fallback behind the number's own carrier, and the own carrier only once", () => {
    const given = { ...rules, fallback: ['gamma', 'alpha', 'beta'] };
    expect(ask('+8801712345678', 'otp', { with: given }).others).toEqual(['gamma', 'beta']);
    expect(ask('+8801712345678', 'otp', { with: given }).carrier).toBe('alpha');
    expect(ask('+8801812345678', 'promotional', { with: given })).toMatchObject({
      carrier: 'alpha',
      trace: ['fallback of prefix 18'],
    });
  });

  test('of a ported number begins with the carrier it went to; an explicit route still wins', () => {
    const portedTo = () => 'beta';
    expect(ask('+8801712345678', 'otp', { portedTo })).toMatchObject({ carrier: 'beta', trace: ['ported to beta'] });
    expect(ask('+8801799345678', 'otp', { portedTo }).carrier).toBe('gamma');
    expect(ask('+8801712345678', 'otp', { portedTo: () => 'nobody' }).carrier).toBe('alpha');
  });

  test('excludes a carrier that does not deliver this kind of sender', () => {
    const carriers = [offer('alpha', categories, { senders: ['numeric', 'short_code'] }), offer('beta')];
    const given = { ...rules, carriers, routes: [], fallback: ['beta'] };
    expect(ask('+8801712345678', 'otp', { with: given })).toMatchObject({
      carrier: 'beta',
      excluded: [{ carrier: 'alpha', why: 'takes no alphanumeric senders' }],
    });
    expect(ask('+8801712345678', 'otp', { with: given, from: '+8801700000000' }).carrier).toBe('alpha');
    expect(ask('+8801712345678', 'otp', { with: given, from: '12345' }).carrier).toBe('alpha');
  });
});

describe('avoided carriers', () => {
  const given = { ...rules, fallback: ['beta'] };
  const to = '+8801712345678';
  test('weak: an OTP goes to another, everything else stays', () => {
    const options = { with: given, health: health({ alpha: 'weak' }) };
    expect(ask(to, 'otp', options)).toMatchObject({ carrier: 'beta', others: ['alpha'] });
    expect(ask(to, 'otp', options).trace).toEqual([
      'fallback of prefix 17',
      'alpha: prefix 17, avoided: weak (no_bind)',
    ]);
    expect(ask(to, 'transactional', options).carrier).toBe('alpha');
  });
  test('down: everything goes to another, and back as soon as it is good', () => {
    const states: Record<string, CarrierState> = { alpha: 'down' };
    const { route } = router(given, { health: health(states) });
    const routed = route({ to, category: 'transactional', from: 'HELIO', livemode: true });
    if ('why' in routed) throw new Error(routed.why);
    expect(routed.planFor('a').carrier).toBe('beta');
    delete states['alpha'];
    expect(routed.planFor('a').carrier).toBe('alpha');
  });
  test('all of them: the first is still the best', () => {
    expect(ask(to, 'otp', { with: given, health: health({ alpha: 'down', beta: 'down' }) })).toMatchObject({
      carrier: 'alpha',
      candidates: [
        { carrier: 'alpha', why: 'prefix 17, no better way: down (no_bind)' },
        { carrier: 'beta', why: 'fallback of prefix 17, no better way: down (no_bind)' },
      ],
    });
  });
  test('the only one: it stays in the plan, with the reason why it is avoided', () => {
    const alone = { ...rules, fallback: [] };
    const candidates = (states: Record<string, CarrierState>, category: Category = 'otp') =>
      ask(to, category, { with: alone, health: health(states) });
    expect(candidates({ alpha: 'down' })).toMatchObject({
      carrier: 'alpha',
      others: [],
      candidates: [{ carrier: 'alpha', why: 'prefix 17, no better way: down (no_bind)' }],
    });
    expect(candidates({}).candidates).toEqual([{ carrier: 'alpha', why: 'prefix 17' }]);
    // Only an OTP avoids a weak one.
    expect(candidates({ alpha: 'weak' }, 'transactional').candidates).toEqual([{ carrier: 'alpha', why: 'prefix 17' }]);
  });
});

describe('the choice among several', () => {
  const three = [
    offer('alpha', categories, { cost: 3, weight: 1 }),
    offer('beta', categories, { cost: 2, weight: 3 }),
    offer('gamma', categories, { cost: 2, weight: 0 }),
  ];
  const withChoice = (choose: 'cheapest' | 'weighted'): RoutingRules => ({
    ...rules,
    carriers: three,
    routes: [{ prefix: '+880', classes: [], carriers: ['alpha', 'beta', 'gamma'], choose }],
  });
  const to = '+8801712345678';
  const ids = Array.from({ length: 4_000 }, (_, at) => `sms_01JXT21Q003XC5EN4S${at.toString(36).padStart(8, '0')}`);
  const shareOf = (carrier: string, choose: 'cheapest' | 'weighted', with_ = withChoice(choose)) => {
    const routed = router(with_).route({
      to,
      category: 'otp',
      from: 'HELIO',
      livemode: true,
    });
    if ('why' in routed) throw new Error(routed.why);
    return ids.filter((id) => routed.planFor(id).carrier === carrier).length / ids.length;
  };

  test('by weight: each gets its share, weight 0 nothing but the last place', () => {
    expect(shareOf('alpha', 'weighted')).toBeCloseTo(0.25, 1);
    expect(shareOf('beta', 'weighted')).toBeCloseTo(0.75, 1);
    expect(shareOf('gamma', 'weighted')).toBe(0);
    expect(ask(to, 'otp', { with: withChoice('weighted') }).others.at(-1)).toBe('gamma');
  });
  test('the cheapest: by cost, equals by weight', () => {
    expect(shareOf('beta', 'cheapest')).toBe(1);
    expect(ask(to, 'otp', { with: withChoice('cheapest') }).candidates.map((candidate) => candidate.carrier)).toEqual([
      'beta',
      'gamma',
      'alpha',
    ]);
  });
  test('the same id gets the same route, and when a carrier leaves only its own messages move', () => {
    const all = withChoice('weighted');
    const without = { ...all, routes: [{ ...all.routes[0]!, carriers: ['beta', 'gamma'] }] };
    for (const id of ids.slice(0, 500)) {
      const before = ask(to, 'otp', { with: all, id });
      expect(ask(to, 'otp', { with: all, id }).candidates).toEqual(before.candidates);
      if (before.carrier !== 'alpha') expect(ask(to, 'otp', { with: without, id }).carrier).toBe(before.carrier);
    }
  });
});

test('for all rules and health states: a plan has no carrier twice, only capable ones, and no avoided one before a good one', () => {
  const names = ['a', 'b', 'c', 'd'];
  const anyOffer = (name: string) =>
    fc
      .record({
        classes: fc.subarray([...categories]),
        senders: fc.subarray(['alphanumeric', 'numeric', 'short_code'] as const),
        cost: fc.integer({ min: 0, max: 3 }),
        weight: fc.integer({ min: 0, max: 3 }),
      })
      .map((more) => offer(name, more.classes, more));
  fc.assert(
    fc.property(
      fc.tuple(...names.map(anyOffer)),
      fc.uniqueArray(fc.constantFrom(...names), { minLength: 1 }),
      fc.constantFrom('listed' as const, 'cheapest' as const, 'weighted' as const, 'conversion' as const),
      fc.constantFrom(...categories),
      fc.dictionary(fc.constantFrom(...names), fc.constantFrom('good' as const, 'weak' as const, 'down' as const)),
      fc.string(),
      fc.boolean(),
      (carriers, listed, choose, category, states, id, livemode) => {
        const given = { ...rules, carriers, routes: [{ prefix: '+880', classes: [], carriers: listed, choose }] };
        const conversions = {
          of: ({ carrier }: ConversionPlace) => ({ verified: carrier === 'a' ? 200 : 0, missed: 150 }),
        };
        const options = { with: given, health: health(states), id, livemode, conversions };
        const found = ask('+8801712345678', category, options);
        if (!livemode) return void expect(found).toMatchObject({ carrier: 'sandbox', others: [] });
        const able = listed.filter((name) => {
          const of = carriers.find((each) => each.name === name)!;
          return of.classes.includes(category) && of.senders.includes('alphanumeric');
        });
        if (able.length === 0) return void expect(found.carrier).toBeNull();
        if (found.carrier === null) throw new Error('no plan');
        const order = found.candidates.map((candidate) => candidate.carrier);
        expect([...order].sort()).toEqual([...able].sort());
        expect([found.carrier, ...found.others]).toEqual(order);
        const flags = order.map((name) => isAvoided(states[name] ?? 'good', category));
        expect(flags).toEqual([...flags].sort((one, other) => Number(one) - Number(other)));
      },
    ),
    { numRuns: 1_000 },
  );
});

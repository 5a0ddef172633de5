// An explanation evaluates the gates of admission: their first refusals are the same. And the gate of `send_at`, on
// both sides of its limits.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { categories } from '../../../model/message.ts';
import { limits } from '../../../platform/limits.ts';
import { admission } from '../../../policy/admission/gates.ts';
import { explanation } from '../../../policy/admission/explain.ts';
import { quietHoursGate, sendAtGate } from '../../../policy/admission/hour-gates.ts';
import type { Circumstances } from '../../../policy/contract.ts';
import { principal, quietForPromotions, request, rules } from '../rules.ts';

const nowMs = 1_800_000_000_000;
const dayMs = 86_400_000;
const circumstances: Circumstances = { nowMs: () => nowMs, registries: () => ({ dnd: null, ported: null }) };
const quiet = {
  ...rules,
  country: {
    ...rules.country,
    quietHours: [quietForPromotions(0, 1_380)],
  },
};
const admit = admission(quiet, circumstances);
const explain = explanation(quiet, circumstances);

const anyRequest = fc
  .record({
    to: fc.constantFrom('+8801712345678', '+8801812345678', '+8801612345678', '+447700900123', 'nonsense', ''),
    from: fc.constantFrom('HELIO', 'NOBODY', '+8801712345678', ''),
    message: fc.oneof(
      fc.string({ unit: 'grapheme', maxLength: 700 }),
      fc.constantFrom('hello', ' ', '\u0000', '\ud800'),
    ),
    category: fc.constantFrom(...categories),
    encoding: fc.constantFrom('auto' as const, 'gsm7' as const, 'ucs2' as const),
    transliterate: fc.boolean(),
    quietHours: fc.constantFrom('hold' as const, 'reject' as const),
    sendAtMs: fc.option(fc.integer({ min: nowMs - dayMs, max: nowMs + 40 * dayMs }), { nil: null }),
  })
  .map(request);
const anyPrincipal = fc
  .record({
    livemode: fc.boolean(),
    scopes: fc.constantFrom<string[]>(['sms:send'], ['sms:read']),
    status: fc.constantFrom('active' as const, 'suspended' as const),
  })
  .map(principal);

test('what admission refuses is the first refusal of the explanation, and what it admits would be sent', () => {
  fc.assert(
    fc.property(anyPrincipal, anyRequest, (who, what) => {
      const admitted = admit(who, what);
      const published = explain(who, what, 'sms_1');
      const first = published.gates.find(({ verdict }) => verdict === 'refused');
      expect(published.wouldSend).toBe(admitted.ok);
      if (!admitted.ok) {
        expect(first).toMatchObject({ code: admitted.code, field: admitted.field });
        return;
      }
      expect(first).toBeUndefined();
      expect(published).toMatchObject({ text: admitted.text, written: { encoding: admitted.encoding } });
      expect(published.written?.segments).toHaveLength(admitted.segments);
      expect(published.written?.segments.map(({ text }) => text).join('')).toBe(admitted.text);
      expect(published.earliestAtMs).toBe(admitted.notBeforeMs ?? nowMs);
      expect(published.routes[0]?.carrier).toBe(admitted.route.planFor('sms_1').carrier);
    }),
    { numRuns: 500 },
  );
});

test('every gate has its verdict whatever the others return', () => {
  const names = (what: Parameters<typeof request>[0]) =>
    explain(principal({ scopes: [], status: 'suspended' }), request(what), 'sms_1').gates.map(({ gate }) => gate);
  expect(names({ to: '', from: '', message: '' })).toEqual(names({}));
});

test('a template that gives no text leaves the text gates not asked', () => {
  const published = explain(principal(), request({ message: '', template: { id: 'tpl_x', variables: {} } }), 'sms_1');
  const verdicts = new Map(published.gates.map(({ gate, verdict }) => [gate, verdict]));
  expect(verdicts.get('template')).toBe('refused');
  for (const gate of ['content', 'content_rules', 'segments', 'credit']) expect(verdicts.get(gate)).toBe('not_asked');
  expect(verdicts.get('route')).toBe('passed');
  expect(published).toMatchObject({ text: null, written: null });
});

describe('the earliest time', () => {
  const closed = { category: 'promotional' as const };
  const openAt = Date.parse('2027-01-15T17:00:00Z');
  const published = (what: Parameters<typeof request>[0], who = principal()) => explain(who, request(what), 'sms_1');
  test('is given although the request says reject, and although its send_at is over', () => {
    expect(published({ ...closed, quietHours: 'reject' })).toMatchObject({ wouldSend: false, earliestAtMs: openAt });
    expect(published({ ...closed, sendAtMs: nowMs - 1 })).toMatchObject({ wouldSend: false, earliestAtMs: openAt });
    expect(published({ sendAtMs: nowMs - 1 }).earliestAtMs).toBe(nowMs);
    expect(published({ sendAtMs: nowMs + 5 }).earliestAtMs).toBe(nowMs + 5);
  });

  test('is none for a recipient that must not be sent to, or an invalid one', () => {
    const who = principal();
    const suppressed = { ...who, account: { ...who.account, suppressions: { has: () => true } } };
    expect(published({}, suppressed).earliestAtMs).toBeNull();
    expect(published({ to: '+88' }).earliestAtMs).toBeNull();
  });
});

describe('a gate that does not refuse', () => {
  const verdictOf = (gate: string, what: Parameters<typeof request>[0], who = principal()) =>
    explain(who, request(what), 'sms_1').gates.find((each) => each.gate === gate);
  test('says when it was not asked because there is no one to protect', () => {
    const test = principal({ livemode: false });
    expect(verdictOf('sender', { from: 'NOBODY' }, test)).toMatchObject({
      verdict: 'passed',
      detail: expect.stringMatching(/live key/),
    });
    expect(verdictOf('do_not_disturb', {}, test)).toMatchObject({
      verdict: 'not_asked',
      detail: expect.stringMatching(/test messages/),
    });
    expect(verdictOf('quiet_hours', {}, test)).toMatchObject({
      verdict: 'not_asked',
      detail: expect.stringMatching(/test messages/),
    });
    expect(verdictOf('do_not_disturb', {})).toMatchObject({
      verdict: 'not_asked',
      detail: expect.stringMatching(/not asked for transact/),
    });
  });

  test('is not asked about an invalid number, or a past time', () => {
    for (const gate of ['opt_out', 'do_not_disturb', 'route']) {
      expect(verdictOf(gate, { to: 'nonsense' })).toMatchObject({ verdict: 'not_asked', code: null });
    }
    expect(verdictOf('quiet_hours', { sendAtMs: nowMs - 1 })).toMatchObject({ verdict: 'not_asked' });
  });

  test('names the version of the registry it checked', () => {
    const dnd = { version: '7-0a1b2c3d', count: 1, names: [], markOf: () => 0 };
    const country = {
      ...rules.country,
      doNotDisturb: { appliesTo: ['promotional' as const], preferences: {}, defaultPreference: '' },
    };
    const withRegistry = explanation(
      { ...rules, country },
      { nowMs: () => nowMs, registries: () => ({ dnd, ported: null }) },
    );
    const published = withRegistry(principal(), request({ category: 'promotional' }), 'sms_1');
    expect(published.gates.find(({ gate }) => gate === 'do_not_disturb')).toMatchObject({
      verdict: 'passed',
      detail: 'not in do-not-disturb registry 7-0a1b2c3d',
    });
  });
});

describe('send_at', () => {
  const ahead = limits.message.sendAtDaysMax * dayMs;
  test.each([
    [null, null],
    [nowMs + 1, null],
    [nowMs + ahead, null],
    [nowMs, 'invalid_field'],
    [nowMs - 1, 'invalid_field'],
    [nowMs + ahead + 1, 'invalid_field'],
  ])('%s is judged', (sendAtMs, code) => {
    expect(sendAtGate(sendAtMs, nowMs)?.code ?? null).toBe(code);
  });

  test('a longer wait than HOLDS supports is refused', () => {
    const longest = nowMs + limits.bus.laterDaysMax * dayMs - 60_000;
    const held = (untilMs: number) =>
      quietHoursGate({ quietUntil: () => untilMs }, { category: 'promotional', quietHours: 'hold' }, nowMs, nowMs);
    expect(held(longest)).toEqual({ ok: true, untilMs: longest });
    expect(held(longest + 1)).toMatchObject({ ok: false, code: 'quiet_hours' });
  });

  test('and the quiet hours that it falls into: each gate says how long it holds the message', () => {
    const inQuietHours = Date.parse('2027-01-16T08:00:00Z');
    const asked = request({ category: 'promotional', sendAtMs: inQuietHours });
    const endOfQuietHours = Date.parse('2027-01-16T17:00:00Z');
    const admitted = admit(principal(), asked);
    expect(admitted.ok && admitted.notBeforeMs).toBe(endOfQuietHours);
    const held = explain(principal(), asked, 'sms_1').gates.filter(({ verdict }) => verdict === 'held');
    expect(held.map(({ gate, detail }) => [gate, detail])).toEqual([
      ['send_at', 'waits until 2027-01-16T08:00:00.000Z'],
      ['quiet_hours', 'waits until 2027-01-16T17:00:00.000Z'],
    ]);
    const test = explain(principal({ livemode: false }), asked, 'sms_1');
    expect(test.earliestAtMs).toBe(inQuietHours);
    expect(test.gates.find(({ gate }) => gate === 'quiet_hours')?.verdict).toBe('not_asked');
  });
});

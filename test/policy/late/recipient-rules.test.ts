// A message that waited is checked by the present rules when a token is granted.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import type { Category } from '../../../model/message.ts';
import { markOfCategories } from '../../../policy/admission/recipient-gates.ts';
import type { CountryRules } from '../../../policy/country/contract.ts';
import { lateGates } from '../../../policy/late/late-gates.ts';
import type { RegistryState } from '../../../policy/registry/contract.ts';
import { numberKey, openTable, packEntry, writeTable } from '../../../policy/registry/number-table.ts';
import { messageWith } from '../../support/messages.ts';
import { quietForPromotions } from '../rules.ts';

const country: CountryRules = {
  callingCode: '+880',
  nationalLengths: [10],
  prefixes: {},
  doNotDisturb: { appliesTo: ['promotional'], preferences: {}, defaultPreference: 'promotional' },
  quietHours: [quietForPromotions(20 * 60, 8 * 60)],
};
const entries = Float64Array.of(packEntry(numberKey('1712345678'), markOfCategories(['promotional'])));
const registry = openTable(writeTable({ callingCode: '+880', entries, names: [] }).buffer, '7-abcdef01');
const noon = Date.parse('2026-11-20T12:00:00+06:00');
const night = Date.parse('2026-11-20T23:00:00+06:00');
const morning = Date.parse('2026-11-21T08:00:00+06:00');
const gates = (dnd: RegistryState = null) => lateGates(country, () => ({ dnd, ported: null }));
const message = (category: Category, over: object = {}) =>
  messageWith({ category, recipient: '+8801712345678', livemode: true, validUntilMs: noon + 48 * 3_600_000, ...over });

test('a number listed since then is blocked, with the version', () => {
  expect(gates(registry)(message('promotional'), noon)).toEqual({
    ok: false,
    status: 'blocked',
    code: 'recipient_do_not_disturb:7-abcdef01',
  });
  expect(gates(registry)(message('transactional'), noon)).toEqual({ ok: true });
  expect(gates(registry)(message('promotional', { livemode: false }), noon)).toEqual({ ok: true });
  expect(gates(registry)(message('promotional', { recipient: '+8801712345679' }), noon)).toEqual({ ok: true });
});

test('a registry this process could not load was checked by the ingress', () => {
  expect(gates('unknown')(message('promotional'), noon)).toEqual({ ok: true });
});

test('a promotional message whose turn comes at night is held until the morning', () => {
  const held = { ok: false, status: 'held', code: 'quiet_hours', untilMs: morning };
  expect(gates()(message('promotional'), night)).toEqual(held);
  expect(gates()(message('promotional'), morning - 1)).toEqual(held);
  expect(gates()(message('promotional'), morning)).toEqual({ ok: true });
});

test('a message that would be too old by then is held until it is, and expires', () => {
  const short = message('promotional', { validUntilMs: night + 60_000 });
  expect(gates()(short, night)).toMatchObject({ status: 'held', untilMs: night + 60_000 });
  expect(gates()(short, night + 60_000)).toEqual({ ok: false, status: 'expired', code: 'validity_passed' });
});

test('an OTP is sent at any hour to any number', () => {
  fc.assert(
    fc.property(fc.integer({ min: noon, max: noon + 47 * 3_600_000 }), (nowMs) => {
      expect(gates(registry)(message('otp'), nowMs)).toEqual({ ok: true });
    }),
  );
});

// Do-not-disturb and quiet hours as gates: for which messages they are checked, what they return, and what they do not
// affect.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { categories } from '../../../model/message.ts';
import { admission } from '../../../policy/admission/gates.ts';
import { markOfCategories } from '../../../policy/admission/recipient-gates.ts';
import type { RoutingRules } from '../../../policy/contract.ts';
import type { RegistryState } from '../../../policy/registry/contract.ts';
import { numberKey, openTable, packEntry, writeTable } from '../../../policy/registry/number-table.ts';
import { principal, quietForPromotions, request, rules } from '../rules.ts';

const noon = Date.parse('2026-11-20T12:00:00+06:00');
const night = Date.parse('2026-11-20T23:00:00+06:00');
const strict: RoutingRules = {
  ...rules,
  country: {
    ...rules.country,
    doNotDisturb: { appliesTo: ['promotional'], preferences: {}, defaultPreference: 'promotional' },
    quietHours: [quietForPromotions(20 * 60, 8 * 60)],
  },
};
const registry = (mark: number) =>
  openTable(
    writeTable({
      callingCode: '+880',
      entries: Float64Array.of(packEntry(numberKey('1712345678'), mark)),
      names: [],
    }).buffer,
    '7-abcdef01',
  );
const admit = (dnd: RegistryState, nowMs = noon) =>
  admission(strict, { nowMs: () => nowMs, registries: () => ({ dnd, ported: null }) });

describe('do-not-disturb', () => {
  const listed = admit(registry(markOfCategories([...categories])));

  test('refuses the categories the country names, and names the version', () => {
    const refused = listed(principal(), request({ category: 'promotional' }));
    expect(refused).toMatchObject({ ok: false, code: 'recipient_do_not_disturb', field: 'to' });
    expect(!refused.ok && refused.detail).toContain('version 7-abcdef01');
    expect(listed(principal(), request({ category: 'otp' })).ok).toBe(true);
    expect(listed(principal(), request({ category: 'transactional' })).ok).toBe(true);
  });

  test('passes numbers it does not list, and the trace names the version that was checked', () => {
    const admitted = listed(principal(), request({ category: 'promotional', to: '+8801712345679' }));
    expect(JSON.stringify(admitted)).toContain('7-abcdef01');
    expect(JSON.stringify(listed(principal(), request({ category: 'otp' })))).not.toContain('7-abcdef01');
  });

  test('passes categories that a person did not object to', () => {
    const others = admit(registry(markOfCategories(['transactional', 'otp'])));
    expect(others(principal(), request({ category: 'promotional' })).ok).toBe(true);
  });

  test('an unreadable registry stops only the categories it is checked for', () => {
    const blind = admit('unknown');
    expect(blind(principal(), request({ category: 'promotional' }))).toMatchObject({ code: 'do_not_disturb_unknown' });
    expect(blind(principal(), request({ category: 'otp' })).ok).toBe(true);
  });

  test('a test key reaches nobody and is refused nothing by it', () => {
    expect(listed(principal({ livemode: false }), request({ category: 'promotional' })).ok).toBe(true);
  });
});

describe('quiet hours', () => {
  test('hold a promotional message until they end', () => {
    expect(admit(null, night)(principal(), request({ category: 'promotional' }))).toMatchObject({
      ok: true,
      notBeforeMs: Date.parse('2026-11-21T08:00:00+06:00'),
    });
    expect(admit(null, noon)(principal(), request({ category: 'promotional' }))).toMatchObject({ notBeforeMs: null });
  });

  test('refuse it instead when that is requested, with the time when it may be sent', () => {
    const refused = admit(null, night)(principal(), request({ category: 'promotional', quietHours: 'reject' }));
    expect(refused).toMatchObject({ ok: false, code: 'quiet_hours', field: 'quiet_hours' });
    expect(!refused.ok && refused.detail).toContain('2026-11-21T02:00:00.000Z');
  });

  test('never hold a one-time password or a transactional message', () => {
    fc.assert(
      fc.property(
        fc.constantFrom('otp' as const, 'transactional' as const),
        fc.integer({ min: noon, max: noon + 400 * 86_400_000 }),
        (category, nowMs) => {
          expect(admit(null, nowMs)(principal(), request({ category }))).toMatchObject({ ok: true, notBeforeMs: null });
        },
      ),
    );
  });

  test('do not hold a test message', () => {
    expect(admit(null, night)(principal({ livemode: false }), request({ category: 'promotional' }))).toMatchObject({
      notBeforeMs: null,
    });
  });
});

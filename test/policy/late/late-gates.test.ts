// The gates evaluated again when a token is granted: changes during the wait decide.
import { describe, expect, test } from 'vitest';
import type { Category } from '../../../model/message.ts';
import { type LateTenant, type LateTenants, lateGates } from '../../../policy/late/late-gates.ts';
import { messageWith } from '../../support/messages.ts';
import { rules } from '../rules.ts';

const noRegistry = () => ({ dnd: null, ported: null });
const tenants = (status: 'active' | 'suspended', optedOut: readonly string[] = []): LateTenants => ({
  account: () => ({ status, suppressions: { has: (to) => optedOut.includes(to) } }),
});
const message = messageWith({ recipient: '+8801712345678', validUntilMs: 1_000 });
const verdict = (of: LateTenants | undefined, nowMs = 0) => lateGates(rules.country, noRegistry, of)(message, nowMs);

describe('a message that waited', () => {
  test('is sent when nothing changed, and when its account is unknown', () => {
    expect(verdict(tenants('active'))).toEqual({ ok: true });
    expect(verdict(undefined)).toEqual({ ok: true });
    expect(verdict({ account: () => undefined })).toEqual({ ok: true });
  });

  test('is blocked when its account was suspended or its recipient opted out meanwhile', () => {
    expect(verdict(tenants('suspended'))).toEqual({ ok: false, status: 'blocked', code: 'account_suspended' });
    const optedOut = tenants('active', ['+8801712345678']);
    expect(verdict(optedOut)).toEqual({ ok: false, status: 'blocked', code: 'recipient_opted_out' });
    expect(verdict(tenants('active', ['+8801712345679']))).toEqual({ ok: true });
  });

  test('is blocked when its sender was rejected meanwhile, or for its category; one accepted just now passes', () => {
    const late = 10_000_000;
    const waited = messageWith({ sender: 'HELIO', category: 'otp', acceptedAtMs: 0, validUntilMs: late * 2 });
    const asked = (senders: string[], over: object = {}, nowMs = late, of: Partial<LateTenant> = {}) =>
      lateGates(rules.country, noRegistry, {
        account: () => ({ status: 'active', senders: new Set(senders), ...of }),
      })({ ...waited, ...over }, nowMs);
    const blocked = { ok: false, status: 'blocked', code: 'sender_not_registered' };
    expect(asked(['HELIO'])).toEqual({ ok: true });
    expect(asked([])).toEqual(blocked);
    expect(asked([], { acceptedAtMs: late - 1_000 })).toEqual({ ok: true });
    expect(asked([], { livemode: false })).toEqual({ ok: true });
    const only = (category: Category) => ({ senderCategories: new Map([['HELIO', [category]]]) });
    expect(asked(['HELIO'], {}, late, only('otp'))).toEqual({ ok: true });
    expect(asked(['HELIO'], {}, late, only('promotional'))).toEqual(blocked);
  });

  test('expires on the millisecond, before any other reason', () => {
    expect(verdict(tenants('active'), 999)).toEqual({ ok: true });
    expect(verdict(tenants('suspended'), 1_000)).toEqual({ ok: false, status: 'expired', code: 'validity_passed' });
  });
});

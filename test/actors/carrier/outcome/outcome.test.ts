// The outcome of a status and the relative validity: pure parts that decide what becomes of a submit.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { type OutcomeInput, decideOutcome } from '../../../../actors/carrier/outcome/outcome.ts';
import { nameOfStatus } from '../../../../model/command-status.ts';
import { type Category, categories } from '../../../../model/message.ts';
import { passLateGates } from '../../../../policy/late/late-gates.ts';
import { messageWith } from '../../../support/messages.ts';

const ask = (status: number, more: Partial<OutcomeInput> = {}) =>
  decideOutcome({
    status,
    statusName: nameOfStatus(status),
    category: 'transactional',
    attempt: 1,
    overrides: {},
    alternative: 'none',
    ...more,
  });

describe('what a status means', () => {
  test('zero is a submit', () => {
    expect(ask(0)).toEqual({ action: 'submitted' });
    expect(ask(0, { overrides: { '0': 'reject' } })).toEqual({ action: 'submitted' });
  });
  test('throttled, queue full, system error and a temporary error are temporary', () => {
    for (const status of [0x58, 0x14, 0x08, 0x64]) expect(ask(status).action).toBe('later');
  });
  test('of these an OTP goes to another carrier that does well, and waits for its own beside one that is avoided', () => {
    for (const status of [0x58, 0x14, 0x08, 0x64, 0x102]) {
      expect(ask(status, { category: 'otp', alternative: 'good' }).action).toBe('next');
      expect(ask(status, { category: 'otp', alternative: 'avoided' }).action).toBe('later');
      expect(ask(status, { alternative: 'good' }).action).toBe('later');
    }
  });
  test('only throttling pauses the carrier', () => {
    expect(ask(0x58)).toMatchObject({ pauseMs: 250 });
    expect(ask(0x14)).toMatchObject({ pauseMs: 0 });
  });
  test('a status about our account stops the carrier', () => {
    for (const status of [0x04, 0x0d, 0x0e, 0x0f]) expect(ask(status).action).toBe('stop');
  });
  test('everything else is about the message', () => {
    for (const status of [0x0b, 0x0a, 0x45, 0x65, 0x66, 0x67, 0xff, 0x400]) expect(ask(status).action).toBe('reject');
  });
  test("a carrier's own meaning wins, by the name that a status has or by its digits", () => {
    expect(ask(0x0b, { statusName: 'ESME_RINVDSTADR', overrides: { ESME_RINVDSTADR: 'later' } }).action).toBe('later');
    const statusName = nameOfStatus(1025);
    expect(ask(1025, { statusName, overrides: { '0x00000401': 'stop' } }).action).toBe('stop');
  });
  test('a wait grows, never below half nor above the whole of its exponential, capped by class', () => {
    fc.assert(
      fc.property(fc.constantFrom(...categories), fc.integer({ min: 1, max: 200 }), (category: Category, attempt) => {
        const { base, cap } = category === 'otp' ? { base: 200, cap: 2_000 } : { base: 1_000, cap: 60_000 };
        const full = Math.min(cap, base * 2 ** Math.min(attempt - 1, 20));
        const outcome = ask(0x58, { category, attempt });
        if (outcome.action !== 'later') throw new Error('not later');
        expect(outcome.afterMs).toBeGreaterThanOrEqual(Math.floor(full / 2));
        expect(outcome.afterMs).toBeLessThanOrEqual(full);
      }),
    );
  });
});

describe('late gates', () => {
  test('validity ends at its millisecond, not before', () => {
    const message = messageWith({ validUntilMs: 1_000 });
    expect(passLateGates(message, 999)).toEqual({ ok: true });
    expect(passLateGates(message, 1_000)).toEqual({ ok: false, status: 'expired', code: 'validity_passed' });
  });
});

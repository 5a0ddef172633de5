// What may happen to the one-time passwords of a number, as properties over any order of starts, guesses, resends and
// cancels, and both sides of each limit.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import type { MessageId, OtpId } from '../../../model/ids.ts';
import { type OtpNumber, type OtpSend, statusOf } from '../../../model/otp.ts';
import { otpLimitsDefault as rules } from '../../../policy/otp/contract.ts';
import {
  cancelOtp,
  countGuess,
  failGuess,
  resendOtp,
  startOtp,
  verifyOtp,
  withdrawSend,
} from '../../../policy/otp/rules.ts';
import { beginMs, fresh, otpOf, started, to } from './otp-number.ts';

describe('the time', () => {
  test('a code counts until the millisecond before it expires, also when the clock was set back and forth', () => {
    const otp = otpOf('A', beginMs);
    const held = started(otp);
    const guess = (nowMs: number) => countGuess(held, otp.id, ['r'], rules, nowMs).answer;
    expect(guess(otp.expiresAtMs - 1)).toMatchObject({ kind: 'counted' });
    expect(guess(otp.expiresAtMs)).toMatchObject({ kind: 'ended', status: 'expired' });
    expect(guess(otp.expiresAtMs + 1)).toMatchObject({ kind: 'ended', status: 'expired' });
    expect(guess(beginMs - 3_600_000)).toMatchObject({ kind: 'counted' });
  });

  test('a guess that was counted in time is right although the second write came later', () => {
    const otp = otpOf('A', beginMs);
    const counted = countGuess(started(otp), otp.id, ['r'], rules, otp.expiresAtMs - 1);
    const { answer } = verifyOtp(
      counted.next as OtpNumber,
      otp.id,
      ['r'],
      otp.expiresAtMs - 1,
      rules,
      otp.expiresAtMs + 5,
    );
    expect(answer).toMatchObject({ valid: true });
  });

  test('a resend needs a minute', () => {
    const otp = otpOf('A', beginMs);
    const at = (nowMs: number) =>
      resendOtp(started(otp), otp.id, { messageId: 'sms_2' as MessageId, atMs: nowMs }, rules, nowMs).answer;
    expect(at(otp.expiresAtMs - 60_000)).toMatchObject({ kind: 'changed' });
    expect(at(otp.expiresAtMs - 59_999)).toMatchObject({ kind: 'refused', refusal: { code: 'otp_expiring' } });
  });

  test('sends count for ten minutes, failed guesses for a day', () => {
    const sendsMs = [0, 1, 2, 3, 4].map((at) => beginMs + at);
    const at = (held: OtpNumber, nowMs: number) => startOtp(held, otpOf('A', nowMs), to, rules, nowMs).answer;
    expect(at({ ...fresh, sendsMs }, beginMs + 599_999)).toMatchObject({
      refusal: { code: 'otp_rate_limited', retryAfterS: 1 },
    });
    expect(at({ ...fresh, sendsMs }, beginMs + 600_000)).toMatchObject({ kind: 'started' });
    const failuresMs = Array.from({ length: 20 }, (_, each) => beginMs + each);
    expect(at({ ...fresh, failuresMs }, beginMs + 86_399_999)).toMatchObject({
      refusal: { code: 'otp_locked', retryAfterS: 1 },
    });
    expect(at({ ...fresh, failuresMs }, beginMs + 86_400_000)).toMatchObject({ kind: 'started' });
    expect(at({ ...fresh, failuresMs: failuresMs.slice(1) }, beginMs + 60_000)).toMatchObject({ kind: 'started' });
  });
});

describe('a code that has expired keeps that end', () => {
  const old = otpOf('A', beginMs);
  const nowMs = old.expiresAtMs;

  test('when another one of its purpose is entered', () => {
    const held = started(otpOf('B', nowMs), started(old), nowMs);
    const { next } = verifyOtp(held, 'otp_B' as OtpId, ['r'], nowMs, rules, nowMs);
    expect(next?.otps.map((otp) => statusOf(otp, nowMs))).toEqual(['expired', 'verified']);
    expect(next?.otps[0]?.endedAtMs).toBeNull();
  });

  test('when its number is locked; its own fifth guess, counted before, still ends it', () => {
    const failuresMs = Array.from({ length: 19 }, (_, at) => beginMs + at);
    const held = started(otpOf('B', nowMs), { ...started(old), failuresMs }, nowMs);
    const counted = countGuess(held, 'otp_B' as OtpId, ['r'], rules, nowMs).next as OtpNumber;
    const locked = failGuess(counted, 'otp_B' as OtpId, 1, rules, nowMs);
    expect(locked.answer.ended.map(({ id }) => id)).toEqual(['otp_B']);
    expect(locked.next?.otps.map((otp) => statusOf(otp, nowMs))).toEqual(['expired', 'failed']);
    const fifth = countGuess(started({ ...old, attempts: 4 }), old.id, ['r'], rules, nowMs - 1).next as OtpNumber;
    expect(failGuess(fifth, old.id, 5, rules, nowMs).answer.ended).toMatchObject([{ status: 'max_attempts_reached' }]);
  });
});

test('a repeated step changes nothing: a start, a resend, a cancel, a right guess under its own name', () => {
  const otp = otpOf('A', beginMs);
  const held = started(otp);
  expect(startOtp(held, otpOf('A', beginMs + 5), to, rules, beginMs + 5)).toEqual({
    next: null,
    answer: { kind: 'known', otp },
  });
  const send = { messageId: 'sms_2' as MessageId, atMs: beginMs + 9 };
  const resent = resendOtp(held, otp.id, send, rules, beginMs + 9).next as OtpNumber;
  expect(resendOtp(resent, otp.id, send, rules, beginMs + 10)).toMatchObject({
    next: null,
    answer: { kind: 'unchanged' },
  });
  const canceled = cancelOtp(held, otp.id, rules, beginMs).next as OtpNumber;
  expect(cancelOtp(canceled, otp.id, rules, beginMs)).toMatchObject({ next: null, answer: { kind: 'unchanged' } });
  const verified = verifyOtp(held, otp.id, ['mine'], beginMs, rules, beginMs).next as OtpNumber;
  expect(countGuess(verified, otp.id, ['mine'], rules, beginMs).answer).toMatchObject({ kind: 'answered_before' });
  expect(countGuess(verified, otp.id, ['yours'], rules, beginMs).answer).toMatchObject({
    kind: 'ended',
    status: 'verified',
  });
  expect(verifyOtp(verified, otp.id, ['mine'], beginMs, rules, beginMs).answer).toMatchObject({ valid: true });
  expect(verifyOtp(verified, otp.id, ['yours'], beginMs, rules, beginMs).answer).toMatchObject({ valid: false });
  // Made with another body key.
  expect(countGuess(verified, otp.id, ['new', 'mine'], rules, beginMs).answer).toMatchObject({
    kind: 'answered_before',
  });
  expect(verifyOtp(verified, otp.id, ['new', 'mine'], beginMs, rules, beginMs).answer).toMatchObject({ valid: true });
});

test('what ends gives up its code; a send that is taken back ends its OTP, which can be started again', () => {
  const otp = otpOf('A', beginMs);
  expect((cancelOtp(started(otp), otp.id, rules, beginMs).next as OtpNumber).otps).toMatchObject([{ sealed: null }]);
  const send = { messageId: otp.sends[0]?.messageId as MessageId, atMs: beginMs };
  const without = withdrawSend(started(otp), otp.id, send, beginMs + 5).next as OtpNumber;
  const notSent = { ...otp, status: 'failed', reason: 'not_sent', sealed: null, sends: [], endedAtMs: beginMs + 5 };
  expect(without).toEqual({ ...fresh, to, otps: [notSent] });
  expect(started(otp, without).otps).toEqual([otp]);
});

test('what has expired gives up its code five seconds later, with the next write', () => {
  const old = otpOf('A', beginMs);
  const sealedAt = (nowMs: number) => started(otpOf('B', nowMs), started(old), nowMs).otps.map(({ sealed }) => sealed);
  expect(sealedAt(old.expiresAtMs + 4_999)).toEqual([old.sealed, old.sealed]);
  expect(sealedAt(old.expiresAtMs + 5_000)).toEqual([null, old.sealed]);
});

test('of starts that were taken back the record keeps the last four', () => {
  let held = fresh;
  for (const name of ['A', 'B', 'C', 'D', 'E', 'F']) {
    const otp = otpOf(name, beginMs);
    const send = { messageId: `sms_${name}` as MessageId, atMs: beginMs };
    held = withdrawSend(started(otp, held), otp.id, send, beginMs).next as OtpNumber;
  }
  expect(held.otps.map(({ id }) => id)).toEqual(['otp_C', 'otp_D', 'otp_E', 'otp_F']);
  expect(held.sendsMs).toEqual([]);
});

test('a send that is taken back counts no more, although its record was decided later than it was made', () => {
  const otp = otpOf('A', beginMs);
  const held = started(otp, fresh, beginMs + 7);
  const send = otp.sends[0] as OtpSend;
  expect((withdrawSend(held, otp.id, send, beginMs + 9).next as OtpNumber).sendsMs).toEqual([]);
});

test('a wrong fourth guess does not end a code while its fifth is compared: that one decides', () => {
  const otp = otpOf('A', beginMs, { attempts: 3 });
  const id = otp.id;
  const fourth = countGuess(started(otp), id, ['four'], rules, beginMs + 1).next as OtpNumber;
  const fifth = countGuess(fourth, id, ['five'], rules, beginMs + 2);
  const { countedAtMs = 0 } = fifth.answer.kind === 'counted' ? fifth.answer : {};
  const both = fifth.next as OtpNumber;
  expect(failGuess(both, id, 4, rules, beginMs + 3)).toMatchObject({ next: null, answer: { ended: [] } });
  expect(verifyOtp(both, id, ['five'], countedAtMs, rules, beginMs + 4).answer).toMatchObject({ valid: true });
  expect(failGuess(both, id, 5, rules, beginMs + 4).answer.ended).toMatchObject([{ status: 'max_attempts_reached' }]);
  expect(countGuess(both, id, ['six'], rules, beginMs + 5).answer).toMatchObject({ kind: 'ended' });
});

test('a right fourth guess verifies although its fifth, wrong one was stored first', () => {
  const otp = otpOf('A', beginMs, { attempts: 3 });
  const id = otp.id;
  const fourth = countGuess(started(otp), id, ['four'], rules, beginMs + 1);
  const { countedAtMs = 0 } = fourth.answer.kind === 'counted' ? fourth.answer : {};
  const fifth = countGuess(fourth.next as OtpNumber, id, ['five'], rules, beginMs + 2).next as OtpNumber;
  const ended = failGuess(fifth, id, 5, rules, beginMs + 3).next as OtpNumber;
  expect(ended.otps).toMatchObject([{ status: 'max_attempts_reached' }]);
  const { next, answer } = verifyOtp(ended, id, ['four'], countedAtMs, rules, beginMs + 4);
  expect(answer).toMatchObject({ valid: true, otp: { status: 'verified', reason: null, attempts: 5, sealed: null } });
  expect(next?.failuresMs).toEqual([beginMs + 2]);
  expect(verifyOtp(next as OtpNumber, id, ['other'], beginMs + 2, rules, beginMs + 5).answer).toMatchObject({
    valid: false,
  });
});

test('a right guess verifies although a wrong one about another code has locked the number since', () => {
  const failuresMs = Array.from({ length: 18 }, (_, at) => beginMs + at);
  const one = started(otpOf('A', beginMs + 99), { ...fresh, failuresMs }, beginMs + 99);
  const two = started(otpOf('B', beginMs + 99, { purpose: 'payment' }), one, beginMs + 99);
  const right = countGuess(two, 'otp_A' as OtpId, ['right'], rules, beginMs + 100).next as OtpNumber;
  const wrong = countGuess(right, 'otp_B' as OtpId, ['wrong'], rules, beginMs + 101).next as OtpNumber;
  const locked = failGuess(wrong, 'otp_B' as OtpId, 1, rules, beginMs + 102).next as OtpNumber;
  expect(locked.otps).toMatchObject([{ reason: 'locked' }, { reason: 'locked' }]);
  const { next, answer } = verifyOtp(locked, 'otp_A' as OtpId, ['right'], beginMs + 100, rules, beginMs + 103);
  expect(answer).toMatchObject({ valid: true, otp: { status: 'verified', reason: null } });
  expect(next?.failuresMs).toHaveLength(19);
});

test('the 20th failure ends every pending code of the number, with its reason', () => {
  const failuresMs = Array.from({ length: 19 }, (_, at) => beginMs + at);
  const one = started(otpOf('A', beginMs + 99), { ...fresh, failuresMs }, beginMs + 99);
  const two = started(otpOf('B', beginMs + 99, { purpose: 'payment' }), one, beginMs + 99);
  const counted = countGuess(two, 'otp_A' as OtpId, ['r'], rules, beginMs + 100).next as OtpNumber;
  const { next, answer } = failGuess(counted, 'otp_A' as OtpId, 1, rules, beginMs + 101);
  expect(answer.ended.map(({ id, status, reason }) => ({ id, status, reason }))).toEqual([
    { id: 'otp_A', status: 'failed', reason: 'locked' },
    { id: 'otp_B', status: 'failed', reason: 'locked' },
  ]);
  expect(countGuess(next as OtpNumber, 'otp_B' as OtpId, ['r'], rules, beginMs + 102).answer).toMatchObject({
    kind: 'ended',
  });
});

type Step =
  | { readonly do: 'start' | 'cancel' | 'resend'; readonly of: number; readonly afterMs: number }
  /** The comparison of a counted guess comes when `open` others have been counted. */
  | {
      readonly do: 'guess';
      readonly of: number;
      readonly right: boolean;
      readonly open: number;
      readonly afterMs: number;
    };

test('whatever the order: five guesses of a code, twenty of a number and five sends are never exceeded, success is one', () => {
  const afterMs = fc.integer({ min: 0, max: 120_000 });
  const of = fc.integer({ min: 0, max: 5 });
  const step: fc.Arbitrary<Step> = fc.oneof(
    fc.record({ do: fc.constantFrom('start' as const, 'cancel' as const, 'resend' as const), of, afterMs }),
    fc.record({
      do: fc.constant('guess' as const),
      of,
      right: fc.boolean(),
      open: fc.integer({ min: 0, max: 4 }),
      afterMs: fc.constant(3),
    }),
    fc.record({
      do: fc.constant('guess' as const),
      of,
      right: fc.constant(false),
      open: fc.constant(0),
      afterMs: fc.constant(3),
    }),
  );
  fc.assert(
    fc.property(fc.array(step, { maxLength: 120 }), (steps) => {
      let held = fresh;
      let nowMs = beginMs;
      const ids = new Map<number, OtpId>();
      const compared = new Map<string, number>();
      const valid = new Map<string, number>();
      const failures: number[] = [];
      const sends: number[] = [];
      const open: { id: OtpId; right: boolean; attempt: number; countedAtMs: number; left: number }[] = [];
      const store = (next: OtpNumber | null) => (held = next ?? held);
      const compare = (guess: (typeof open)[number]) => {
        if (guess.right) {
          const { next, answer } = verifyOtp(
            held,
            guess.id,
            [`r${guess.countedAtMs}`],
            guess.countedAtMs,
            rules,
            nowMs,
          );
          const before = held.otps.find((otp) => otp.id === guess.id)?.status;
          store(next);
          // Only another right guess and a cancel come before a right one that was counted.
          expect(answer === null || answer.valid).toBe(!['verified', 'canceled'].includes(before ?? ''));
          if (answer?.valid === true) valid.set(guess.id, (valid.get(guess.id) ?? 0) + 1);
          else failures.push(guess.countedAtMs);
        } else {
          failures.push(guess.countedAtMs);
          store(failGuess(held, guess.id, guess.attempt, rules, nowMs).next);
        }
      };
      for (const [at, each] of steps.entries()) {
        nowMs += each.afterMs;
        const id = ids.get(each.of) ?? ('otp_none' as OtpId);
        const messageId = `sms_${at}` as MessageId;
        if (each.do === 'start') {
          const otp = otpOf(`${at}`, nowMs, { sends: [{ messageId, atMs: nowMs }] });
          const { next, answer } = startOtp(held, otp, to, rules, nowMs);
          if (answer.kind === 'started') {
            sends.push(nowMs);
            ids.set(each.of, otp.id);
          }
          store(next);
        } else if (each.do === 'resend') {
          const { next, answer } = resendOtp(held, id, { messageId, atMs: nowMs }, rules, nowMs);
          if (answer.kind === 'changed') sends.push(nowMs);
          store(next);
        } else if (each.do === 'cancel') store(cancelOtp(held, id, rules, nowMs).next);
        else if (each.do === 'guess') {
          const { next, answer } = countGuess(held, id, [`r${at}`], rules, nowMs);
          store(next);
          if (answer.kind === 'counted') {
            compared.set(id, (compared.get(id) ?? 0) + 1);
            const { countedAtMs, otp } = answer;
            open.push({ id, right: each.right, attempt: otp.attempts, countedAtMs, left: each.open });
          }
        }
        for (const guess of open.splice(0)) {
          if (guess.left > 0) open.push({ ...guess, left: guess.left - 1 });
          else compare(guess);
        }
        const pending = held.otps.filter((otp) => statusOf(otp, nowMs) === 'pending');
        expect(pending.length).toBeLessThanOrEqual(2);
        expect(sends.filter((sentMs) => sentMs > nowMs - 600_000).length).toBeLessThanOrEqual(5);
        expect(failures.filter((failedMs) => failedMs > nowMs - 86_400_000).length).toBeLessThanOrEqual(20);
      }
      expect([...compared.values()].every((count) => count <= 5)).toBe(true);
      expect([...valid.values()].every((count) => count === 1)).toBe(true);
    }),
  );
});

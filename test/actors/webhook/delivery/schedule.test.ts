// When an endpoint is tried, warned of and disabled: both sides of each limit. Pure.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { AccountRequests } from '../../../../actors/webhook/delivery/account-requests.ts';
import {
  type Failing,
  disabledBy,
  failed,
  isWarningDue,
  lengthened,
  nextAccountConcurrency,
  nextConcurrency,
} from '../../../../actors/webhook/delivery/schedule.ts';
import { sendErrors } from '../../../../actors/webhook/send/send-error.ts';
import type { AccountId } from '../../../../model/ids.ts';
import { limits } from '../../../../platform/limits.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { seededRandom } from '../../../../platform/random.ts';
import { SharedBound } from '../../../../platform/shared-bound.ts';

const bounds = limits.delivery;
const hourMs = 3_600_000;
const nowMs = 1_800_000_000_000;
const failing = (changes: Partial<Failing> = {}): Failing => ({
  ...{ sinceMs: nowMs, tries: 1, scheduledTries: 1, nextTryAtMs: nowMs, warnings: 0, isDisabledPublished: false },
  ...{ triedSeq: 0, onlyWebhookId: null, enabledAtMs: null, refused: null, error: 'timeout' },
  ...changes,
});
const streak = { sinceMs: nowMs, failures: 4, onlyWebhookId: null };
const refused = { error: 'http_error', retryAfterMs: null, triedSeq: 0, refusedId: null, enabledAtMs: null } as const;
const asking = (retryAfterMs: number) => ({ ...refused, error: 'throttled', retryAfterMs }) as const;

describe('its account is notified', () => {
  test.each([
    [0, hourMs],
    [1, 24 * hourMs],
  ])('after warning %i: not before %i ms, and then', (warnings, afterMs) => {
    expect(isWarningDue(failing({ warnings }), nowMs + afterMs - 1)).toBe(false);
    expect(isWarningDue(failing({ warnings }), nowMs + afterMs)).toBe(true);
  });

  test('twice and no more', () => {
    expect(isWarningDue(failing({ warnings: 2 }), nowMs + 100 * 24 * hourMs)).toBe(false);
  });
});

describe('it is disabled', () => {
  const fiveDays = 5 * 24 * hourMs;
  test.each([
    [9, fiveDays, null],
    [10, fiveDays - 1, null],
    [10, fiveDays, 'failing'],
    [9, 100 * fiveDays, null],
    [100, fiveDays - 1, null],
  ])('with %i tries after %i ms: %s', (tries, afterMs, reason) => {
    expect(disabledBy(failing({ tries }), nowMs + afterMs)).toBe(reason);
  });

  test('at once by a 410', () => {
    expect(disabledBy(failing({ error: 'gone' }), nowMs)).toBe('gone');
  });

  test('after five days of the schedule, whatever the jitter: it has had more than ten tries by then', () => {
    for (let seed = 1; seed <= 50; seed += 1) {
      const random = seededRandom(seed);
      let state = failed(null, streak, refused, nowMs, random);
      while (disabledBy(state, state.nextTryAtMs) === null)
        state = failed(state, streak, refused, state.nextTryAtMs, random);
      expect(state.tries).toBeGreaterThan(bounds.disableAfterTries);
      expect(state.nextTryAtMs - nowMs).toBeLessThan(fiveDays + bounds.retryAfterMsMax * 1.1);
    }
  });
});

test('each wait is that of the schedule, longer by a tenth at most; the last one stays', () => {
  const random = seededRandom(7);
  let state: Failing | null = null;
  for (let tries = 1; tries < 30; tries += 1) {
    state = failed(state, streak, { ...refused, retryAfterMs: 99, triedSeq: 5 }, nowMs, random);
    const waitMs = bounds.scheduleMs[Math.min(tries, bounds.scheduleMs.length - 1)] ?? 0;
    expect(state).toMatchObject({ tries, triedSeq: 5, sinceMs: nowMs });
    expect(state.nextTryAtMs - nowMs).toBeGreaterThanOrEqual(waitMs);
    expect(state.nextTryAtMs - nowMs).toBeLessThanOrEqual(waitMs * (1 + bounds.scheduleJitter));
  }
  expect(failed(state, streak, asking(77_000), nowMs, random).nextTryAtMs - nowMs).toBe(77_000);
});

test('a time that the receiver asked for is no step of the schedule', () => {
  const random = seededRandom(11);
  let state = failed(null, streak, asking(10_000), nowMs, random);
  for (let more = 1; more < 12; more += 1) state = failed(state, streak, asking(10_000), nowMs, random);
  expect(state).toMatchObject({ tries: 12, scheduledTries: 0, nextTryAtMs: nowMs + 10_000 });
  const [, first, second] = bounds.scheduleMs;
  for (const [tries, waitMs] of [
    [13, first],
    [14, second],
  ] as const) {
    state = failed(state, streak, { ...refused, error: 'connect_error' }, nowMs, random);
    expect(state.tries).toBe(tries);
    expect(state.nextTryAtMs - nowMs).toBeGreaterThanOrEqual(waitMs);
    expect(state.nextTryAtMs - nowMs).toBeLessThanOrEqual(waitMs * (1 + bounds.scheduleJitter));
  }
});

test('a receiver that always asks for a second costs a bounded number of tries until it is disabled', () => {
  const random = seededRandom(13);
  let [state, atMs] = [failed(null, streak, asking(1_000), nowMs, random), nowMs];
  for (; disabledBy(state, atMs) === null; atMs = state.nextTryAtMs)
    state = failed(state, streak, asking(1_000), atMs, random);
  expect(state.tries).toBeLessThanOrEqual(bounds.askedTriesMax + 2 * bounds.scheduleMs.length);
});

test('a streak knows its first failure, and whether one event is all that failed', () => {
  const first = lengthened(null, { error: 'http_error', webhookId: 'evt_a' }, nowMs);
  const second = lengthened(first, { error: 'redirect', webhookId: 'evt_a' }, nowMs + 1);
  expect(second).toEqual({ sinceMs: nowMs, failures: 2, onlyWebhookId: 'evt_a' });
  const third = lengthened(second, { error: 'http_error', webhookId: 'evt_b' }, nowMs + 2);
  expect(third).toEqual({ sinceMs: nowMs, failures: 3, onlyWebhookId: null });
  expect(lengthened(third, { error: 'http_error', webhookId: 'evt_b' }, nowMs).onlyWebhookId).toBeNull();
  expect(lengthened(null, { error: 'timeout', webhookId: 'evt_a' }, nowMs).onlyWebhookId).toBeNull();
});

const aResult = fc.constantFrom(null, ...sendErrors);

test('requests at once stay within their bounds, grow with successes and shrink with failures', () => {
  const property = fc.property(
    fc.array(aResult, { maxLength: 300 }),
    fc.integer({ min: 20, max: 400 }),
    (results, max) => {
      let endpoint: number = bounds.concurrencyFirst;
      let account = Math.min(bounds.accountConcurrencyFirst, max);
      for (const error of results) {
        const [e, a] = [nextConcurrency(endpoint, error === null), nextAccountConcurrency(account, error, max)];
        expect(error === null ? e >= endpoint : e <= endpoint).toBe(true);
        expect(error === null ? a >= account : a <= account).toBe(true);
        [endpoint, account] = [e, a];
        expect(endpoint).toBeGreaterThanOrEqual(1);
        expect(endpoint).toBeLessThanOrEqual(bounds.concurrencyMax);
        expect(account).toBeGreaterThanOrEqual(Math.min(bounds.accountConcurrencyMin, max));
        expect(account).toBeLessThanOrEqual(max);
      }
    },
  );
  fc.assert(property);
});

test('an account has what its receivers answer: timeouts shrink it to the least, others keep their share', () => {
  const share = { total: 2_048, perAccount: 256, reserve: 0 };
  const requests = new AccountRequests(new SharedBound('webhook_requests', share), share, new ManualClock());
  const [slow, fast] = ['acc_slow' as AccountId, 'acc_fast' as AccountId];
  const fill = (account: AccountId): number => {
    let count = 0;
    for (; requests.look(account) === 'taken'; count += 1) requests.take(account);
    return count;
  };
  expect(fill(slow)).toBe(bounds.accountConcurrencyFirst);
  expect(requests.look(slow)).toBe('account_full');
  expect(fill(fast)).toBe(bounds.accountConcurrencyFirst);
  for (let count = 0; count < 40; count += 1) requests.ended(slow, 'timeout');
  expect(Math.floor(requests.allowedOf(slow))).toBe(bounds.accountConcurrencyMin);
  expect(requests.look(slow)).toBe('account_full');
  // What the receiver says of an event says nothing of the receiver.
  const before = requests.allowedOf(fast);
  requests.ended(fast, 'http_error');
  expect(requests.allowedOf(fast)).toBe(before);
  for (let round = 0; round < 40_000; round += 1) {
    requests.ended(fast, null);
    requests.take(fast);
  }
  expect(Math.floor(requests.allowedOf(fast))).toBe(share.perAccount);
});

test('what an account’s receivers answer is remembered for ten minutes at rest, of the last accounts', () => {
  const share = { total: 2_048, perAccount: 256, reserve: 0 };
  const clock = new ManualClock();
  const requests = new AccountRequests(new SharedBound('webhook_requests', share), share, clock);
  const account = (at: number) => `acc_${at}` as AccountId;
  const fail = (of: AccountId) => {
    requests.take(of);
    requests.ended(of, 'timeout');
  };
  const first = bounds.accountConcurrencyFirst;
  fail(account(0));
  expect(requests.allowedOf(account(0))).toBe(first * 0.75);
  clock.advance(bounds.accountConcurrencyKeptMs - 1);
  expect(requests.allowedOf(account(0))).toBe(first * 0.75);
  fail(account(0));
  // One that is in flight for longer is not forgotten.
  requests.take(account(0));
  clock.advance(2 * bounds.accountConcurrencyKeptMs);
  expect(requests.allowedOf(account(0))).toBe(first * 0.75 ** 2);
  requests.ended(account(0), 'http_error');
  expect(requests.allowedOf(account(0))).toBe(first * 0.75 ** 2);
  for (let at = 1; at <= bounds.accountConcurrencyKeptMax; at += 1) fail(account(at));
  expect(requests.allowedOf(account(0))).toBe(first);
  expect(requests.allowedOf(account(1))).toBe(first * 0.75);
  clock.advance(bounds.accountConcurrencyKeptMs);
  expect(requests.allowedOf(account(1))).toBe(first);
  requests.take(account(1));
  expect(requests.allowedOf(account(1))).toBe(first);
});

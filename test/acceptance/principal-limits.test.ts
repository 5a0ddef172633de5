// The rates of a principal and its account, what their answers say of them in HTTP, and the networks it may call from.
import { describe, expect, test } from 'vitest';
import { RateLimits, networkGate } from '../../acceptance/principal-limits.ts';
import { rateHeaders } from '../../api/http/rate-headers.ts';
import type { Rate } from '../../directory/contract.ts';
import type { AccountId, ApiKeyId } from '../../model/ids.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { parseIp } from '../../platform/ip-address.ts';
import { newRateMemory } from '../../platform/rate-table.ts';

describe('rates of a request', () => {
  let nowMs = 1_000;
  const clock: Clock = { ...systemClock, monotonicMs: () => nowMs };
  const principal = (rate: Rate | null, ofAccount: Rate | null) => ({
    id: 'key_1' as ApiKeyId,
    rate,
    account: { accountId: 'acc_1' as AccountId, rate: ofAccount },
  });

  test('nothing where nothing is limited', () => {
    const answer = new RateLimits(newRateMemory(64), clock).take(principal(null, null));
    expect(answer.refused).toBeNull();
    expect(rateHeaders(answer)).toEqual([]);
  });

  test('the tighter of two rates, in the fields of the draft and in the older ones, and Retry-After when it is exceeded', () => {
    const rates = new RateLimits(newRateMemory(64), clock);
    const mine = principal({ perSecond: 1, burst: 2 }, { perSecond: 100, burst: 100 });
    const first = rates.take(mine);
    expect(first.refused).toBeNull();
    expect(Object.fromEntries(rateHeaders(first))).toEqual({
      'ratelimit-policy': '"key";q=2;w=2',
      ratelimit: '"key";r=1;t=1',
      'ratelimit-limit': '2',
      'ratelimit-remaining': '1',
      'ratelimit-reset': '1',
    });
    expect(rates.take(mine).refused).toBeNull();
    expect(rates.take(mine).refused).toMatchObject({ code: 'rate_limited', retryAfterS: 1 });
    nowMs += 1_000;
    expect(rates.take(mine).refused).toBeNull();
    // The first message of a batch took the request's own turn. More than the burst is never taken, so no wait is named.
    nowMs += 10_000;
    expect(rates.take(mine).refused).toBeNull();
    expect(rates.take(mine, 2).refused).toMatchObject({ code: 'rate_limited', retryAfterS: null });
    expect(rates.take(mine, 1).refused).toBeNull();
  });

  test('idempotency keys are counted when they are stored, and refused with the time to wait', () => {
    const quota = new RateLimits(newRateMemory(64), clock).keyQuota({
      accountId: 'acc_1' as AccountId,
      idempotencyKeysPerHour: 2,
    });
    for (let used = 0; used < 2; used += 1) {
      expect(quota.refuse()).toBeNull();
      expect(quota.refuse()).toBeNull();
      quota.use(1);
    }
    expect(quota.refuse()).toMatchObject({ code: 'idempotency_quota_exceeded', retryAfterS: 1_800 });
    nowMs += 1_800_000;
    expect(quota.refuse()).toBeNull();
  });
});

describe('networks', () => {
  const networks = (own: string[], account: string[]) => ({ networks: own, account: { networks: account } });
  test('both lists must match when both are given; an unknown address is in none', () => {
    const both = networks(['192.0.2.0/24'], ['192.0.2.0/28', '2001:db8::/32']);
    expect(networkGate(both, parseIp('192.0.2.15'))).toBeNull();
    expect(networkGate(both, parseIp('192.0.2.16'))).toMatchObject({ code: 'ip_not_allowed' });
    expect(networkGate(both, parseIp('2001:db8::1'))).toMatchObject({ code: 'ip_not_allowed' });
    expect(networkGate(both, null)).toMatchObject({ code: 'ip_not_allowed' });
    expect(networkGate(networks([], []), null)).toBeNull();
  });
  test('an unreadable list allows no address', () => {
    expect(networkGate(networks(['nonsense'], []), parseIp('192.0.2.1'))).toMatchObject({ code: 'ip_not_allowed' });
  });
});

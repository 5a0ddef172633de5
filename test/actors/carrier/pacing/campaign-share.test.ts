// The share of a contract that promotional messages use beside OTP, on a manual clock.
import { describe, expect, test } from 'vitest';
import { CampaignShare } from '../../../../actors/carrier/pacing/campaign-share.ts';
import { limits } from '../../../../platform/limits.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const { shareMin, shrinkTo, shrinkEveryMs, growthPerS, marginMs, halfLifeMs, slowMin } = limits.carrier.campaignShare;
const usualMs = 2;
const lateMs = usualMs * limits.bulkPace.slow.usualFactor + marginMs + 1;

function setUp() {
  const clock = new ManualClock();
  const share = new CampaignShare(clock);
  const otp = (count: number, ms: number) => {
    for (let nth = 0; nth < count; nth += 1) share.otpTook(ms);
  };
  return { clock, share, otp };
}

describe('promotional messages', () => {
  test('have the whole contract while there are no OTP, and while those are quick', () => {
    const { clock, share, otp } = setUp();
    expect(share.now()).toBe(1);
    for (let second = 0; second < 60; second += 1) {
      clock.advance(1_000);
      otp(100, usualMs + 1);
      expect(share.now()).toBe(1);
    }
  });

  test('do not yield to a single late OTP, and yield to the second', () => {
    const { share, otp } = setUp();
    otp(20, usualMs);
    otp(1, lateMs);
    expect(share.now()).toBe(1);
    otp(1, lateMs);
    expect(share.now()).toBe(shrinkTo);
  });

  test('nor to OTP that are slower by less than the margin', () => {
    const { share, otp } = setUp();
    otp(20, usualMs);
    otp(20, lateMs - 2);
    expect(share.now()).toBe(1);
  });

  test('yield once in shrinkEveryMs, down to shareMin', () => {
    const { clock, share, otp } = setUp();
    otp(100, usualMs);
    otp(10, lateMs);
    expect(share.now()).toBe(shrinkTo);
    clock.advance(shrinkEveryMs - 1);
    otp(10, lateMs);
    expect(share.now()).toBe(shrinkTo);
    clock.advance(1);
    otp(1, lateMs);
    expect(share.now()).toBeCloseTo(shrinkTo ** 2);
    for (let time = 0; time < 20; time += 1) {
      clock.advance(shrinkEveryMs);
      otp(20, usualMs);
      otp(2, lateMs);
    }
    expect(share.now()).toBe(shareMin);
  });

  test('have the whole contract again when the late ones are past, by growthPerS', () => {
    const { clock, share, otp } = setUp();
    otp(20, usualMs);
    otp(3, lateMs);
    // Three are too many until they have faded to slowMin.
    const fadedMs = halfLifeMs * Math.log2(3 / slowMin);
    clock.advance(fadedMs - 10);
    expect(share.now()).toBe(shrinkTo);
    clock.advance(1_010);
    expect(share.now()).toBeCloseTo(shrinkTo + growthPerS, 2);
    clock.advance(10_000);
    expect(share.now()).toBe(1);
  });
});

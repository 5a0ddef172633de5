// The share of a contract that promotional messages use beside OTP, on a manual clock.
import { describe, expect, test } from 'vitest';
import { CampaignShare } from '../../../../actors/carrier/pacing/campaign-share.ts';
import { limits } from '../../../../platform/limits.ts';
import { metrics } from '../../../../platform/telemetry.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const {
  shareMin,
  shrinkTo,
  shrinkEveryMs,
  growthPerS,
  marginMs,
  halfLifeMs,
  slowMin,
  otpMin,
  beginsAt,
  doublesWithinMs,
  pauseMs,
} = limits.carrier.campaignShare;
const usualMs = 2;
const lateMs = usualMs * limits.bulkPace.slow.usualFactor + marginMs + 1;

/** A campaign that began before there were OTP. */
function setUp() {
  const clock = new ManualClock();
  const share = new CampaignShare(clock);
  expect(share.ofNext()).toBe(1);
  const otp = (count: number, ms: number) => {
    for (let nth = 0; nth < count; nth += 1) share.otpTook(ms);
  };
  return { clock, share, otp };
}

/** A campaign and OTP that have run beside each other for some seconds. */
function setUpTogether() {
  const parts = setUp();
  const { clock, share, otp } = parts;
  otp(otpMin, usualMs);
  while (share.ofNext() < 1) clock.advance(doublesWithinMs);
  return parts;
}

describe('promotional messages', () => {
  test('have the whole contract while there are no OTP, and while those are quick', () => {
    const { clock, share, otp } = setUpTogether();
    expect(share.ofNext()).toBe(1);
    for (let second = 0; second < 60; second += 1) {
      clock.advance(1_000);
      otp(100, usualMs + 1);
      expect(share.ofNext()).toBe(1);
    }
  });

  test('do not yield to a single late OTP, and yield to the second', () => {
    const { share, otp } = setUpTogether();
    otp(20, usualMs);
    otp(1, lateMs);
    expect(share.ofNext()).toBe(1);
    otp(1, lateMs);
    expect(share.ofNext()).toBe(shrinkTo);
  });

  test('nor to OTP that are slower by less than the margin', () => {
    const { share, otp } = setUpTogether();
    otp(20, usualMs);
    otp(20, lateMs - 2);
    expect(share.ofNext()).toBe(1);
  });

  test('yield once in shrinkEveryMs, down to shareMin', () => {
    const { clock, share, otp } = setUpTogether();
    otp(100, usualMs);
    otp(10, lateMs);
    expect(share.ofNext()).toBe(shrinkTo);
    clock.advance(shrinkEveryMs - 1);
    otp(10, lateMs);
    expect(share.ofNext()).toBe(shrinkTo);
    clock.advance(1);
    otp(1, lateMs);
    expect(share.ofNext()).toBeCloseTo(shrinkTo ** 2);
    for (let time = 0; time < 20; time += 1) {
      clock.advance(shrinkEveryMs);
      otp(20, usualMs);
      otp(2, lateMs);
      share.ofNext();
    }
    expect(share.ofNext()).toBe(shareMin);
  });

  test('have the whole contract again when the late ones are past, by growthPerS', () => {
    const { clock, share, otp } = setUpTogether();
    otp(20, usualMs);
    otp(3, lateMs);
    // Three are too many until they have faded to slowMin.
    const fadedMs = halfLifeMs * Math.log2(3 / slowMin);
    clock.advance(fadedMs - 10);
    expect(share.ofNext()).toBe(shrinkTo);
    clock.advance(1_010);
    expect(share.ofNext()).toBeCloseTo(shrinkTo + growthPerS, 2);
    for (let second = 0; second < (1 - shrinkTo) / growthPerS; second += 1) {
      clock.advance(1_000);
      share.ofNext();
    }
    expect(share.ofNext()).toBe(1);
  });
});

describe('a campaign and OTP that come together', () => {
  const otpOfSecond = ({ clock, otp }: ReturnType<typeof setUp>) => {
    otp(2 * otpMin, usualMs);
    clock.advance(1_000);
  };

  test.each(['the campaign', 'the OTP'])('%s later: a part of the contract, which doubles until it is all', (later) => {
    const running = setUp();
    const { clock, share, otp } = running;
    if (later === 'the campaign') {
      clock.advance(pauseMs + 1);
      otp(2 * otpMin, usualMs);
    } else {
      otp(otpMin - 1, usualMs);
      expect(share.ofNext()).toBe(1);
      otp(1, usualMs);
    }
    expect(share.ofNext()).toBe(beginsAt);
    for (const times of [2, 4]) {
      clock.advance(doublesWithinMs);
      otp(2 * otpMin, usualMs);
      expect(share.ofNext()).toBe(times * beginsAt);
    }
  });

  test('until OTP are late: then it grows by growthPerS', () => {
    const { clock, share, otp } = setUp();
    otp(otpMin, usualMs);
    clock.advance(doublesWithinMs);
    expect(share.ofNext()).toBe(2 * beginsAt);
    otp(2, lateMs);
    const shrunk = 2 * beginsAt * shrinkTo;
    clock.advance(halfLifeMs);
    share.ofNext();
    clock.advance(1_000);
    expect(share.ofNext()).toBeCloseTo(shrunk + 2 * growthPerS, 5);
  });

  test('go on as they were after a pause of pauseMs, and begin again after a longer one', () => {
    const running = setUp();
    const { clock, share, otp } = running;
    for (let second = 0; second < 5; second += 1) {
      otpOfSecond(running);
      share.ofNext();
    }
    expect(share.ofNext()).toBe(1);
    otp(otpMin, usualMs);
    clock.advance(pauseMs);
    otp(otpMin, usualMs);
    expect(share.ofNext()).toBe(1);
    clock.advance(pauseMs + 1);
    otp(otpMin, usualMs);
    expect(share.ofNext()).toBe(beginsAt);
  });

  test('nothing is withheld when the campaign is over', async () => {
    const { clock, share, otp } = setUp();
    const withheld = async () => (await metrics.campaignWithheld.get()).values[0]?.value;
    otp(otpMin, usualMs);
    expect(share.ofNext()).toBe(beginsAt);
    expect(await withheld()).toBe(1 - beginsAt);
    clock.advance(pauseMs + 1);
    otp(1, usualMs);
    expect(await withheld()).toBe(0);
  });

  test('have nothing to do with each other while OTP are few', () => {
    const { clock, share, otp } = setUp();
    for (let second = 0; second < 60; second += 1) {
      otp(otpMin / 2 - 1, usualMs);
      expect(share.ofNext()).toBe(1);
      clock.advance(halfLifeMs);
    }
  });
});

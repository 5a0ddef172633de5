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
  growth,
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
    otp(100, usualMs);
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

  test('come back soon to just below the share at which OTP were late, stay there for seconds, and then try more', () => {
    const { clock, share, otp } = setUpTogether();
    otp(20, usualMs);
    otp(3, lateMs);
    // Three are too many until they have faded to slowMin.
    clock.advance(halfLifeMs * Math.log2(3 / slowMin) - 10);
    expect(share.ofNext()).toBe(shrinkTo);
    clock.advance(10);
    const toPeakS = Math.cbrt((1 - shrinkTo) / growth.perCubicS);
    const after = afterSeconds(clock, share);
    // Seven eighths of the way in half of the time.
    expect(after(toPeakS / 2)).toBeCloseTo(1 - (1 - shrinkTo) / 8, 2);
    expect(after(toPeakS / 4)).toBeCloseTo(1 - (1 - shrinkTo) / 64, 2);
    expect(after(toPeakS / 4)).toBeCloseTo(1, 2);
    after(1);
    expect(share.ofNext()).toBe(1);
  });

  test('that made OTP late at a lower share, too, come back to that one, and beyond it more and more quickly', () => {
    const { clock, share, otp } = setUpTogether();
    otp(20, usualMs);
    otp(2, lateMs);
    clock.advance(growth.oneMomentMs + 1);
    // Shrinks from what it has grown to meanwhile.
    const peak = share.ofNext();
    expect(peak).toBeLessThan(1);
    otp(20, usualMs);
    otp(2, lateMs);
    const low = peak * shrinkTo;
    expect(share.ofNext()).toBeCloseTo(low, 10);
    const toPeakS = Math.cbrt((peak - low) / growth.perCubicS);
    clock.advance(halfLifeMs);
    share.ofNext();
    const after = afterSeconds(clock, share);
    const atPeak = after(toPeakS);
    expect(atPeak).toBeGreaterThan(peak - 0.01);
    expect(atPeak).toBeLessThan(peak + 0.01);
    const [soon, later] = [after(2) - atPeak, after(2) - atPeak];
    expect(soon).toBeGreaterThan(0);
    expect(later).toBeGreaterThan(4 * soon);
  });

  test('that fell several times in a moment come back to the share before the first fall', () => {
    const { clock, share, otp } = setUpTogether();
    otp(100, usualMs);
    for (let fall = 0; fall < 4; fall += 1) {
      otp(5, lateMs);
      clock.advance(shrinkEveryMs);
    }
    const low = share.ofNext();
    expect(low).toBeCloseTo(shrinkTo ** 4, 10);
    clock.advance(4 * halfLifeMs);
    share.ofNext();
    expect(afterSeconds(clock, share)(Math.cbrt((1 - low) / growth.perCubicS) + 1)).toBe(1);
  });

  test.each([0.9, 0.7, 0.5, 0.35])(
    'use what a machine can do that makes OTP late above %d, and rarely try more',
    (canDo) => {
      const { clock, share, otp } = setUpTogether();
      const lateSeconds = new Set<number>();
      const used: number[] = [];
      const [settledS, endS] = [20, 300];
      for (let tenth = 0; tenth < 10 * endS; tenth += 1) {
        const now = share.ofNext();
        const late = now > canDo ? 1 : 0;
        otp(10 - late, usualMs);
        otp(late, lateMs);
        clock.advance(100);
        if (tenth < 10 * settledS) continue;
        used.push(now);
        if (late > 0) lateSeconds.add(Math.floor(tenth / 10));
      }
      expect(lateSeconds.size).toBeLessThan((endS - settledS) / 6);
      expect(used.reduce((sum, each) => sum + each, 0) / used.length).toBeGreaterThan(0.92 * canDo);
    },
  );
});

/** The share after so many seconds more, in which promotional messages are chosen all the time and no OTP comes. */
const afterSeconds = (clock: ManualClock, share: CampaignShare) => (seconds: number) => {
  for (let step = 0; step < 100; step += 1) {
    clock.advance(seconds * 10);
    share.ofNext();
  }
  return share.ofNext();
};

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

  test('until OTP are late: then it grows as after any fall', () => {
    const { clock, share, otp } = setUp();
    otp(otpMin, usualMs);
    clock.advance(doublesWithinMs);
    const peak = 2 * beginsAt;
    expect(share.ofNext()).toBe(peak);
    otp(2, lateMs);
    const toPeakS = Math.cbrt((peak * (1 - shrinkTo)) / growth.perCubicS);
    clock.advance(halfLifeMs);
    expect(share.ofNext()).toBeCloseTo(peak * shrinkTo, 1);
    expect(afterSeconds(clock, share)(toPeakS)).toBeCloseTo(peak, 2);
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

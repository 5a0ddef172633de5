// Pacing: in no second, wherever it begins, more segments than the contract; and when always asked, nearly all.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jitterMs } from '../../../../actors/carrier/pacing/answer-times.ts';
import { tokensReservedFor } from '../../../../actors/carrier/queue/lanes.ts';
import { type Pacing, pacing, shareOfContract } from '../../../../actors/carrier/pacing/pacing.ts';

/** The most segments in any one second: what a carrier's counter would see. */
function peakOf(sentAtMs: readonly number[]): number {
  let peak = 0;
  let from = 0;
  for (let to = 0; to < sentAtMs.length; to += 1) {
    while ((sentAtMs[to] as number) - (sentAtMs[from] as number) >= 1_000) from += 1;
    peak = Math.max(peak, to - from + 1);
  }
  return peak;
}

/** All that may be sent at one moment, each answered at once; intents take no time. */
function sendAll(pace: Pacing, atMs: number, sent: number[] = []): number[] {
  while (pace.writeWaitMs(1, atMs) === 0 && pace.take(1, atMs, 0)) {
    pace.answered({ number: pace.written(1, 0, atMs), bind: 0, writtenAtMs: atMs }, atMs);
    sent.push(atMs);
  }
  return sent;
}

function sendThrough(pace: Pacing, fromMs: number, endMs: number, sent: number[] = []): number[] {
  for (let atMs = fromMs; atMs < endMs; atMs += 1) sendAll(pace, atMs, sent);
  return sent;
}

for (const tps of [1, 2, 10, 100, 1_000, 5_000]) {
  describe(`a contract of ${tps} per second`, () => {
    test('is used to at least 98 % when there is always something to send', () => {
      const seconds = Math.max(10, 100 / tps);
      const sent = sendThrough(pacing(tps), 0, seconds * 1_000).length;
      expect(sent).toBeGreaterThanOrEqual(Math.floor(tps * seconds * 0.98));
      expect(sent).toBeLessThanOrEqual(tps * seconds);
    });

    test('is never exceeded in any second, whenever messages arrive and the loop stalls', () => {
      fc.assert(
        fc.property(
          fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 1, max: 400 })), { maxLength: 20 }),
          (bursts) => {
            const pace = pacing(tps);
            const sent: number[] = [];
            let atMs = 1e6;
            for (const [stallMs, busyMs] of bursts) {
              atMs += stallMs;
              sendThrough(pace, atMs, atMs + busyMs, sent);
              atMs += busyMs;
            }
            expect(peakOf(sent)).toBeLessThanOrEqual(tps);
          },
        ),
        { numRuns: tps > 500 ? 15 : 60 },
      );
    });

    test('is not exceeded either without any answer, with the jitter to spare', () => {
      const pace = pacing(tps);
      const sent: number[] = [];
      for (let atMs = 0; atMs < 5_000; atMs += 1) {
        while (pace.writeWaitMs(1, atMs) === 0) {
          pace.written(1, 0, atMs);
          sent.push(atMs);
        }
      }
      for (let at = tps; at < sent.length; at += 1) {
        expect((sent[at] as number) - (sent[at - tps] as number)).toBeGreaterThanOrEqual(1_000 + jitterMs);
      }
      expect(sent.length).toBeGreaterThanOrEqual(Math.floor(tps * 4.7));
    });
  });
}

test('waitMs is the time until the next token is due, and zero when it is', () => {
  const pace = pacing(100);
  expect(pace.waitMs(1, 50, 0)).toBe(0);
  while (pace.take(1, 50, 0));
  const waitMs = pace.waitMs(1, 50, 0);
  expect(pace.take(1, 50 + waitMs - 0.01, 0)).toBe(false);
  expect(pace.take(1, 50 + waitMs, 0)).toBe(true);
});

test('a pause delays every token and every PDU until its end, and an earlier one does not shorten it', () => {
  const pace = pacing(100);
  pace.pauseUntil(1_000);
  pace.pauseUntil(500);
  expect(pace.take(1, 999, 0)).toBe(false);
  expect(pace.waitMs(1, 999, 0)).toBeCloseTo(1);
  expect(pace.writeWaitMs(1, 999)).toBeCloseTo(1);
  expect(pace.take(1, 1_000, 0)).toBe(true);
});

test('a carrier that throttles gets less, and its answers prove less for a while', () => {
  const pace = pacing(1_000);
  pace.slowDown(0);
  expect(pace.ratePerS(0)).toBeCloseTo((1_000 * shareOfContract) / 2);
  const sent = sendThrough(pace, 1, 3_001).length;
  expect(sent).toBeGreaterThan(3 * 480);
  expect(sent).toBeLessThan(3 * 600 + 100);
  expect(pace.ratePerS(30_000)).toBe(1_000 * shareOfContract);
});

test('a new contract applies from the next token on, and 0 sends nothing', () => {
  const pace = pacing(10);
  sendAll(pace, 0);
  pace.setContract(1_000);
  const many = sendThrough(pace, 200, 1_200).length;
  expect(many).toBeGreaterThan(970);
  expect(many).toBeLessThanOrEqual(1_000);
  pace.setContract(0);
  expect(sendThrough(pace, 2_200, 3_200)).toEqual([]);
  expect(pace.waitMs(1, 3_200, 0)).toBe(Number.POSITIVE_INFINITY);
  pace.setContract(10);
  expect(sendThrough(pace, 3_200, 4_200)).toHaveLength(10);
});

describe('lost time while something waited', () => {
  test.each([10, 100, 1_000, 5_000])(
    'is made up for when it was short, and lost but for a fifth of a second when it was long, at %i per second',
    (tps) => {
      const full = tps * shareOfContract * 10;
      const through = (stallMs: number) => {
        const pace = pacing(tps);
        const sent = sendThrough(pace, 0, 3_333);
        return sendThrough(pace, 3_333 + stallMs, 10_000, sent).length;
      };
      expect(through(150)).toBeGreaterThanOrEqual(full - tps * 0.1 - 1);
      const long = through(2_000);
      expect(long).toBeGreaterThanOrEqual(full * 0.8 - tps * 0.06 - 1);
      expect(long).toBeLessThanOrEqual(full * 0.8 + tps * 0.45 + 1);
    },
  );
  test('is no burst: what is made up for after an idle minute is sent a quarter faster than the contract', () => {
    const pace = pacing(100);
    sendThrough(pace, 0, 1_000);
    expect(sendAll(pace, 60_000).length).toBeLessThanOrEqual(4);
    expect(sendThrough(pace, 60_001, 60_101).length).toBeLessThanOrEqual(13);
  });
});

describe('messages that are chosen and not written yet', () => {
  test('delay the next one while the second has no room for all of them', () => {
    const pace = pacing(10);
    for (let n = 0; n < 8; n += 1) pace.answered({ number: pace.written(1, 0, 0), bind: 0, writtenAtMs: 0 }, 0);
    expect(pace.take(1, 900, 1)).toBe(true);
    expect(pace.take(1, 900, 2)).toBe(false);
  });
  test('are written as their intents return, at a quarter above the contract and never beyond the window', () => {
    const pace = pacing(1_000);
    const sent: number[] = [];
    // Two thousand delayed intents return at once.
    for (let atMs = 0; sent.length < 2_000; atMs += 1) {
      while (sent.length < 2_000 && pace.writeWaitMs(1, atMs) === 0) {
        pace.written(1, 0, atMs);
        sent.push(atMs);
      }
    }
    expect(peakOf(sent)).toBeLessThanOrEqual(1_000);
    for (let from = 0; from < 700; from += 1) {
      expect(sent.filter((atMs) => atMs >= from && atMs < from + 100).length).toBeLessThanOrEqual(125 + 26);
    }
  });
  test('are chosen earlier by the duration of an intent', () => {
    const early = pacing(10);
    for (let n = 0; n < 300; n += 1) early.intentTook(60);
    for (const pace of [early, pacing(10)]) for (let n = 0; n < 10; n += 1) pace.written(1, 0, 0);
    expect(early.waitMs(1, 900, 0)).toBeLessThan(1_025 - 900 - 55);
  });
});

test('a long message takes all its segments at once or none, and more than the contract allows counts as all of it', () => {
  const pace = pacing(5);
  expect(pace.take(10, 0, 0)).toBe(true);
  expect(pace.writeWaitMs(10, 0)).toBe(0);
  pace.written(10, 0, 0);
  expect(pace.writeWaitMs(1, 999)).toBeGreaterThan(0);
  expect(pace.writeWaitMs(3, 3_000)).toBe(0);
  pace.written(3, 0, 3_000);
  expect(pace.writeWaitMs(3, 3_700)).toBeCloseTo(1_000 + jitterMs - 700);
});

describe.each([
  ['promotional', 0.97, 10],
  ['otp', 0.98, 100],
] as const)('beside a backlog of %s that uses all of the contract', (category, share, waitMsMost) => {
  const tps = 1_000;
  /**
   * A permanent backlog and another account's OTP every ten milliseconds; how long each OTP waits. The loop stalls
   * once.
   */
  function otpWaits(kept: (pace: Pacing, nowMs: number) => number, stallMs: number): number[] {
    const pace = pacing(tps);
    const go = (nowMs: number, keep: number) => {
      if (pace.writeWaitMs(1, nowMs) > 0 || !pace.take(1, nowMs, 0, keep)) return false;
      pace.answered({ number: pace.written(1, 0, nowMs), bind: 0, writtenAtMs: nowMs }, nowMs);
      return true;
    };
    const waits: number[] = [];
    const waiting: number[] = [];
    for (let atMs = 0; atMs < 8_000; atMs += 1) {
      if (atMs % 10 === 0) waiting.push(atMs);
      if (atMs > 2_000 && atMs <= 2_000 + stallMs) continue;
      while (waiting[0] !== undefined && go(atMs, 0)) waits.push(atMs - waiting.shift()!);
      while (waiting.length === 0 && go(atMs, kept(pace, atMs)));
    }
    // Those of the stall itself wait for its end.
    return waits.slice(Math.ceil((2_000 + stallMs) / 10) + 1);
  }
  const keeping = (pace: Pacing, nowMs: number) => tokensReservedFor(category, pace.ratePerS(nowMs), 1_000);

  test('an OTP of another account is sent soon, also in the seconds after a stall', () => {
    for (let stallMs = 0; stallMs <= 150; stallMs += 25) {
      expect(Math.max(...otpWaits(keeping, stallMs))).toBeLessThanOrEqual(waitMsMost);
    }
  });
  test('which it would not be without the tokens reserved for it', () => {
    expect(Math.max(...otpWaits(() => 0, 150))).toBeGreaterThan(waitMsMost);
  });
  test('and the backlog alone still gets nearly all of it', () => {
    for (const perS of [10, 100, 1_000]) {
      const pace = pacing(perS);
      let sent = 0;
      for (let atMs = 0; atMs < 20_000; atMs += 1) {
        while (pace.writeWaitMs(1, atMs) === 0 && pace.take(1, atMs, 0, keeping(pace, atMs))) {
          pace.answered({ number: pace.written(1, 0, atMs), bind: 0, writtenAtMs: atMs }, atMs);
          sent += 1;
        }
      }
      expect(sent).toBeGreaterThanOrEqual(perS * 20 * share);
    }
  });
});

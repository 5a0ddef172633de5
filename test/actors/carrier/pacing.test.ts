// Pacing: in no second, wherever it begins, more segments than the contract; and when always asked, nearly all.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { jitterMs } from '../../../actors/carrier/last-second.ts';
import { pacing, shareOfContract } from '../../../actors/carrier/pacing.ts';

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

for (const tps of [1, 2, 10, 100, 1_000, 5_000]) {
  describe(`a contract of ${tps} per second`, () => {
    test('is used to at least 97 % when there is always something to send', () => {
      const pace = pacing(tps);
      const seconds = Math.max(10, 100 / tps);
      let sent = 0;
      for (let atMs = 0; atMs < seconds * 1_000; atMs += 1) while (pace.take(1, atMs)) sent += 1;
      expect(sent).toBeGreaterThanOrEqual(Math.floor(tps * seconds * 0.97));
      expect(sent).toBeLessThanOrEqual(tps * seconds);
    });

    test('is never exceeded in any second, whatever comes when and whenever the loop stalls', () => {
      fc.assert(
        fc.property(
          fc.array(fc.tuple(fc.integer({ min: 0, max: 3_000 }), fc.integer({ min: 1, max: 400 })), { maxLength: 20 }),
          (bursts) => {
            const pace = pacing(tps);
            const sent: number[] = [];
            let atMs = 1e6;
            for (const [stallMs, busyMs] of bursts) {
              atMs += stallMs;
              for (const endMs = atMs + busyMs; atMs < endMs; atMs += 1) while (pace.take(1, atMs)) sent.push(atMs);
            }
            expect(peakOf(sent)).toBeLessThanOrEqual(tps);
          },
        ),
        { numRuns: tps > 500 ? 15 : 60 },
      );
    });
  });
}

test('a token granted late is not made up for beyond ten milliseconds', () => {
  const pace = pacing(10);
  expect(pace.take(1, 0)).toBe(true);
  expect(pace.take(1, 5_000)).toBe(true);
  expect(pace.take(1, 5_000)).toBe(false);
  expect(pace.take(1, 5_092)).toBe(false);
  expect(pace.take(1, 5_093)).toBe(true);
});

test('waitMs tells when the next token is due, and zero when it is', () => {
  const pace = pacing(100);
  expect(pace.waitMs(50, 1)).toBe(0);
  pace.take(1, 50);
  pace.take(1, 50);
  const waitMs = pace.waitMs(50, 1);
  expect(pace.take(1, 50 + waitMs - 0.01)).toBe(false);
  expect(pace.take(1, 50 + waitMs)).toBe(true);
});

test('a pause holds every token back until its end, and an earlier one does not shorten it', () => {
  const pace = pacing(100);
  pace.pauseUntil(1_000);
  pace.pauseUntil(500);
  expect(pace.take(1, 999)).toBe(false);
  expect(pace.waitMs(999, 1)).toBeCloseTo(1);
  expect(pace.take(1, 1_000)).toBe(true);
});

describe('a carrier that says too fast', () => {
  const contract = (tps: number) => tps * shareOfContract;
  test('is sent half, and a twentieth of the contract more for each clean second, up to the contract', () => {
    const pace = pacing(1_000);
    pace.slowDown(0);
    expect(pace.ratePerS(0)).toBeCloseTo(contract(1_000) / 2);
    expect(pace.ratePerS(999)).toBeCloseTo(contract(1_000) / 2);
    expect(pace.ratePerS(1_000)).toBeCloseTo(contract(1_000) * 0.55);
    expect(pace.ratePerS(9_999)).toBeCloseTo(contract(1_000) * 0.95);
    expect(pace.ratePerS(10_000)).toBe(contract(1_000));
  });
  test('complaints of one second are one complaint, and none of them counts as clean', () => {
    const pace = pacing(1_000);
    for (let at = 0; at < 1_000; at += 10) pace.slowDown(at);
    expect(pace.ratePerS(999)).toBeCloseTo(contract(1_000) / 2);
    expect(pace.ratePerS(1_980)).toBeCloseTo(contract(1_000) / 2);
    expect(pace.ratePerS(1_990)).toBeCloseTo(contract(1_000) * 0.55);
  });
  test('is never sent less than one per second, nor more than its contract', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 10_000 }),
        fc.array(fc.integer({ min: 1, max: 3_000 }), { maxLength: 60 }),
        (tps, gaps) => {
          const pace = pacing(tps);
          let atMs = 0;
          for (const gap of gaps) {
            pace.slowDown((atMs += gap));
            const rate = pace.ratePerS(atMs);
            expect(rate).toBeGreaterThanOrEqual(Math.min(1, contract(tps)) - 1e-9);
            expect(rate).toBeLessThanOrEqual(contract(tps));
          }
          expect(pace.ratePerS(atMs + 21_000)).toBe(contract(tps));
        },
      ),
    );
  });
  test('what is taken follows the rate', () => {
    const pace = pacing(1_000);
    pace.slowDown(0);
    let sent = 0;
    for (let atMs = 0; atMs < 1_000; atMs += 1) while (pace.take(1, atMs)) sent += 1;
    expect(sent).toBeGreaterThan(480);
    expect(sent).toBeLessThan(500);
  });
});

test('another contract holds from the next token on', () => {
  const pace = pacing(10);
  pace.take(1, 0);
  pace.setContract(1_000);
  let sent = 0;
  for (let atMs = 200; atMs < 1_200; atMs += 1) while (pace.take(1, atMs)) sent += 1;
  expect(sent).toBeGreaterThan(970);
  expect(sent).toBeLessThanOrEqual(1_000);
  pace.setContract(10);
  sent = 0;
  for (let atMs = 2_200; atMs < 3_200; atMs += 1) while (pace.take(1, atMs)) sent += 1;
  expect(sent).toBe(10);
});

/** Asks every millisecond but during the stall; gives when each segment went. */
function askThrough(tps: number, stallAtMs: number, stallMs: number, endMs: number): number[] {
  const pace = pacing(tps);
  const sent: number[] = [];
  for (let atMs = 0; atMs < endMs; atMs += 1) {
    if (atMs >= stallAtMs && atMs < stallAtMs + stallMs) continue;
    while (pace.take(1, atMs)) sent.push(atMs);
  }
  return sent;
}

describe('time that was lost while something waited', () => {
  test.each([10, 100, 1_000, 5_000])(
    'is made up for when it was short, and lost when it was long, at %i per second',
    (tps) => {
      const full = tps * shareOfContract * 10;
      expect(askThrough(tps, 3_333, 8, 10_000).length).toBeGreaterThanOrEqual(full - tps * 0.005 - 1);
      const long = askThrough(tps, 3_333, 2_000, 10_000).length;
      expect(long).toBeGreaterThanOrEqual(full * 0.8 - tps * 0.06 - 1);
      expect(long).toBeLessThanOrEqual(full * 0.8 + tps * 0.05 + 1);
    },
  );
  test('leaves room for a jitter of 25 ms at the carrier, wherever the stall falls and however long it is', () => {
    fc.assert(
      fc.property(
        fc.constantFrom(5, 10, 100, 1_000),
        fc.integer({ min: 0, max: 3_000 }),
        fc.integer({ min: 1, max: 2_500 }),
        (tps, stallAtMs, stallMs) => {
          // The first of a second arrives as late as the jitter allows, the last at once.
          const sent = askThrough(tps, stallAtMs, stallMs, 7_000);
          for (let at = tps; at < sent.length; at += 1) {
            expect((sent[at] as number) - (sent[at - tps] as number)).toBeGreaterThanOrEqual(1_000 + jitterMs);
          }
        },
      ),
      { numRuns: 40 },
    );
  });
  test('is not saved up: an idle minute gives no burst', () => {
    const pace = pacing(100);
    while (pace.take(1, 0));
    let burst = 0;
    while (pace.take(1, 60_000)) burst += 1;
    expect(burst).toBe(1);
  });
});

test('a long message takes all its segments at once or none, and more than the contract allows counts as all of it', () => {
  const pace = pacing(5);
  expect(pace.take(10, 0)).toBe(true);
  expect(pace.take(1, 1_000 + jitterMs - 1)).toBe(false);
  expect(pace.waitMs(3_000, 1)).toBe(0);
  expect(pace.take(3, 3_000)).toBe(true);
  expect(pace.waitMs(3_700, 3)).toBeCloseTo(1_000 + jitterMs - 700);
  expect(pace.take(3, 3_700)).toBe(false);
  expect(pace.take(3, 3_000 + 1_000 + jitterMs)).toBe(true);
});

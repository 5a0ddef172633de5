// The share of codes that are usually entered: what an attack can do to it, and what people do.
import { beforeEach, describe, expect, it } from 'vitest';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import { begin, blocked, enter, miss, numberOf, pass, send, spread, wait } from './guard-on-a-clock.ts';

const { maturityMs } = thresholds;

beforeEach(() => begin());

/** Of ten codes to one of twenty blocks so many are entered. */
function ordinary(codes: number, ofTen = 7): void {
  for (let at = 0; at < codes; at += 1) {
    const to = numberOf(at % 20, spread(at));
    send(to);
    if ((at + 3 * Math.floor(at / 20)) % 10 < ofTen) enter(to);
    pass(5_000);
  }
  pass(maturityMs);
}

/** A number of each block, in eighty blocks of a million, that nobody enters. */
function spreadMisses(count: number): void {
  for (let at = 0; at < count; at += 1) {
    send(numberOf(2_000 + ((at * 26) % 8_000), spread(at)));
    wait(100);
  }
  pass(maturityMs);
}

describe('what is usual', () => {
  it('is lowered by an attack with a number of each block, to the half: eighteen misses in a row block then', () => {
    ordinary(700);
    spreadMisses(300);
    miss(1_500, 17);
    expect(blocked()).toEqual([]);
    miss(1_500, 1, 17);
    expect(blocked()).toHaveLength(1);
  });

  it('comes back with what people enter', () => {
    spreadMisses(300);
    ordinary(1_400);
    miss(1_500, 12);
    expect(blocked()).toHaveLength(1);
  });
});

// Which clicks are kept of one code, of one account and of all, by a clock that is moved by hand.
import { beforeEach, describe, expect, test } from 'vitest';
import { ClickBounds } from '../../../api/links/click-bounds.ts';
import type { AccountId } from '../../../model/ids.ts';
import { limits } from '../../../platform/limits.ts';
import { newRateMemory } from '../../../platform/rate-table.ts';
import { ManualClock } from '../../support/manual-clock.ts';

const [greedy, modest] = ['acc_greedy' as AccountId, 'acc_modest' as AccountId];
const { codeBurst, codePerSecond } = limits.clicks;
const share = { total: 500, perAccount: 300, reserve: 0 };
let clock: ManualClock;
let memory: SharedArrayBuffer;
let bounds: ClickBounds;
const space = { isFull: false };

const ofThread = () => new ClickBounds({ space, share, rateMemory: memory, clock });
beforeEach(() => {
  clock = new ManualClock();
  memory = newRateMemory();
  space.isFull = false;
  bounds = ofThread();
});

const place = (index: number) => ({ series: 7, index });
/** How many of so many clicks are kept, some of them together. */
function keptOf(count: number, account: AccountId, by = bounds): number {
  let kept = 0;
  for (let left = count; left > 0; left -= 7) kept += by.take(account, Math.min(7, left)).kept;
  return kept;
}

test('clicks of one code are kept up to a burst, then at its rate, and take nothing of another code', () => {
  for (let at = 0; at < codeBurst; at += 1) expect(bounds.refuse(place(1))).toBe(null);
  expect(bounds.refuse(place(1))).toBe('code');
  expect(bounds.refuse(place(2))).toBe(null);
  clock.advance(1_000);
  for (let at = 0; at < codePerSecond; at += 1) expect(bounds.refuse(place(1))).toBe(null);
  expect(bounds.refuse(place(1))).toBe('code');
});

describe('clicks of one account', () => {
  test('are kept up to its share, in all threads together, and leave their share to others', () => {
    expect(keptOf(share.perAccount - 2, greedy)).toBe(share.perAccount - 2);
    expect(bounds.take(greedy, 5)).toEqual({ kept: 2, lost: { account: 3, full: 0 } });
    expect(ofThread().take(greedy, 1)).toEqual({ kept: 0, lost: { account: 1, full: 0 } });
    expect(bounds.take(modest, 1).kept).toBe(1);
    clock.advance(3_600_000);
    expect(keptOf(share.perAccount + 50, greedy)).toBe(share.perAccount);
  });

  test('are refused with those of all when these are at their total, and then count for neither', () => {
    keptOf(share.perAccount, greedy);
    expect(keptOf(share.perAccount, modest)).toBe(share.total - share.perAccount);
    const third = 'acc_third' as AccountId;
    expect(bounds.take(third, 9)).toEqual({ kept: 0, lost: { account: 0, full: 9 } });
    clock.advance(3_600_000);
    expect(keptOf(share.perAccount, third)).toBe(share.perAccount);
  });
});

test('while CLICKS has no room for clicks none is kept', () => {
  space.isFull = true;
  expect(bounds.refuse(place(0))).toBe('full');
  space.isFull = false;
  expect(bounds.refuse(place(0))).toBe(null);
});

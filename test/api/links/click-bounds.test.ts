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
/** How many of so many clicks are kept, each on a code of its own. */
function keptOf(count: number, account: AccountId, by = bounds, from = 0): number {
  let kept = 0;
  for (let at = 0; at < count; at += 1) kept += by.refuse(place(from + at), account) === null ? 1 : 0;
  return kept;
}

describe('clicks of one code', () => {
  test('are kept up to a burst, then at its rate, and take nothing of another code', () => {
    for (let at = 0; at < codeBurst; at += 1) expect(bounds.refuse(place(1), greedy)).toBe(null);
    expect(bounds.refuse(place(1), greedy)).toBe('code');
    expect(bounds.refuse(place(2), greedy)).toBe(null);
    clock.advance(1_000);
    for (let at = 0; at < codePerSecond; at += 1) expect(bounds.refuse(place(1), greedy)).toBe(null);
    expect(bounds.refuse(place(1), greedy)).toBe('code');
  });

  test('beyond the rate are not counted against its account', () => {
    for (let at = 0; at < share.perAccount * 10; at += 1) bounds.refuse(place(0), greedy);
    expect(keptOf(share.perAccount, greedy, bounds, 1)).toBe(share.perAccount - codeBurst);
  });
});

describe('clicks of one account', () => {
  test('are kept up to its share, in all threads together, and leave their share to others', () => {
    expect(keptOf(share.perAccount, greedy)).toBe(share.perAccount);
    expect(bounds.refuse(place(9_999), greedy)).toBe('account');
    expect(ofThread().refuse(place(9_999), greedy)).toBe('account');
    expect(bounds.refuse(place(0), modest)).toBe(null);
    clock.advance(3_600_000);
    expect(keptOf(share.perAccount, greedy)).toBe(share.perAccount);
  });

  test('are refused with those of all when these are at their total', () => {
    keptOf(share.perAccount, greedy);
    expect(keptOf(share.perAccount, modest)).toBe(share.total - share.perAccount);
    expect(bounds.refuse(place(9_999), 'acc_third' as AccountId)).toBe('full');
  });
});

test('while CLICKS has no room for clicks none is kept', () => {
  space.isFull = true;
  expect(bounds.refuse(place(0), modest)).toBe('full');
  space.isFull = false;
  expect(bounds.refuse(place(0), modest)).toBe(null);
});

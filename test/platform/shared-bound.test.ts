// A bound that accounts share: no account takes more than its share, urgent work and the system keep their reserve, and
// what was returned can be taken again.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { type Share, shareProblem } from '../../platform/limits-shares.ts';
import { SharedBound, type Use } from '../../platform/shared-bound.ts';
import { metrics } from '../../platform/telemetry.ts';

const boundOf = (share: Share) => new SharedBound('publish_slots', share);

describe('a bound that accounts share', () => {
  it('grants an account its share and not one unit more', () => {
    const bound = boundOf({ total: 10, perAccount: 3, reserve: 2 });
    expect([1, 2, 3, 4].map(() => bound.take('a'))).toEqual(['taken', 'taken', 'taken', 'account_full']);
    bound.giveBack('a');
    expect(bound.take('a')).toBe('taken');
    expect(bound.take('b')).toBe('taken');
  });

  it('keeps the reserve for urgent and the system’s own work', () => {
    const bound = boundOf({ total: 10, perAccount: 8, reserve: 2 });
    expect(bound.take('a', 'ordinary', 8)).toBe('taken');
    expect(bound.take('b')).toBe('full');
    expect(bound.take('b', 'urgent')).toBe('taken');
    expect(bound.take('c', 'system')).toBe('taken');
    expect(bound.take('c', 'system')).toBe('full');
  });

  it('does not let an account’s own ordinary work use up the share of its urgent work', () => {
    const bound = boundOf({ total: 10, perAccount: 4, reserve: 4 });
    expect(bound.take('a', 'ordinary', 4)).toBe('taken');
    expect(bound.take('a')).toBe('account_full');
    expect(bound.take('a', 'urgent', 4)).toBe('taken');
    expect(bound.take('a', 'urgent')).toBe('account_full');
  });

  it('gives urgent work of one account a larger share where there is one', () => {
    const bound = boundOf({ total: 10, perAccount: 2, perAccountUrgent: 6, reserve: 6 });
    expect(bound.take('a', 'urgent', 6)).toBe('taken');
    expect([bound.look('a', 'urgent'), bound.look('b', 'urgent'), bound.look('b')]).toEqual([
      'account_full',
      'taken',
      'full',
    ]);
    expect(bound.used).toBe(6);
  });

  it('keeps a part of the reserve for one-time passwords, however many accounts send other single messages', () => {
    const bound = boundOf({ total: 10, perAccount: 2, perAccountUrgent: 6, reserve: 6, reserveOtp: 2 });
    expect(bound.take('a', 'urgent', 6)).toBe('taken');
    expect(bound.take('b', 'urgent', 2)).toBe('taken');
    expect(bound.take('c', 'urgent')).toBe('full');
    expect(bound.take('c', 'otp')).toBe('taken');
    expect(bound.take('d', 'otp')).toBe('taken');
    expect(bound.take('e', 'otp')).toBe('full');
    // They count in one share: an account has no more for its OTP than for all of its single messages.
    bound.giveBack('b', 'urgent', 2);
    expect(bound.look('a', 'otp')).toBe('account_full');
  });

  it('counts a refusal before the work, and takes nothing', async () => {
    const bound = boundOf({ total: 10, perAccount: 1, reserve: 0 });
    const refused = async () => {
      const { values } = await metrics.sharedBoundRefusals.get();
      const { bound: name, reason } = { bound: 'publish_slots', reason: 'account_full' };
      return values.find(({ labels }) => labels['bound'] === name && labels['reason'] === reason)?.value;
    };
    expect(bound.check('a')).toBe('taken');
    expect(bound.take('a')).toBe('taken');
    const before = Number(await refused());
    expect(bound.look('a')).toBe('account_full');
    expect(await refused()).toBe(before);
    expect(bound.check('a')).toBe('account_full');
    expect(await refused()).toBe(before + 1);
    expect(bound.used).toBe(1);
  });

  it('refuses to take back more than was taken', () => {
    const bound = boundOf({ total: 10, perAccount: 4, reserve: 4 });
    expect(() => bound.giveBack('a')).toThrow(/returned more units/);
  });

  it('states what is expected when the numbers of a share do not fit', () => {
    expect(shareProblem({ total: 10, perAccount: 8, reserve: 2 })).toBeNull();
    expect(shareProblem({ total: 10, perAccount: 9, reserve: 2 })).toMatch(/at most 8 for one account/);
    expect(shareProblem({ total: 10, perAccount: 1, reserve: 10 })).toMatch(/a reserve below the total/);
    expect(shareProblem({ total: 10, perAccount: 1, reserve: 0, perAccountUrgent: 10 })).toMatch(
      /urgent use of one account below/,
    );
    expect(shareProblem({ total: 10, perAccount: 1, reserve: 3, reserveOtp: 3 })).toBeNull();
    expect(shareProblem({ total: 10, perAccount: 1, reserve: 3, reserveOtp: 4 })).toMatch(
      /at most the whole reserve of 3/,
    );
  });

  it('never exceeds the total, a share or the reserve, in any sequence', () => {
    const share = fc.tuple(fc.integer({ min: 1, max: 40 }), fc.nat(39), fc.nat(39)).map(([total, a, b]): Share => {
      const reserve = a % total;
      return { total, reserve, perAccount: 1 + (b % (total - reserve)), reserveOtp: b % (reserve + 1) };
    });
    const step = fc.record({
      account: fc.constantFrom('a', 'b', 'c'),
      use: fc.constantFrom<Use>('ordinary', 'urgent', 'otp', 'system'),
      units: fc.integer({ min: 1, max: 5 }),
      back: fc.boolean(),
    });
    fc.assert(
      fc.property(share, fc.array(step, { maxLength: 200 }), (numbers, steps) => {
        const bound = boundOf(numbers);
        const held: { account: string; use: Use; units: number }[] = [];
        const sum = (of: (each: (typeof held)[number]) => boolean) =>
          held.filter(of).reduce((units, each) => units + each.units, 0);
        for (const { account, use, units, back } of steps) {
          if (back) {
            const last = held.pop();
            if (last !== undefined) bound.giveBack(last.account, last.use, last.units);
            continue;
          }
          const before = bound.used;
          const shared: readonly Use[] = use === 'ordinary' ? ['ordinary'] : ['urgent', 'otp'];
          const own = sum((each) => each.account === account && shared.includes(each.use));
          const kept = { ordinary: numbers.reserve, urgent: numbers.reserveOtp ?? 0, otp: 0, system: 0 };
          const room = numbers.total - kept[use];
          const mayShare = use === 'system' || own + units <= numbers.perAccount;
          const taken = bound.take(account, use, units);
          expect(taken).toBe(mayShare ? (before + units <= room ? 'taken' : 'full') : 'account_full');
          if (taken === 'taken') held.push({ account, use, units });
          expect(bound.used).toBe(sum(() => true));
          expect(bound.used).toBeLessThanOrEqual(numbers.total);
        }
      }),
    );
  });

  it('forgets accounts that hold nothing beyond some', () => {
    const bound = boundOf({ total: 10, perAccount: 3, reserve: 2 });
    for (let at = 0; at < 1_000; at += 1) {
      expect(bound.take(`account ${at}`)).toBe('taken');
      bound.giveBack(`account ${at}`);
      expect(bound.usedBy(`account ${at}`)).toBe(0);
    }
    expect(bound.accountsKnown).toBeLessThan(300);
    expect(bound.accountsKnown).toBeGreaterThan(200);
  });
});

// What the guard remembers is bounded, with a share for each account: the totals hold whatever is sent, and an account that
// floods makes no other's numbers forgotten.
import fc from 'fast-check';
import { beforeEach, describe, expect, it } from 'vitest';
import { limits } from '../../../platform/limits.ts';
import { GuardBlocks } from '../../../policy/otp-guard/blocks.ts';
import type { GuardBounds, GuardEvent } from '../../../policy/otp-guard/contract.ts';
import { OtpGuard } from '../../../policy/otp-guard/guard.ts';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import { guardModesDefault, otpLimitsDefault } from '../../../policy/otp/contract.ts';

const { maturityMs } = thresholds;

let guard: OtpGuard;
let blocks: GuardBlocks;
let nowMs: number;
let events: GuardEvent[];

function begin(bounds: GuardBounds = limits.otpGuard): void {
  blocks = new GuardBlocks(bounds.blocksShare);
  guard = new OtpGuard(
    guardModesDefault,
    bounds,
    () => blocks,
    () => false,
  );
  nowMs = 1_000_000;
  events = [];
}
beforeEach(() => begin());

const numberOf = (block: number, at: number) => `+88017${String(block).padStart(4, '0')}${String(at).padStart(4, '0')}`;
const spread = (at: number) => (at * 37) % 10_000;
function send(to: string, { accountId = 'a' } = {}): void {
  events.push(...guard.sent({ accountId, to, ip: null, device: null, carrier: 'one', isProbe: false }, nowMs));
}
const enter = (to: string, accountId: string) => events.push(...guard.verified({ accountId, to }, nowMs));
function pass(ms: number): void {
  nowMs += ms;
  events.push(...guard.advance(nowMs));
}
const ask = (to: string) => {
  const request = { accountId: 'a', to, ip: null, device: null, challengePassed: false, isResend: false };
  return guard.decide({ ...request, destinations: ['+880'] }, nowMs, 0.5).refusal;
};
const blocked = () => events.filter((event) => event.kind === 'blocked');

describe('bounds', () => {
  it('hold whatever is sent, and an account that floods makes no other’s numbers forgotten', () => {
    const bounds = { ...limits.otpGuard, pendingMax: 100, pendingShare: 80, historiesMax: 60, historiesShare: 40 };
    begin(bounds);
    for (let at = 0; at < 15; at += 1) send(numberOf(9_000 + at, 1), { accountId: 'quiet' });
    const sends = fc.array(fc.tuple(fc.nat(4), fc.nat(9_999), fc.nat(9_999)), { maxLength: 400 });
    fc.assert(
      fc.property(sends, (all) => {
        for (const [account, block, at] of all) send(numberOf(block, at), { accountId: `loud${account % 2}` });
        pass(1);
        expect(guard.held.pending).toBeLessThanOrEqual(bounds.pendingMax);
        expect(guard.held.histories).toBeLessThanOrEqual(bounds.historiesMax);
      }),
      { numRuns: 30 },
    );
    for (let at = 0; at < 15; at += 1) enter(numberOf(9_000 + at, 1), 'quiet');
    expect(guard.held.accounts).toBe(3);
  });

  it('have the oldest codes of an account judged sooner, which is no reason to forget what nobody enters', () => {
    begin({ ...limits.otpGuard, pendingShare: 30 });
    for (let at = 0; at < 12; at += 1) send(numberOf(1, spread(at)));
    pass(60_000);
    for (let at = 0; at < 29; at += 1) send(numberOf(100 + at, at));
    expect([blocked(), guard.held.pending]).toEqual([[], 30]);
    send(numberOf(200, 1));
    expect(blocked()).toMatchObject([{ prefix: numberOf(1, 0).slice(0, -4), rule: 'conversion' }]);
  });

  it('count the sooner judged codes less, the sooner it is, and those that are entered afterwards not', () => {
    begin({ ...limits.otpGuard, pendingShare: 30 });
    for (let round = 0; round < 2; round += 1) {
      for (let at = 0; at < 12; at += 1) send(numberOf(1, spread(round * 12 + at)));
      pass(15_000);
      for (let at = 0; at < 30; at += 1) send(numberOf((at + 1) * 100 + round, at));
    }
    expect(blocked()).toEqual([]);
    for (let at = 0; at < 24; at += 1) enter(numberOf(1, spread(at)), 'a');
    for (let at = 30; at < 41; at += 1) send(numberOf(1, spread(at)));
    pass(maturityMs);
    expect(blocked()).toEqual([]);
  });

  it('leave the places of codes that are judged sooner taken for velocity', () => {
    begin({ ...limits.otpGuard, pendingShare: 30 });
    for (let at = 0; at < 21; at += 1) send(numberOf(1, spread(at)));
    for (let at = 0; at < 30; at += 1) send(numberOf(100 + at, at));
    expect(ask(numberOf(1, 9_000))).toMatchObject({ rule: 'velocity', statistic: 21 });
    pass(maturityMs);
    expect(ask(numberOf(1, 9_000))).toBeNull();
  });

  it('have the codes of the account with the most judged sooner at a total, and no other’s', () => {
    begin({ ...limits.otpGuard, pendingMax: 50, pendingShare: 45 });
    for (let at = 0; at < 12; at += 1) send(numberOf(2, spread(at)), { accountId: 'b' });
    for (let at = 0; at < 12; at += 1) send(numberOf(1, spread(at)));
    for (let at = 0; at < 33; at += 1) send(numberOf(100 + at, at));
    pass(60_000);
    expect(blocked()).toEqual([]);
    for (let at = 0; at < 6; at += 1) send(numberOf(200 + at, at), { accountId: 'b' });
    pass(1);
    expect(guard.held.pending).toBe(50);
    expect(blocked()).toMatchObject([{ accountId: 'a', prefix: numberOf(1, 0).slice(0, -4) }]);
  });

  it('have room for an account at its limit', () => {
    const { count, perMs } = otpLimitsDefault.sends.account;
    expect(limits.otpGuard.pendingShare).toBeGreaterThanOrEqual(count + (count / perMs) * maturityMs);
  });

  it('forget the account that sent nothing for longest', () => {
    begin({ ...limits.otpGuard, accountsMax: 2 });
    for (const accountId of ['a', 'b', 'a', 'c']) send(numberOf(1, 1), { accountId });
    expect(guard.held).toMatchObject({ accounts: 2, pending: 2 });
  });

  it('forget what was reported of a message that was not sent after all', () => {
    for (let at = 0; at < 12; at += 1) {
      const code = { accountId: 'a', to: numberOf(1, spread(at)), ip: null, device: null, carrier: '', isProbe: false };
      guard.withdraw(guard.begin(code, nowMs).begun);
    }
    pass(maturityMs);
    expect([blocked(), guard.held.pending]).toEqual([[], 0]);
  });

  it('forget blocks of numbers where nothing happens before those of an attack that goes slowly', () => {
    begin({ ...limits.otpGuard, historiesShare: 40 });
    for (let miss = 0; miss < 12; miss += 1) {
      send(numberOf(1, spread(miss)));
      pass(maturityMs);
      // Others: each block once, as many as are held, and their codes are entered.
      for (let other = 0; other < 40; other += 1) {
        const to = numberOf(2_000 + miss * 40 + other, 1);
        send(to);
        enter(to, 'a');
      }
      pass(maturityMs);
    }
    expect(blocked()[0]).toMatchObject({ prefix: numberOf(1, 0).slice(0, -4), rule: 'conversion' });
  });

  it('forget blocks of 10,000 numbers, and keep those of a million around them', () => {
    begin({ ...limits.otpGuard, historiesShare: 40 });
    // One miss in each of many blocks of one million numbers, as a random attack makes them.
    for (let block = 0; block < 100; block += 1) send(numberOf(4_200 + block, spread(block)));
    pass(maturityMs);
    expect(blocked().filter(({ prefix }) => prefix === '+8801742')).toHaveLength(1);
  });
});

describe('an account with its share of blocks in effect', () => {
  /** Eleven numbers that follow each other, which block at once. */
  const countUp = (block: number) => {
    for (let at = 100; at < 111; at += 1) send(numberOf(block, at));
  };
  const found = () =>
    events.map((event) => [event.kind, 'prefix' in event ? event.prefix : '', 'insteadOf' in event && event.insteadOf]);
  beforeEach(() => begin({ ...limits.otpGuard, wideBlocksFrom: 2, ruleBlocksShare: 4, blocksShare: 6 }));

  it('has the million numbers blocked, which are challenged, and nothing beyond what may be in effect', () => {
    for (const block of [1_001, 1_101, 1_201]) countUp(block);
    expect([1_001, 1_101, 1_201, 1_202].map((block) => ask(numberOf(block, 5_000))?.action)).toEqual([
      ...['block', 'block'],
      ...['challenge', 'challenge'],
    ]);
    expect(ask(numberOf(1_301, 5_000))).toBeNull();
    for (const block of [1_202, 1_301, 1_401]) countUp(block);
    expect(ask(numberOf(1_401, 5_000))?.rule).toBe('velocity');
    pass(maturityMs);
    expect(ask(numberOf(1_401, 5_000))).toBeNull();
    expect(found().slice(0, 5)).toEqual([
      ['blocked', '+880171001', null],
      ['blocked', '+880171101', null],
      ['blocked', '+8801712', '+880171201'],
      ['blocked', '+8801713', '+880171301'],
      ['beyond_share', '+8801714', false],
    ]);
    expect(blocked()).toHaveLength(4);
  });

  it('has blocks of 10,000 numbers again when some have ended', () => {
    for (const block of [1_001, 1_101, 1_201]) countUp(block);
    // Their codes are judged while they are blocked.
    pass(maturityMs);
    pass(10 * 60_000 - maturityMs);
    for (const block of [1_301, 1_401, 1_501]) countUp(block);
    expect(found().slice(3)).toEqual([
      ['blocked', '+880171301', null],
      ['blocked', '+880171401', null],
      ['blocked', '+8801715', '+880171501'],
    ]);
  });

  it('has no person’s order taken for one of a rule', () => {
    const order = {
      accountId: 'a',
      rule: 'operator',
      statistic: 0,
      threshold: 0,
      times: 0,
      durationMs: 0,
      shadow: false,
    } as const;
    for (const prefix of ['+88018', '+88019']) blocks.on.apply({ ...order, prefix }, nowMs + 3_600_000, nowMs);
    for (const block of [1_001, 1_101, 1_201]) countUp(block);
    expect(found()).toEqual([
      ['blocked', '+880171001', null],
      ['blocked', '+880171101', null],
      ['beyond_share', '+8801712', false],
    ]);
  });
});

// Numbers that nothing reaches, given what was sent and received on a clock that the test moves: an outage of a block of
// numbers or of a carrier, and attacks with numbers that cannot be reached, which look like one.
import { beforeEach, describe, expect, it } from 'vitest';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import { ask, begin, blocked, enter, events, guard, nowMs, numberOf, pass, send, spread } from './guard-on-a-clock.ts';

const minuteMs = 60_000;
const busy = 4_205;
const prefix = numberOf(busy, 0).slice(0, -4);
const found = () => events.filter(({ kind }) => kind === 'unreachable' || kind === 'suspended');

beforeEach(() => begin());

let sent = 0;
/** A code to a number of the block; of ten that arrive seven are entered. */
function code(block: number, { arrives = true, hasReceipts = true } = {}): void {
  sent += 1;
  const to = numberOf(block, spread(sent));
  send(to);
  if (!arrives) return;
  if (hasReceipts) guard.received({ accountId: 'a', to });
  if (sent % 10 < 7) enter(to);
}
/** One code in each `everyMs` to the blocks in turn. */
function codes(
  minutes: number,
  everyMs: number,
  blocks: readonly number[],
  how: Parameters<typeof code>[1] = {},
): void {
  for (let at = 0; at * everyMs < minutes * minuteMs; at += 1) {
    code(blocks[at % blocks.length] ?? 0, how);
    pass(everyMs);
  }
}
/** Sends to the block until it is blocked, and passes each challenge; returns how many were sent. */
function attack(block: number, everyMs: number, most = 1_000): number {
  for (let at = 0; at < most; at += 1) {
    if (ask(numberOf(block, spread(at + 5_000)), { challengePassed: true }).refusal !== null) return at;
    send(numberOf(block, spread(at + 5_000)));
    pass(everyMs);
  }
  return most;
}

describe('an outage of a block of 10,000 numbers', () => {
  const outage = { arrives: false };

  it('of half an hour is no reason to refuse anybody, and is reported once', () => {
    codes(120, minuteMs, [busy]);
    codes(30, minuteMs, [busy], outage);
    expect(ask(numberOf(busy, 9_999)).refusal).toBeNull();
    codes(60, minuteMs, [busy]);
    const about = { accountId: 'a', prefix, codes: expect.any(Number) };
    expect(events).toMatchObject([
      { ...about, kind: 'unreachable' },
      { ...about, kind: 'unreachable_over' },
    ]);
  });

  it('that lasts longer is blocked', () => {
    codes(120, minuteMs, [busy]);
    codes(60, minuteMs, [busy], outage);
    expect(events.map(({ kind }) => kind).slice(0, 3)).toEqual(['unreachable', 'unreachable_over', 'blocked']);
    expect(blocked()[0]).toMatchObject({ prefix, rule: 'conversion', times: 1 });
  });

  it('is recognised although one in ten of its numbers was ported and gets its code', () => {
    codes(120, minuteMs, [busy]);
    for (let at = 0; at < 28; at += 1) {
      code(busy, { arrives: at % 10 === 9 });
      pass(minuteMs);
    }
    expect(events.map(({ kind }) => kind)).toEqual(['unreachable']);
  });

  it('is recognised again only when receipts came in between', () => {
    const outages = () => found().length;
    codes(120, minuteMs, [busy]);
    codes(20, minuteMs, [busy], outage);
    codes(5, minuteMs, [busy]);
    codes(20, minuteMs, [busy], outage);
    expect([outages(), blocked().length]).toEqual([1, 1]);
    begin();
    codes(120, minuteMs, [busy]);
    codes(20, minuteMs, [busy], outage);
    codes(15, minuteMs, [busy]);
    codes(20, minuteMs, [busy], outage);
    expect([outages(), blocked().length]).toEqual([2, 0]);
  });

  it('is none where no receipts came before, nor where more is sent than usual', () => {
    codes(120, minuteMs, [busy], { hasReceipts: false });
    codes(20, minuteMs, [busy], outage);
    expect([found(), blocked().length]).toEqual([[], 1]);
    begin();
    codes(120, minuteMs, [busy]);
    codes(20, minuteMs / 3, [busy], outage);
    expect([found(), blocked().length > 0]).toEqual([[], true]);
  });
});

describe('an outage of a block of a million numbers', () => {
  const narrow = Array.from({ length: 29 }, (_, at) => 4_200 + at);

  it('challenges nobody, and leaves no block of 10,000 in it suspicious', () => {
    codes(120, 5_000, narrow);
    codes(20, 5_000, narrow, { arrives: false });
    expect(events).toMatchObject([{ kind: 'unreachable', prefix: prefix.slice(0, -2) }]);
    codes(20, 5_000, narrow);
    expect(events.map(({ kind }) => kind)).toEqual(['unreachable', 'unreachable_over']);
    for (const block of narrow) expect(ask(numberOf(block, 9_999)).refusal).toBeNull();
  });

  it('does not let more through to one block of 10,000 in it', () => {
    codes(120, 5_000, narrow);
    codes(6, 5_000, narrow, { arrives: false });
    expect(found()).toHaveLength(1);
    expect(attack(busy, 10_000)).toBeLessThanOrEqual(60);
  });
});

describe('an attack with numbers that cannot be reached', () => {
  it('beside customers who get their codes is no outage', () => {
    codes(120, minuteMs, [busy]);
    for (let at = 0; at < 120 && blocked().length === 0; at += 1) {
      code(busy, { arrives: at % 3 === 0 });
      pass(minuteMs / 3);
    }
    expect(found()).toEqual([]);
    expect(blocked()).toMatchObject([{ prefix }]);
  });

  it.each([1, 2])('in place of %i codes a minute of customers gets at most 60 messages through', (aMinute) => {
    codes(120, minuteMs / aMinute, [busy]);
    const leaked = attack(busy, minuteMs / aMinute);
    expect(found()).toHaveLength(1);
    expect(leaked).toBeGreaterThan(thresholds.undelivered.excusedCodes / 2);
    expect(leaked).toBeLessThanOrEqual(60);
  });

  it('after a block is no outage because the block kept its volume low', () => {
    codes(120, minuteMs, [busy]);
    attack(busy, 6_000);
    expect(blocked()).toHaveLength(1);
    pass(30 * minuteMs);
    attack(busy, 6_000);
    expect([found(), blocked().length]).toEqual([[], 2]);
  });
});

describe('a carrier with three prefixes', () => {
  const usual = [4_205, 4_305, 4_405];
  const attacked = [4_290, 4_390, 4_490];
  const suspended = () => events.some(({ kind }) => kind === 'suspended');

  it('is in no outage when an attack adds as many codes without receipts as people ask for', () => {
    codes(120, 5_000, usual);
    for (let at = 0; at < 720; at += 1) {
      code(usual[at % 3] ?? 0);
      code(attacked[at % 3] ?? 0, { arrives: false });
      pass(5_000);
    }
    expect(suspended()).toBe(false);
    expect(blocked().map((event) => event.kind === 'blocked' && event.prefix)).toEqual(
      expect.arrayContaining(attacked.map((block) => numberOf(block, 0).slice(0, -4))),
    );
  });

  it('in an outage blocks numbers all the same, when four times as much is sent as usual', () => {
    codes(120, 5_000, usual);
    codes(10, 5_000, usual, { arrives: false });
    expect([suspended(), blocked()]).toEqual([true, []]);
    codes(10, 1_000, [...usual, ...attacked], { arrives: false });
    expect(blocked().length).toBeGreaterThan(0);
  });

  it('in an outage lets at most some sixty messages an hour through to a block without customers', () => {
    codes(120, 5_000, usual);
    codes(10, 5_000, usual, { arrives: false });
    const atMs = nowMs;
    let leaked = 0;
    for (; blocked().length === 0 && leaked < 200; leaked += 1) {
      code(attacked[0] ?? 0, { arrives: false });
      code(usual[leaked % 3] ?? 0, { arrives: false });
      pass(10_000);
    }
    expect([suspended(), nowMs - atMs < 60 * minuteMs]).toEqual([true, true]);
    expect(leaked).toBeLessThanOrEqual(60);
  });
});

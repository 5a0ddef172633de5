// Numbers on the safe list: no rule refuses them, and what is sent to them counts neither for nor against a block.
import { beforeEach, describe, expect, it } from 'vitest';
import { SafeList } from '../../../policy/otp-guard/safe-list.ts';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import {
  ask,
  begin,
  beginCode,
  blocked,
  enter,
  guard,
  miss,
  nowMs,
  numberOf,
  pass,
  prefixOf,
  resend,
  safeNumbers,
  send,
  spread,
} from './guard-on-a-clock.ts';

const { maturityMs } = thresholds;
/** The numbers of a block that end in 5. */
const safeOf = (block: number) => Array.from({ length: 1_000 }, (_, at) => numberOf(block, at * 10 + 5));

beforeEach(() => begin());

describe('codes to safe numbers', () => {
  it('make no block, however many nobody enters, and are not counted anywhere', () => {
    safeNumbers([prefixOf(1)]);
    for (let at = 0; at < 40; at += 1) {
      send(numberOf(1, 100 + at), { ip: '192.0.2.1' });
      resend(numberOf(1, 100 + at));
    }
    for (let at = 40; at < 60; at += 1) guard.accepted(beginCode(numberOf(1, 100 + at)), 'one', nowMs);
    expect(guard.held).toMatchObject({ pending: 0, histories: 0 });
    pass(maturityMs);
    miss(1, 30, 500);
    expect(blocked()).toEqual([]);
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
  });

  it('neither bring the numbers around them nearer to a block, nor take them away from one', () => {
    safeNumbers(safeOf(1));
    for (let at = 0; at < 30; at += 1) send(numberOf(1, at * 10 + 5));
    pass(maturityMs);
    for (let at = 0; at < 11; at += 1) send(numberOf(1, at * 30));
    pass(maturityMs);
    expect(blocked()).toEqual([]);
    for (let at = 0; at < 30; at += 1) {
      send(numberOf(1, at * 10 + 5));
      enter(numberOf(1, at * 10 + 5));
    }
    pass(maturityMs);
    send(numberOf(1, 9_000));
    pass(maturityMs);
    expect(blocked()).toMatchObject([{ prefix: prefixOf(1), rule: 'conversion' }]);
    expect(ask(numberOf(1, 15)).refusal).toBeNull();
    expect(ask(numberOf(1, 16)).refusal).not.toBeNull();
  });

  it('that were sent before are no misses when their time is over, and wait no more when they are entered', () => {
    for (let at = 0; at < 20; at += 1) send(numberOf(1, spread(at)));
    safeNumbers(Array.from({ length: 20 }, (_, at) => numberOf(1, spread(at))));
    expect(ask(numberOf(1, 9_999)).refusal).toMatchObject({ rule: 'velocity', statistic: 20 });
    enter(numberOf(1, spread(3)));
    expect(ask(numberOf(1, 9_999)).refusal).toBeNull();
    begin();
    for (let at = 0; at < 20; at += 1) send(numberOf(1, spread(at)));
    safeNumbers([prefixOf(1)]);
    pass(maturityMs);
    expect(blocked()).toEqual([]);
  });

  it('count again when they are taken off the list', () => {
    safeNumbers([prefixOf(1)]);
    miss(1, 12);
    safeNumbers([]);
    miss(1, 11, 100);
    expect(blocked()).toEqual([]);
    miss(1, 1, 200);
    expect(blocked()).toHaveLength(1);
  });
});

it('a list has a number by itself or by any prefix, and no other', () => {
  const list = new SafeList(['+880171234', '+8801812345678', '+39']);
  for (const to of ['+8801712345678', '+8801812345678', '+391234567890', '+880171234']) expect(list.has(to)).toBe(true);
  for (const to of ['+8801712355678', '+8801812345679', '+88018123456789'.slice(0, -2), '+4912345']) {
    expect(list.has(to)).toBe(false);
  }
  expect(new SafeList([]).has('+8801712345678')).toBe(false);
});

// A person who releases a block says that its numbers are legitimate: what was counted of them is forgotten.
import { beforeEach, describe, expect, it } from 'vitest';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import {
  ask,
  begin,
  beginCode,
  blocked,
  enter,
  events,
  miss,
  nowMs,
  numberOf,
  pass,
  prefixOf,
  release,
  resend,
  send,
  spread,
} from './guard-on-a-clock.ts';
import { guard } from './guard-on-a-clock.ts';

const { maturityMs } = thresholds;
const wide = (block: number) => prefixOf(block).slice(0, -2);

beforeEach(() => begin());

describe('after a release', () => {
  it('as many misses as before block, for as long as the first time', () => {
    miss(1, 12);
    release(prefixOf(1));
    expect(ask(numberOf(1, 77)).refusal).toBeNull();
    miss(1, 9, 100);
    expect(blocked()).toHaveLength(1);
    miss(1, 5, 200);
    expect(blocked()).toMatchObject([{ times: 1 }, { times: 1, durationMs: 600_000 }]);
  });

  it('as many may wait as in any block', () => {
    miss(1, 12);
    release(prefixOf(1));
    for (let at = 100; at < 119; at += 1) send(numberOf(1, spread(at)));
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
    send(numberOf(1, spread(119)));
    expect(ask(numberOf(1, 9_000)).refusal).toMatchObject({ rule: 'velocity', statistic: 20, threshold: 20 });
  });

  it('a code that is about to be sent to a number that waited counts at once, as to any other', () => {
    for (let at = 0; at < 20; at += 1) send(numberOf(1, spread(at)));
    release(prefixOf(1));
    for (let at = 0; at < 20; at += 1) beginCode(numberOf(1, spread(at)));
    expect(ask(numberOf(1, 9_000)).refusal).toMatchObject({ rule: 'velocity', statistic: 20, threshold: 20 });
  });

  it('numbers that waited for their codes are neither a sequence, nor waiting, nor misses', () => {
    for (let at = 0; at < 11; at += 1) send(numberOf(1, 100 + at));
    expect(blocked()).toMatchObject([{ rule: 'sequence' }]);
    release(prefixOf(1));
    for (let at = 11; at < 21; at += 1) send(numberOf(1, 100 + at));
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
    expect(blocked()).toHaveLength(1);
    for (let at = 11; at < 21; at += 1) enter(numberOf(1, 100 + at));
    pass(maturityMs);
    miss(1, 9, 500);
    expect(blocked()).toHaveLength(1);
    send(numberOf(1, 200));
    for (let at = 0; at < 10; at += 1) send(numberOf(1, 201 + at));
    expect(blocked().at(-1)).toMatchObject({ rule: 'sequence', times: 1 });
  });

  it('one of them that is sent again counts as one message', () => {
    for (let at = 0; at < 11; at += 1) send(numberOf(1, 100 + at));
    release(prefixOf(1));
    resend(numberOf(1, 100));
    send(numberOf(1, 101));
    for (let at = 0; at < 17; at += 1) send(numberOf(1, spread(100 + at)));
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
    send(numberOf(1, spread(117)));
    expect(ask(numberOf(1, 9_000)).refusal).toMatchObject({ rule: 'velocity', statistic: 20 });
  });

  it('codes that waited are still proof of those who enter them', () => {
    const ip = '192.0.2.1';
    for (let at = 0; at < 200; at += 1) send(numberOf(1, at), { ip });
    release(prefixOf(1));
    expect(ask(numberOf(300, 1), { ip }).refusal?.rule).toBe('clients');
    enter(numberOf(1, 5));
    expect(ask(numberOf(300, 1), { ip }).refusal).toBeNull();
  });

  it('of a million numbers that of all its blocks is forgotten, and of no others', () => {
    for (let at = 0; at < 36; at += 1) {
      send(numberOf(at % 12, spread(at)));
      guard.received({ accountId: 'a', to: numberOf(at % 12, spread(at)) });
    }
    miss(205, 20);
    expect(blocked().map((event) => event.kind === 'blocked' && event.prefix)).toEqual([wide(0), prefixOf(205)]);
    release(wide(0));
    miss(0, 9, 100);
    expect(blocked()).toHaveLength(2);
    pass(600_000);
    miss(205, 3, 100);
    expect(blocked().at(-1)).toMatchObject({ prefix: prefixOf(205), times: 2 });
  });

  it('what is asked for later is judged as ever', () => {
    miss(1, 12);
    release(prefixOf(1));
    expect(events.filter(({ kind }) => kind === 'released')).toEqual([]);
    const before = nowMs;
    miss(1, 15, 300);
    expect(nowMs - before).toBe(maturityMs);
    expect(ask(numberOf(1, 77)).refusal).toMatchObject({ rule: 'conversion', action: 'block' });
  });
});

it('a probe that is entered ends the block and forgets nothing: the next one is longer', () => {
  miss(1, 12);
  send(numberOf(1, 77), { isProbe: true });
  enter(numberOf(1, 77));
  pass(maturityMs);
  miss(1, 6, 200);
  expect(blocked()).toMatchObject([{ times: 1 }, { times: 2 }]);
});

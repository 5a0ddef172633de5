// Codes of the client's own, which may be verified elsewhere: they count in the rules that need no verification, and what
// becomes of them is not judged.
import { beforeEach, describe, expect, it } from 'vitest';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import {
  ask,
  begin,
  blocked,
  enter,
  events,
  guard,
  miss,
  numberOf,
  pass,
  prefixOf,
  resend,
  send,
  spread,
  wait,
} from './guard-on-a-clock.ts';

const { maturityMs } = thresholds;
const ownCode = true;

beforeEach(() => begin());

describe('codes of the client’s own', () => {
  it('count for velocity, as their resends, until they are entered or two minutes are over', () => {
    for (let at = 0; at < 10; at += 1) {
      send(numberOf(1, spread(at)), { ownCode });
      resend(numberOf(1, spread(at)), { ownCode });
    }
    expect(ask(numberOf(1, 9_000)).refusal).toMatchObject({ rule: 'velocity', statistic: 20 });
    enter(numberOf(1, spread(0)), 'a', ownCode);
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
    for (let at = 20; at < 30; at += 1) send(numberOf(1, spread(at)), { ownCode });
    expect(ask(numberOf(1, 9_000)).refusal?.rule).toBe('velocity');
    pass(maturityMs);
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
  });

  it('count for sequence, and for clients', () => {
    for (let at = 0; at < 11; at += 1) send(numberOf(1, 100 + at), { ownCode });
    expect(blocked()).toMatchObject([{ rule: 'sequence', prefix: prefixOf(1) }]);
    const ip = '192.0.2.1';
    for (let at = 0; at < 200; at += 1) send(numberOf(300 + at, at), { ownCode, ip });
    expect(ask(numberOf(900, 1), { ip }).refusal?.rule).toBe('clients');
  });

  it('are no misses when they are verified elsewhere, whatever is usual, and no outage of their carrier', () => {
    for (let round = 0; round < 200; round += 1) {
      for (let at = 0; at < 6; at += 1) {
        send(numberOf(at, spread(round * 6 + at)), { ownCode });
        expect(ask(numberOf(at, 9_999)).refusal).toBeNull();
      }
      pass(10_000);
    }
    expect([events, guard.held.pending]).toEqual([[], 72 - 6]);
    // The account's usual conversion is still the one of others.
    miss(50, 11);
    expect(blocked()).toEqual([]);
    miss(50, 1, 11);
    expect(blocked()).toHaveLength(1);
  });

  it('take no miss back when they are entered late', () => {
    for (let at = 0; at < 11; at += 1) send(numberOf(1, spread(at)));
    send(numberOf(1, spread(20)), { ownCode });
    pass(maturityMs);
    enter(numberOf(1, spread(20)), 'a', ownCode);
    miss(1, 1, 30);
    expect(blocked()).toHaveLength(1);
  });

  it('do not end the judgement of a code that waits at their number', () => {
    for (let at = 0; at < 12; at += 1) send(numberOf(1, spread(at)));
    wait(1_000);
    for (let at = 0; at < 12; at += 1) send(numberOf(1, spread(at)), { ownCode });
    pass(maturityMs);
    expect(blocked()).toMatchObject([{ rule: 'conversion', prefix: prefixOf(1) }]);
  });
});

// What the guard counts of codes that are about to be sent, that are refused after all, and that are sent again.
import { beforeEach, describe, expect, it } from 'vitest';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import {
  ask,
  begin,
  beginCode,
  blocked,
  enter,
  events,
  guard,
  miss,
  nowMs,
  numberOf,
  pass,
  prefixOf,
  probe,
  resend,
  send,
  spread,
  wait,
} from './guard-on-a-clock.ts';

const { maturityMs } = thresholds;

beforeEach(() => begin());

describe('a start that is refused', () => {
  it('leaves the codes that were sent to its number before: they are judged', () => {
    for (let at = 0; at < 12; at += 1) send(numberOf(1, spread(at)));
    for (let at = 0; at < 12; at += 1) {
      for (let time = 0; time < 3; time += 1) guard.withdraw(beginCode(numberOf(1, spread(at))));
    }
    pass(maturityMs);
    expect(blocked()).toMatchObject([{ prefix: prefixOf(1), rule: 'conversion' }]);
  });
});

describe('a start that is withdrawn', () => {
  it('counts no more for its client, which may ask for as many as before', () => {
    const ip = '192.0.2.1';
    for (let at = 0; at < 300; at += 1) guard.withdraw(beginCode(numberOf(at, at), { ip }));
    expect(ask(numberOf(300, 1), { ip }).refusal).toBeNull();
    // What was sent before stays counted, also when the same number is asked for once more and that is withdrawn.
    for (let at = 0; at < 200; at += 1) send(numberOf(at, at), { ip });
    pass(maturityMs);
    for (let at = 0; at < 200; at += 1) guard.withdraw(beginCode(numberOf(at, at), { ip }));
    expect(ask(numberOf(300, 1), { ip }).refusal?.rule).toBe('clients');
  });

  it('whose number got another code meanwhile counts for that one’s client only', () => {
    const ip = '192.0.2.1';
    const begun = Array.from({ length: 200 }, (_, at) => beginCode(numberOf(at, at), { ip }));
    begun.forEach((code, at) => {
      send(numberOf(at, at), { ip: at < 10 ? ip : '192.0.2.2' });
      guard.withdraw(code);
    });
    for (let at = 200; at < 389; at += 1) send(numberOf(at, at), { ip });
    expect(ask(numberOf(400, 1), { ip }).refusal).toBeNull();
    send(numberOf(389, 389), { ip });
    expect(ask(numberOf(400, 1), { ip }).refusal?.rule).toBe('clients');
  });

  it('is no message to a number that waits for another one', () => {
    const begun = Array.from({ length: 19 }, (_, at) => beginCode(numberOf(1, spread(at))));
    for (let at = 0; at < 19; at += 1) send(numberOf(1, spread(at)));
    for (const code of begun) guard.withdraw(code);
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
  });

  it('is in no sequence: numbers that follow each other block when eleven are accepted', () => {
    const begun = Array.from({ length: 15 }, (_, at) => beginCode(numberOf(1, 100 + at)));
    expect(blocked()).toEqual([]);
    for (const code of begun.slice(11)) guard.withdraw(code);
    for (const code of begun.slice(0, 10)) events.push(...guard.accepted(code, 'one', nowMs));
    expect(blocked()).toEqual([]);
    events.push(...guard.accepted(begun[10]!, 'one', nowMs));
    expect(blocked()).toMatchObject([{ rule: 'sequence', statistic: 10, prefix: prefixOf(1) }]);
  });
});

describe('a code that is about to be sent', () => {
  it('counts before it is accepted, and no more when it is not', () => {
    const begun = Array.from({ length: 20 }, (_, at) => beginCode(numberOf(1, spread(at))));
    expect(ask(numberOf(1, 9_000)).refusal?.rule).toBe('velocity');
    guard.withdraw(begun[0]!);
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
  });

  it('takes the place of the one before it once it is accepted: its two minutes begin again', () => {
    for (let at = 0; at < 12; at += 1) send(numberOf(1, spread(at)));
    wait(maturityMs - 1);
    for (let at = 0; at < 12; at += 1) events.push(...guard.accepted(beginCode(numberOf(1, spread(at))), 'one', nowMs));
    pass(1);
    expect([blocked(), guard.held.pending]).toEqual([[], 12]);
    pass(maturityMs - 1);
    expect(blocked()).toHaveLength(1);
  });

  it('is known by its carrier when it is accepted, also where another request for the number was refused meanwhile', () => {
    const [first, second] = [beginCode(numberOf(1, 1)), beginCode(numberOf(1, 1))];
    guard.withdraw(first);
    expect(guard.held.pending).toBe(0);
    guard.accepted(second, 'one', nowMs);
    expect(guard.held.pending).toBe(1);
  });
});

describe('a code that is sent again', () => {
  it('counts as one more message: four numbers with five messages each are as many as twenty numbers', () => {
    for (let at = 0; at < 4; at += 1) send(numberOf(1, spread(at)));
    for (let resends = 0; resends < 4; resends += 1) {
      expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
      for (let at = 0; at < 4; at += 1) resend(numberOf(1, spread(at)));
    }
    expect(ask(numberOf(1, 9_000)).refusal?.rule).toBe('velocity');
    enter(numberOf(1, spread(0)));
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
    pass(maturityMs);
    // Three misses have halved the cap.
    for (let at = 10; at < 19; at += 1) send(numberOf(1, spread(at)));
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
  });

  it('after its two minutes waits again, and is judged again', () => {
    miss(1, 11);
    resend(numberOf(1, spread(3)));
    expect([guard.held.pending, blocked()]).toEqual([1, []]);
    pass(maturityMs);
    expect(blocked()).toHaveLength(1);
  });

  it('is refused at twice the cap, as a number that is asked for once more', () => {
    for (let at = 0; at < 10; at += 1) send(numberOf(1, spread(at)));
    for (let resends = 0; resends < 3; resends += 1) {
      for (let at = 0; at < 10; at += 1) {
        expect(ask(numberOf(1, spread(at)), { isResend: true }).refusal).toBeNull();
        resend(numberOf(1, spread(at)));
      }
    }
    const refused = { rule: 'velocity', statistic: 40, threshold: 40 };
    expect(ask(numberOf(1, spread(3)), { isResend: true }).refusal).toMatchObject({ ...refused, action: 'block' });
    expect(ask(numberOf(1, spread(3))).refusal).toMatchObject({ ...refused, action: 'challenge' });
    expect(ask(numberOf(1, spread(3)), { challengePassed: true }).refusal).toBeNull();
    enter(numberOf(1, spread(3)));
    expect(ask(numberOf(1, spread(4)), { isResend: true }).refusal).toBeNull();
  });

  it('counts as one more message also by a second start', () => {
    for (let starts = 0; starts < 5; starts += 1) {
      for (let at = 0; at < 4; at += 1) {
        expect(ask(numberOf(1, spread(at))).refusal).toBeNull();
        events.push(...guard.accepted(beginCode(numberOf(1, spread(at))), 'one', nowMs));
      }
    }
    expect(ask(numberOf(1, 9_000)).refusal).toMatchObject({ rule: 'velocity', statistic: 20, threshold: 20 });
    pass(maturityMs);
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
  });

  it('is refused by a block, without probes, and by no challenge below twice the cap', () => {
    miss(1, 12);
    const resends = { isResend: true };
    expect(ask(numberOf(1, 77), resends, probe)).toMatchObject({ refusal: { rule: 'conversion' }, isProbe: false });
    for (let at = 0; at < 20; at += 1) send(numberOf(2, spread(at)));
    expect(ask(numberOf(2, 77)).refusal?.rule).toBe('velocity');
    expect(ask(numberOf(2, 77), resends).refusal).toBeNull();
  });
});

// The guard as a whole, given what was sent and entered on a clock that the test moves: both sides of each threshold.
import { beforeEach, describe, expect, it } from 'vitest';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import { guardModesDefault } from '../../../policy/otp/contract.ts';
import {
  ask,
  begin,
  blocked,
  blocks,
  enter,
  events,
  guard,
  miss,
  nowMs,
  numberOf,
  pass,
  prefixOf,
  probe,
  safeNumbers,
  send,
  spread,
  wait,
} from './guard-on-a-clock.ts';

const { maturityMs } = thresholds;

beforeEach(() => begin());

describe('a destination', () => {
  it('outside of the list is refused, with its prefix', () => {
    expect(ask('+8801712345678').refusal).toBeNull();
    expect(ask('+391234567890').refusal).toMatchObject({ rule: 'destination', action: 'block', scope: '+391' });
  });

  it('on the safe list passes, and a challenge does not help', () => {
    safeNumbers(['+39123']);
    expect(ask('+391234567890').refusal).toBeNull();
    safeNumbers([]);
    expect(ask('+391234567890', { challengePassed: true }).refusal?.rule).toBe('destination');
  });
});

describe('codes that nobody enters', () => {
  // Of an account with a known conversion of 0.7 it is the tenth.
  it('block their 10,000 numbers at the twelfth miss, no sooner than after two minutes', () => {
    miss(1, 11);
    expect(blocked()).toEqual([]);
    send(numberOf(1, 9_000));
    pass(maturityMs - 1);
    expect(blocked()).toEqual([]);
    pass(1);
    expect(blocked()).toMatchObject([
      {
        accountId: 'a',
        prefix: prefixOf(1),
        rule: 'conversion',
        threshold: 11.5,
        times: 1,
        durationMs: 600_000,
        shadow: false,
      },
    ]);
    expect(ask(numberOf(1, 77)).refusal).toMatchObject({ rule: 'conversion', action: 'block', retryAfterMs: 600_000 });
    expect(ask(numberOf(2, 77)).refusal).toBeNull();
    expect(ask(numberOf(1, 77), { accountId: 'b' }).refusal).toBeNull();
    expect(ask(numberOf(1, 77), { challengePassed: true }).refusal).not.toBeNull();
  });

  it('do not block where seven of ten are entered', () => {
    for (let round = 0; round < 200; round += 1) {
      for (let at = 0; at < 10; at += 1) send(numberOf(1, spread(round * 10 + at)));
      for (let at = 0; at < 7; at += 1) enter(numberOf(1, spread(round * 10 + at)));
      pass(maturityMs);
    }
    expect(blocked()).toEqual([]);
  });

  it('count once for one number that tries again and again', () => {
    for (let at = 0; at < 30; at += 1) {
      send(numberOf(1, 5));
      pass(maturityMs);
    }
    expect(blocked()).toEqual([]);
  });

  it('block again after three more, twice as long', () => {
    miss(1, 12);
    pass(600_000);
    expect(ask(numberOf(1, 77)).refusal).toBeNull();
    miss(1, 2, 100);
    expect(blocked()).toHaveLength(1);
    miss(1, 1, 200);
    expect(blocked()).toMatchObject([{ times: 1 }, { times: 2, durationMs: 1_200_000 }]);
  });

  it('challenge a whole million numbers when they are of many blocks, and spare those where codes are entered', () => {
    send(numberOf(50, 1));
    enter(numberOf(50, 1));
    for (let at = 0; at < 36; at += 1) {
      send(numberOf(at % 12, spread(at)));
      guard.received({ accountId: 'a', to: numberOf(at % 12, spread(at)) });
    }
    pass(maturityMs);
    expect(blocked()).toMatchObject([{ prefix: prefixOf(0).slice(0, -2), threshold: 14 }]);
    expect(ask(numberOf(70, 1)).refusal).toMatchObject({ action: 'challenge' });
    expect(ask(numberOf(70, 1), { challengePassed: true }).refusal).toBeNull();
    expect(ask(numberOf(50, 9)).refusal).toBeNull();
  });

  it('of one block alone never concern the million numbers around it', () => {
    for (let round = 0; round < 20; round += 1) miss(1, 15, round * 15);
    expect(blocked().map((event) => event.kind === 'blocked' && event.prefix)).toEqual(
      blocked().map(() => prefixOf(1)),
    );
  });
});

describe('a probe', () => {
  beforeEach(() => miss(1, 12));

  it('is one request in a hundred, and one a minute', () => {
    expect(ask(numberOf(1, 77), {}, 0.01).refusal).not.toBeNull();
    expect(ask(numberOf(1, 77), {}, 0.0099)).toMatchObject({ refusal: null, isProbe: true });
    send(numberOf(1, 77), { isProbe: true });
    expect(ask(numberOf(1, 78), {}, probe).refusal).not.toBeNull();
    wait(60_000);
    expect(ask(numberOf(1, 78), {}, probe).isProbe).toBe(true);
  });

  it('that is entered releases the numbers; another code that is entered does not', () => {
    send(numberOf(1, 77));
    enter(numberOf(1, 77));
    expect(ask(numberOf(1, 79)).refusal).not.toBeNull();
    send(numberOf(1, 78), { isProbe: true });
    enter(numberOf(1, 78));
    expect(events.at(-1)).toEqual({ kind: 'released', accountId: 'a', prefix: prefixOf(1), leftMs: 600_000 });
    expect(ask(numberOf(1, 79)).refusal).toBeNull();
  });

  it('does not end what a person ordered meanwhile', () => {
    send(numberOf(1, 78), { isProbe: true });
    const order = { accountId: 'a', prefix: prefixOf(1), rule: 'operator', statistic: 0, threshold: 0 } as const;
    blocks.on.apply({ ...order, times: 1, durationMs: 600_000, shadow: false }, nowMs + 600_000, nowMs);
    enter(numberOf(1, 78));
    expect(events.filter(({ kind }) => kind === 'released')).toEqual([]);
    expect(ask(numberOf(1, 79)).refusal?.rule).toBe('operator');
  });

  it('and a challenge that was passed say why they were needed', () => {
    expect(ask(numberOf(1, 77), {}, 0.0099).letThrough).toMatchObject({ as: 'probe', finding: { rule: 'conversion' } });
    expect(ask(numberOf(1, 77)).letThrough).toBeNull();
    for (let at = 0; at < 20; at += 1) send(numberOf(2, spread(at)));
    const passed = ask(numberOf(2, 9_000), { challengePassed: true });
    expect(passed).toMatchObject({
      refusal: null,
      letThrough: { as: 'challenge_passed', finding: { rule: 'velocity' } },
    });
    for (const to of [numberOf(3, 1), numberOf(2, 9_000)]) {
      expect(ask(to, { challengePassed: to === numberOf(3, 1) }).letThrough).toBeNull();
    }
    expect(ask(numberOf(2, spread(3)), { isResend: true }).letThrough).toBeNull();
  });

  it('passes neither what a person ordered, nor another country', () => {
    const order = {
      accountId: 'a',
      rule: 'operator',
      statistic: 0,
      threshold: 0,
      times: 0,
      durationMs: 1,
      shadow: false,
    } as const;
    blocks.on.apply({ ...order, prefix: '+88019' }, nowMs + 1, nowMs);
    expect(ask('+8801912345678', {}, probe).refusal).toMatchObject({ rule: 'operator', scope: '+88019' });
    expect(ask('+391234567890', {}, probe).refusal).toMatchObject({ rule: 'destination' });
  });
});

describe('an attacker who enters some', () => {
  it('is found by the second test once the account’s own conversion is known', () => {
    const ordinary = (codes: number) => {
      for (let at = 0; at < codes; at += 1) {
        const to = numberOf(at % 90, spread(at));
        send(to);
        if (at % 10 < 7) enter(to);
        if (at % 50 === 49) pass(maturityMs);
      }
    };
    const attack = () => {
      for (let at = 0; at < 80; at += 1) {
        send(numberOf(95, spread(at)));
        if (at % 10 < 3) enter(numberOf(95, spread(at)));
        if (at % 10 === 9) pass(maturityMs);
      }
    };
    ordinary(300);
    attack();
    expect(blocked().filter((event) => event.kind === 'blocked' && event.rule === 'partial_conversion')).toEqual([]);
    begin();
    ordinary(600);
    attack();
    expect(blocked()[0]).toMatchObject({ prefix: prefixOf(95), rule: 'partial_conversion' });
  });
});

describe('velocity', () => {
  it('challenges from half as many in a suspicious block', () => {
    miss(1, 4);
    for (let at = 20; at < 30; at += 1) send(numberOf(1, spread(at)));
    expect(ask(numberOf(1, 9_000)).refusal).toMatchObject({ rule: 'velocity', statistic: 10, threshold: 10 });
  });

  it('challenges from 20 numbers that wait in one block, and from 100 in a million', () => {
    for (let at = 0; at < 19; at += 1) send(numberOf(1, spread(at)));
    expect(ask(numberOf(1, 9_999)).refusal).toBeNull();
    send(numberOf(1, spread(19)));
    expect(ask(numberOf(1, 9_999)).refusal).toMatchObject({
      rule: 'velocity',
      action: 'challenge',
      statistic: 20,
      threshold: 20,
    });
    expect(ask(numberOf(1, 9_999), { challengePassed: true }).refusal).toBeNull();
    // A number that waits already counts.
    expect(ask(numberOf(1, spread(3))).refusal).toBeNull();
    for (let at = 0; at < 79; at += 1) send(numberOf(2 + Math.floor(at / 16), spread(at)));
    expect(ask(numberOf(60, 1)).refusal).toBeNull();
    send(numberOf(40, 1));
    expect(ask(numberOf(60, 1)).refusal).toMatchObject({ rule: 'velocity', statistic: 100, threshold: 100 });
  });

  it('has no higher cap for a number whose code was entered: its next code is one more', () => {
    const entered = numberOf(1, 9_998);
    send(entered);
    enter(entered);
    for (let at = 0; at < 21; at += 1) send(numberOf(1, spread(at)));
    expect(ask(entered).refusal).toMatchObject({ rule: 'velocity', statistic: 20, threshold: 20 });
    expect(ask(numberOf(1, spread(3))).refusal).toBeNull();
  });

  it('is proven by codes that are entered, and raised by what was usual', () => {
    for (let at = 0; at < 300; at += 1) {
      send(numberOf(1, spread(at)));
      enter(numberOf(1, spread(at)));
      wait(1_000);
    }
    pass(maturityMs * 4);
    for (let at = 0; at < 40; at += 1) send(numberOf(1, spread(400 + at)));
    expect(ask(numberOf(1, 9_999)).refusal).toBeNull();
    for (let at = 0; at < 20; at += 1) send(numberOf(1, spread(440 + at)));
    expect(ask(numberOf(1, 9_999)).refusal?.rule).toBe('velocity');
  });
});

describe('numbers that follow each other', () => {
  it('block at the eleventh', () => {
    for (let at = 0; at < 10; at += 1) send(numberOf(1, 100 + at));
    expect(blocked()).toEqual([]);
    send(numberOf(1, 110));
    expect(blocked()).toMatchObject([{ rule: 'sequence', prefix: prefixOf(1), statistic: 10, threshold: 10 }]);
    expect(ask(numberOf(1, 111)).refusal?.rule).toBe('sequence');
  });

  it('do not when their codes are entered: a school class may sign up together', () => {
    for (let at = 0; at < 40; at += 1) {
      send(numberOf(1, 100 + at));
      enter(numberOf(1, 100 + at));
    }
    expect(blocked()).toEqual([]);
  });
});

describe('an outage of a carrier', () => {
  /** Ordinary codes to twelve blocks of a million numbers, with or without receipts. */
  function codes(rounds: number, { arrive = true, blocksOf = 12 } = {}): void {
    for (let round = 0; round < rounds; round += 1) {
      for (let million = 0; million < 12; million += 1) {
        const to = `+88017${String(10 + million)}${String(round % 100).padStart(2, '0')}${String(spread(round)).padStart(4, '0')}`;
        send(to);
        if (!arrive && million < blocksOf) continue;
        guard.received({ accountId: 'a', to });
        if ((round + million) % 10 < 7) enter(to);
      }
      pass(10_000);
    }
  }

  it('suspends blocking when receipts and verifications fall together, and ends when they return', () => {
    codes(120);
    codes(60, { arrive: false });
    expect(events.map(({ kind }) => kind)).toEqual(['suspended']);
    expect(events[0]).toMatchObject({ carrier: 'one', threshold: 0.6, accountIds: ['a'] });
    codes(40);
    expect(events.map(({ kind }) => kind)).toEqual(['suspended', 'resumed']);
  });

  it('is none where half of the prefixes fall: each of these is in an outage of its own', () => {
    codes(120);
    codes(120, { arrive: false, blocksOf: 6 });
    const begun = events.filter(({ kind }) => kind !== 'unreachable_over');
    expect(begun.map(({ kind }) => kind)).toEqual(Array.from({ length: 6 }, () => 'unreachable'));
  });
});

describe('modes', () => {
  it('shadow reports and refuses nothing', () => {
    begin({ conversion: 'shadow', velocity: 'shadow', destination: 'shadow' });
    miss(1, 12);
    expect(blocked()).toMatchObject([{ rule: 'conversion', shadow: true }]);
    expect(ask(numberOf(1, 77))).toMatchObject({ refusal: null, shadow: [{ rule: 'conversion' }], isProbe: false });
    expect(ask('+391234567890')).toMatchObject({ refusal: null, shadow: [{ rule: 'destination' }] });
    for (let at = 0; at < 25; at += 1) send(numberOf(2, spread(at)));
    expect(ask(numberOf(2, 9_999))).toMatchObject({ refusal: null, shadow: [{ rule: 'velocity' }] });
  });

  it('off judges nothing; a rule that is on takes the place of a shadow', () => {
    begin({ conversion: 'off', sequence: 'shadow' });
    for (let at = 0; at < 11; at += 1) send(numberOf(1, 100 + at));
    pass(maturityMs);
    expect(blocked()).toMatchObject([{ rule: 'sequence', shadow: true }]);
    guard.configure(guardModesDefault);
    miss(1, 20, 500);
    expect(blocked().at(-1)).toMatchObject({ rule: 'conversion', shadow: false });
    expect(ask(numberOf(1, 77)).refusal).not.toBeNull();
  });
});

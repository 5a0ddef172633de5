// A carrier's state from its measurements: hysteresis by properties (it cannot flap or get stuck), the times of a
// missing bind on both sides, and what the counters make of answers and receipts.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { CarrierHealth } from '../../../../actors/carrier/failover/health.ts';
import {
  type HealthMemory,
  type FailoverPolicy,
  type Signs,
  decideHealth,
  freshHealth,
} from '../../../../actors/carrier/failover/health-decision.ts';
import { limits } from '../../../../platform/limits.ts';
import { ManualClock } from '../../../support/manual-clock.ts';

const rules: FailoverPolicy = { otpFailoverAfterMs: 1_000, othersFailoverAfterMs: 30_000 };
const well: Signs = {
  bound: 2,
  errorShare: 0,
  answerMs: 20,
  lateShare: 0,
  lateReceiptShare: 0,
  otpWaitMs: 0,
  receiptShare: 1,
};
const {
  lookEveryMs,
  holdMs,
  holdMsMax,
  errorShareWeak,
  errorShareGood,
  answerMsWeak,
  lateShareWeak,
  otpWaitMsWeak,
  receiptShareWeak,
} = limits.carrierHealth;

/** The states after each evaluation, one every 200 ms. */
function run(signs: readonly Signs[], from: HealthMemory = freshHealth(0), startMs = 0): HealthMemory[] {
  let memory = from;
  return signs.map((each, at) => (memory = decideHealth(memory, each, startMs + (at + 1) * lookEveryMs, rules)));
}
const looks = (ms: number, signs: Partial<Signs>): Signs[] =>
  Array.from({ length: Math.ceil(ms / lookEveryMs) }, () => ({ ...well, ...signs }));

describe('a missing bind', () => {
  test('is ignored at first, weak after that, down after the second time', () => {
    const states = run(looks(31_000, { bound: 0 })).map((each) => each.state);
    const at = (ms: number) => states[ms / lookEveryMs - 1];
    expect([at(1_000), at(1_200), at(30_000), at(30_200)]).toEqual(['good', 'weak', 'weak', 'down']);
  });
  test('that returns within the first time changes nothing', () => {
    expect(run([...looks(800, { bound: 0 }), ...looks(400, {}), ...looks(800, { bound: 0 })]).at(-1)?.state).toBe(
      'good',
    );
  });
  test('ends when the bind has been bound for the hold', () => {
    const states = run([...looks(2_000, { bound: 0 }), ...looks(holdMs + 400, {})]).map((each) => each.state);
    expect(states.lastIndexOf('weak') * lookEveryMs).toBeGreaterThanOrEqual(2_000 + holdMs - 2 * lookEveryMs);
    expect(states.at(-1)).toBe('good');
  });
});

describe('the other measurements', () => {
  test.each([
    ['errors', { errorShare: errorShareWeak }, { errorShare: errorShareWeak - 0.01 }],
    ['slow', { answerMs: answerMsWeak }, { answerMs: answerMsWeak - 1 }],
    ['late_answers', { lateShare: lateShareWeak }, { lateShare: lateShareWeak - 0.01 }],
    ['late_receipts', { lateReceiptShare: lateShareWeak }, { lateReceiptShare: lateShareWeak - 0.01 }],
    ['throttled', { otpWaitMs: otpWaitMsWeak }, { otpWaitMs: otpWaitMsWeak - 1 }],
    ['no_receipts', { receiptShare: receiptShareWeak }, { receiptShare: receiptShareWeak + 0.01 }],
  ])('%s: at its threshold, and not below', (why, bad, good) => {
    expect(run(looks(200, bad)).at(-1)).toMatchObject({ state: 'weak', why });
    expect(run(looks(600_000, good)).at(-1)?.state).toBe('good');
  });
  test('errors end only well below where they began', () => {
    const weak = run(looks(200, { errorShare: errorShareWeak })).at(-1)!;
    expect(run(looks(20_000, { errorShare: errorShareGood }), weak, 200).at(-1)?.state).toBe('weak');
    expect(run(looks(20_000, { errorShare: errorShareGood - 0.01 }), weak, 200).at(-1)?.state).toBe('good');
  });
  test('for the whole time make it down', () => {
    expect(run(looks(31_000, { errorShare: 0.9 })).at(-1)?.state).toBe('down');
  });
  test('but late receipts and throttling do not: other messages stay', () => {
    expect(run(looks(600_000, { lateReceiptShare: 1 })).map(({ state }) => state)).not.toContain('down');
    expect(run(looks(600_000, { otpWaitMs: 20_000 })).map(({ state }) => state)).not.toContain('down');
  });
  test('too few answers are no evidence', () => {
    const none = { errorShare: null, answerMs: null, lateShare: null, lateReceiptShare: null, receiptShare: null };
    expect(run(looks(60_000, none)).at(-1)?.state).toBe('good');
  });
});

const anySigns: fc.Arbitrary<Signs> = fc.record({
  bound: fc.integer({ min: 0, max: 2 }),
  errorShare: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null }),
  answerMs: fc.option(fc.integer({ min: 0, max: 10_000 }), { nil: null }),
  lateShare: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null }),
  lateReceiptShare: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null }),
  otpWaitMs: fc.integer({ min: 0, max: 10_000 }),
  receiptShare: fc.option(fc.double({ min: 0, max: 1, noNaN: true }), { nil: null }),
});
const anyStretch = fc.tuple(anySigns, fc.integer({ min: 1, max: 60 }));

test('in every sequence it is avoided for at least the hold, and longer at each relapse', () => {
  fc.assert(
    fc.property(fc.array(anyStretch, { maxLength: 40 }), (stretches) => {
      const memories = run(stretches.flatMap(([signs, times]) => Array.from({ length: times }, () => signs)));
      let leftAt: number | null = null;
      let lastHold = 0;
      memories.forEach((memory, at) => {
        const before = memories[at - 1]?.state ?? 'good';
        if (before === 'good' && memory.state !== 'good') {
          leftAt = at;
          expect(memory.holdMs).toBeLessThanOrEqual(holdMsMax);
          expect(memory.holdMs === holdMs || memory.holdMs === Math.min(holdMsMax, lastHold * 2)).toBe(true);
          lastHold = memory.holdMs;
        }
        if (before !== 'good' && memory.state === 'good') {
          expect((at - (leftAt ?? 0)) * lookEveryMs).toBeGreaterThanOrEqual(memory.holdMs);
        }
        if (before === 'down') expect(memory.state).not.toBe('weak');
      });
    }),
    { numRuns: 300 },
  );
});

test('after any sequence it is good when it was without a fault for the longest hold', () => {
  fc.assert(
    fc.property(fc.array(anyStretch, { maxLength: 20 }), (stretches) => {
      const bad = stretches.flatMap(([signs, times]) => Array.from({ length: times }, () => signs));
      const memories = run([...bad, ...looks(holdMsMax + 2 * lookEveryMs, {})]);
      expect(memories.at(-1)?.state).toBe('good');
    }),
    { numRuns: 100 },
  );
});

test('a carrier that is up and down every other second is used less and less', () => {
  const flapping = Array.from({ length: 100 }, () => [...looks(2_000, { bound: 0 }), ...looks(4_000, {})]).flat();
  const states = run(flapping).map((each) => each.state);
  const changes = states.filter((state, at) => at > 0 && (state === 'good') !== (states[at - 1] === 'good')).length;
  expect(changes).toBeLessThan(12);
});

describe('the counters', () => {
  const open = () => {
    const clock = new ManualClock();
    const published: string[] = [];
    const publish = (state: string) => void published.push(state);
    return { clock, published, health: new CarrierHealth({ carrier: 'alpha', clock, rules, publish }) };
  };
  test('half of the answers bad: weak at the next evaluation, published at once and again every second', () => {
    const { clock, published, health } = open();
    for (let at = 0; at < 20; at += 1) health.onAnswer(at % 2 === 0, 10);
    clock.advance(200);
    expect(health.look(1)).toBe(true);
    expect(health.state).toBe('weak');
    for (let at = 0; at < 10; at += 1) {
      clock.advance(200);
      health.look(1);
    }
    expect(published[0]).toBe('weak');
    expect(published.length).toBeGreaterThanOrEqual(2);
    expect(published.length).toBeLessThanOrEqual(4);
  });
  test('no traffic for a while: the bad answers expire and it is tried again', () => {
    const { clock, health } = open();
    for (let at = 0; at < 20; at += 1) health.onNoAnswer();
    for (let at = 0; at < 100; at += 1) {
      clock.advance(200);
      health.look(1);
    }
    expect(health.state).toBe('good');
  });
  test('a carrier that sent receipts and stops is weak; one that never did is not', () => {
    const minutes = (health: CarrierHealth, clock: ManualClock, seconds: number, receipts: boolean) => {
      for (let at = 0; at < seconds; at += 1) {
        for (let each = 0; each < 10; each += 1) {
          health.onSubmitted();
          if (receipts) health.onReceipt();
        }
        clock.advance(1_000);
        health.look(1);
      }
    };
    const never = open();
    minutes(never.health, never.clock, 900, false);
    expect(never.health.state).toBe('good');
    const stopped = open();
    minutes(stopped.health, stopped.clock, 300, true);
    expect(stopped.health.state).toBe('good');
    minutes(stopped.health, stopped.clock, 900, false);
    expect(stopped.health).toMatchObject({ state: expect.not.stringMatching('good'), why: 'no_receipts' });
  });
});

describe('late receipts', () => {
  const open = () => {
    const clock = new ManualClock();
    return { clock, health: new CarrierHealth({ carrier: 'alpha', clock, rules, publish() {} }) };
  };
  const due = (health: CarrierHealth, times: number, isLate: (at: number) => boolean) => {
    for (let at = 0; at < times; at += 1) health.onReceiptDue(isLate(at));
  };
  test('of fewer than twenty are no evidence; a fifth of a hundred more than usual is', () => {
    const { health } = open();
    due(health, 19, () => true);
    expect(health.lateReceiptShare).toBeNull();
    due(health, 4, () => true);
    expect(health.lateReceiptShare).toBe(1);
  });
  test('that are usual with a carrier are no outage, and none at all is always one', () => {
    const { health, clock } = open();
    due(health, 3_000, (at) => at % 4 === 0);
    clock.advance(lookEveryMs);
    health.look(1);
    expect(health.state).toBe('good');
    due(health, 10_000, () => true);
    clock.advance(lookEveryMs);
    health.look(1);
    expect([health.state, health.why]).toEqual(['weak', 'late_receipts']);
  });
  test('are forgotten after a while without further ones: it is tried again', () => {
    const { health, clock } = open();
    due(health, 500, () => true);
    const states: string[] = [];
    for (let at = 0; at < 600; at += 1) {
      clock.advance(lookEveryMs);
      health.look(1);
      states.push(health.state);
    }
    expect([states[0], states.at(-1)]).toEqual(['weak', 'good']);
    // 30 s × ln(100 / 20), and the hold.
    expect(states.lastIndexOf('weak') * lookEveryMs).toBeGreaterThan(48_000 + holdMs - 2_000);
    expect(states.lastIndexOf('weak') * lookEveryMs).toBeLessThan(48_000 + holdMs + 2_000);
  });
});

describe('an operator’s command', () => {
  test('takes precedence over measurements, is published at once, and resets them', () => {
    const clock = new ManualClock();
    const published: string[] = [];
    const health = new CarrierHealth({
      carrier: 'alpha',
      clock,
      rules,
      publish: (state, why) => published.push(`${state} ${why}`),
    });
    const look = (times: number, bound: number) => {
      for (let nth = 0; nth < times; nth += 1) {
        clock.advance(lookEveryMs);
        health.look(bound);
      }
    };
    look(20, 0);
    expect([health.state, health.why]).toEqual(['weak', 'no_bind']);
    published.length = 0;
    health.command('paused');
    expect(published).toEqual(['down paused']);
    look(20, 2);
    expect([health.state, health.why]).toEqual(['down', 'paused']);
    // A new subscriber receives it within a second.
    expect(published).toHaveLength(5);
    health.command('drained');
    health.command('drained');
    expect(published.slice(5)).toEqual(['down drained']);
    health.command('running');
    expect(published.at(-1)).toBe('good ');
    look(5, 0);
    expect(health.state).toBe('good');
    look(1, 0);
    expect([health.state, health.why]).toEqual(['weak', 'no_bind']);
  });
});

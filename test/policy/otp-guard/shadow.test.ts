// A rule in shadow mode says what it would have done, and for the other rules it is as if it were off.
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { limits } from '../../../platform/limits.ts';
import { type GuardEvent, type GuardMode, guardRules } from '../../../policy/otp-guard/contract.ts';
import { thresholds } from '../../../policy/otp-guard/thresholds.ts';
import {
  ask,
  begin,
  blocked,
  blocks,
  enter,
  events,
  guard,
  miss,
  numberOf,
  pass,
  prefixOf,
  send,
  spread,
  wait,
} from './guard-on-a-clock.ts';

const { maturityMs } = thresholds;
const own = (event: GuardEvent) => !('shadow' in event && event.shadow);

describe('what a rule in shadow mode would have blocked', () => {
  it('does not halve what may wait in the block', () => {
    begin({ conversion: 'shadow' });
    miss(1, 12);
    expect(blocked()).toMatchObject([{ rule: 'conversion', shadow: true }]);
    for (let at = 20; at < 39; at += 1) send(numberOf(1, spread(at)));
    expect(ask(numberOf(1, 9_000)).refusal).toBeNull();
    send(numberOf(1, spread(39)));
    expect(ask(numberOf(1, 9_000)).refusal).toMatchObject({ rule: 'velocity', threshold: 20 });
  });

  it('lets the others need as many misses as without it', () => {
    begin({ sequence: 'shadow' });
    for (let at = 0; at < 11; at += 1) send(numberOf(1, 100 + at));
    expect(blocked()).toMatchObject([{ rule: 'sequence', shadow: true }]);
    pass(maturityMs);
    expect(blocked()).toHaveLength(1);
    miss(1, 1, 500);
    expect(blocked().at(-1)).toMatchObject({ rule: 'conversion', shadow: false, times: 1 });
  });

  it('makes no block of another rule longer', () => {
    begin({ sequence: 'shadow' });
    for (let at = 0; at < 11; at += 1) send(numberOf(1, 100 + at));
    pass(maturityMs);
    guard.configure({ ...modesOf('on'), sequence: 'off' });
    miss(1, 12, 500);
    expect(blocked().filter(own)).toMatchObject([{ rule: 'conversion', times: 1, durationMs: 600_000 }]);
  });

  it('has its own number in a row, and is not reported again while it would last', () => {
    begin({ conversion: 'shadow' });
    miss(1, 12);
    miss(1, 12, 100);
    expect(blocked()).toMatchObject([{ times: 1 }]);
    pass(600_000);
    miss(1, 3, 300);
    expect(blocked()).toMatchObject([{ times: 1 }, { times: 2, durationMs: 1_200_000, shadow: true }]);
  });

  it('needs three more misses, as after a block', () => {
    begin({ conversion: 'shadow' });
    miss(1, 12);
    pass(600_000);
    miss(1, 2, 100);
    expect(blocked()).toHaveLength(1);
    miss(1, 1, 200);
    expect(blocked()).toHaveLength(2);
  });

  it('begins no outage, and is not reported where it would have begun one', () => {
    const play = (mode: GuardMode) => {
      begin({ conversion: mode, partial_conversion: 'off' });
      for (let at = 0; at < 60; at += 1) {
        send(numberOf(1, spread(at)));
        guard.received({ accountId: 'a', to: numberOf(1, spread(at)) });
        enter(numberOf(1, spread(at)));
        pass(60_000);
      }
      for (let at = 60; at < 75; at += 1) {
        send(numberOf(1, spread(at)));
        pass(60_000);
      }
      return events.map(({ kind }) => kind);
    };
    expect(play('on')).toEqual(['unreachable']);
    expect(play('shadow')).toEqual([]);
  });

  it('takes no room of blocks in effect', () => {
    begin({ sequence: 'shadow' });
    const block = { accountId: 'a', rule: 'sequence', statistic: 10, threshold: 10, times: 1 } as const;
    for (let at = 0; at < limits.otpGuard.ruleBlocksShare; at += 1) {
      const about = { ...block, prefix: `+88018${String(at).padStart(4, '0')}`, durationMs: 600_000, shadow: true };
      blocks.shadow.apply(about, 5_000_000, 1_000_000);
    }
    miss(1, 12);
    expect(blocked()).toMatchObject([{ rule: 'conversion', prefix: prefixOf(1), insteadOf: null, shadow: false }]);
    for (let at = 0; at < 11; at += 1) send(numberOf(2, 100 + at));
    expect(events.at(-1)).toMatchObject({ kind: 'beyond_share', rule: 'sequence', shadow: true });
  });

  it('does not hide what a rule that is on finds', () => {
    begin({ conversion: 'shadow' });
    for (let at = 0; at < 600; at += 1) {
      send(numberOf(at % 90, spread(at)));
      if (at % 10 < 7) enter(numberOf(at % 90, spread(at)));
      if (at % 50 === 49) pass(maturityMs);
    }
    for (let round = 0; round < 8; round += 1) miss(95, 10, round * 10);
    const found = blocked().flatMap((event) => (event.kind === 'blocked' ? [`${event.rule} ${event.shadow}`] : []));
    expect(new Set(found)).toEqual(new Set(['conversion true', 'partial_conversion false']));
  });
});

const modesOf = (mode: GuardMode) => ({
  ...{ destination: mode, conversion: mode, partial_conversion: mode, velocity: mode, sequence: mode, clients: mode },
});

it('whatever is sent, the other rules do the same as with the rule off', () => {
  const step = fc.record({
    block: fc.nat(3),
    at: fc.oneof(fc.nat(40), fc.nat(9_999)),
    isEntered: fc.boolean(),
    isReceived: fc.boolean(),
    waitMs: fc.constantFrom(0, 0, 0, 1_000, 20_000, 130_000, 700_000),
  });
  const rule = fc.constantFrom(...guardRules);
  fc.assert(
    fc.property(fc.array(step, { minLength: 50, maxLength: 250 }), rule, (steps, switched) => {
      const play = (mode: GuardMode) => {
        begin({ ...modesOf('on'), [switched]: mode });
        const refusals: unknown[] = [];
        for (const { block, at, isEntered, isReceived, waitMs } of steps) {
          const to = numberOf(block, at);
          const { refusal } = ask(to, { ip: '192.0.2.1' });
          refusals.push(refusal);
          if (refusal === null) {
            send(to, { ip: '192.0.2.1' });
            if (isReceived) guard.received({ accountId: 'a', to });
            if (isEntered && block > 1) enter(to);
          }
          if (waitMs > 0) pass(waitMs);
        }
        wait(0);
        return { refusals, found: events.filter(own) };
      };
      expect(play('shadow')).toEqual(play('off'));
    }),
    { numRuns: 150 },
  );
});

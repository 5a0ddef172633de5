// A day of ordinary use with everything people do: nobody is refused or challenged, and no numbers are blocked, also beside a
// release, a safe list and rules in shadow mode. And what an attack costs in the same hours stays as it was.
import { describe, expect, it } from 'vitest';
import { seededRandom } from '../../../platform/random.ts';
import type { GuardModes } from '../../../policy/otp-guard/contract.ts';
import {
  ask,
  begin,
  blocked,
  enter,
  events,
  guard,
  nowMs,
  numberOf,
  pass,
  prefixOf,
  release,
  resend,
  safeNumbers,
  send,
} from './guard-on-a-clock.ts';

const office = '203.0.113.9';

type Day = { readonly hours: number; readonly attackFromHour?: number; readonly eachHour?: () => void };

/** One code a second over 3,000 blocks of 10,000 numbers; seven of ten are entered, some late; who does not has it sent again. */
function play({ hours, attackFromHour = Number.POSITIVE_INFINITY, eachHour = () => {} }: Day) {
  const random = seededRandom(1);
  const refused = { people: 0, fraud: 0 };
  const later: (() => void)[][] = [];
  const after = (seconds: number, second: number, act: () => void) => (later[second + seconds] ??= []).push(act);
  let leaked = 0;
  for (let second = 0; second < hours * 3_600; second += 1) {
    for (const act of later[second] ?? []) act();
    const to = numberOf(Math.floor(random.unit() * 3_000), Math.floor(random.unit() * 10_000));
    const ip = random.unit() < 0.03 ? office : null;
    if (ask(to, { ip }).refusal !== null) refused.people += 1;
    else {
      send(to, { ip });
      if (random.unit() < 0.97) after(3, second, () => guard.received({ accountId: 'a', to }));
      const isEntered = random.unit() < 0.7;
      if (isEntered) after(5 + Math.floor(random.unit() * 80), second, () => enter(to));
      else after(45, second, () => void (ask(to, { isResend: true }).refusal === null && resend(to)));
    }
    if (second >= attackFromHour * 3_600 && second % 2 === 0) {
      const number = numberOf(9_000, Math.floor(random.unit() * 10_000));
      if (ask(number).refusal !== null) refused.fraud += 1;
      else {
        send(number);
        if (blocked().length === 0) leaked += 1;
      }
    }
    pass(1_000);
    if (second % 3_600 === 3_599) eachHour();
  }
  return { refused, leaked };
}

describe('ordinary use', () => {
  it.each<[string, Partial<GuardModes>]>([
    ['with all rules on', {}],
    ['with tests in shadow mode', { conversion: 'shadow', sequence: 'shadow' }],
  ])('%s is refused nothing', (_name, modes) => {
    begin(modes);
    expect(play({ hours: 12 }).refused).toEqual({ people: 0, fraud: 0 });
    expect(events).toEqual([]);
  });

  it('beside releases and a safe list is refused nothing, and its conversion stays known', () => {
    begin();
    const eachHour = () => {
      release(prefixOf(Math.floor(nowMs / 1_000) % 3_000));
      safeNumbers([prefixOf(7), numberOf(8, 1)]);
    };
    expect(play({ hours: 6, eachHour }).refused).toEqual({ people: 0, fraud: 0 });
    expect(events).toEqual([]);
  });
});

it('an attack beside it is blocked after ten to sixty messages, again sooner, and nobody else is refused', () => {
  begin();
  const { refused, leaked } = play({ hours: 5, attackFromHour: 2 });
  expect(refused.people).toBe(0);
  expect(leaked).toBeGreaterThan(9);
  expect(leaked).toBeLessThanOrEqual(60);
  expect(refused.fraud / (1.5 * 3_600)).toBeGreaterThan(0.95);
  expect(blocked().map((event) => event.kind === 'blocked' && [event.prefix, event.times])).toEqual(
    Array.from({ length: blocked().length }, (_, at) => [prefixOf(9_000), at + 1]),
  );
  expect(blocked().length).toBeGreaterThan(2);
});

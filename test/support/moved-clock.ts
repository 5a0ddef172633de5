// The clock of tests that live through days: real timers, and a wall time that is moved by hand.
import { type Clock, systemClock } from '../../platform/clock.ts';
import { until } from './until.ts';

const lookMs = 20;

export type MovedClock = Clock & { to(ms: number): void; readonly looks: number };

/** The system's clock, whose wall time a test moves by hand and which stands still then; it looks more often. */
export function movedClock(): MovedClock {
  let looks = 0;
  let heldMs: number | null = null;
  return {
    ...systemClock,
    nowMs: () => heldMs ?? systemClock.nowMs(),
    every: (ms, run) =>
      systemClock.every(Math.min(ms, lookMs), () => {
        looks += 1;
        run();
      }),
    get looks() {
      return looks;
    },
    to(ms) {
      heldMs = ms;
    },
  };
}

/** Several looks of everything that looks now and then. */
export async function someLooks(clock: MovedClock): Promise<void> {
  const before = clock.looks;
  await until('several looks', () => clock.looks >= before + 60);
}

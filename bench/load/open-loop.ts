// An open loop: each of the calls is made at its intended time, whether or not those before it have ended.
import { systemClock } from '../../platform/clock.ts';

/** Resolves when the last of `count` was made. `intendedMs` is monotonic. */
export function openLoop(
  count: number,
  ratePerSecond: number,
  call: (index: number, intendedMs: number) => void,
): Promise<void> {
  const beganMs = systemClock.monotonicMs();
  let made = 0;
  return new Promise((resolve) => {
    const stop = systemClock.every(1, () => {
      const due = Math.floor(((systemClock.monotonicMs() - beganMs) * ratePerSecond) / 1_000) + 1;
      for (; made < Math.min(count, due); made += 1) call(made, beganMs + (made * 1_000) / ratePerSecond);
      if (made < count) return;
      stop();
      resolve();
    });
  });
}

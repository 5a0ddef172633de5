// How long a test's process, or the nats-server it uses, stood still on a busy machine. A test of a delay that both are part
// of adds it to its bound.
import type { Bus } from '../../cluster/bus/connect.ts';
import { systemClock } from '../../platform/clock.ts';

const everyMs = 10;
/** Of each look: a timer that is due is late by some milliseconds on any machine. */
const usualMs = 10;

/** Counts from now until `stop`. */
export function lostTime(bus: Bus): { lostMs(): number; stop(): Promise<void> } {
  let [lostMs, isOver] = [0, false];
  const looking = (async () => {
    while (!isOver) {
      const beganMs = systemClock.monotonicMs();
      await Promise.all([bus.connection.flush(), systemClock.sleep(everyMs)]);
      lostMs += Math.max(0, systemClock.monotonicMs() - beganMs - everyMs - usualMs);
    }
  })();
  return {
    lostMs: () => lostMs,
    async stop() {
      isOver = true;
      await looking;
    },
  };
}

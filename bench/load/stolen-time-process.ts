// Notes when the host of a virtual machine took a processor away from it. It runs at real-time priority, bound to one
// processor (harness/stolen-time.ts), and sleeps a millisecond at a time: it wakes late only when that processor did not
// run, or the kernel let nobody else run. One line per delay: its begin and end in µs of epoch. Ends with its reader.
import { writeSync } from 'node:fs';
import { epochUs, systemClock } from '../../platform/clock.ts';

const sleepMs = 1;
/** Less is the timer's own inaccuracy. */
const lateMs = 1;
const never = new Int32Array(new SharedArrayBuffer(Int32Array.BYTES_PER_ELEMENT));

for (let beganMs = systemClock.monotonicMs(); ; ) {
  Atomics.wait(never, 0, 0, sleepMs);
  const nowMs = systemClock.monotonicMs();
  if (nowMs - beganMs > sleepMs + lateMs) writeSync(1, `${epochUs(beganMs + sleepMs)} ${epochUs(nowMs)}\n`);
  beganMs = nowMs;
}

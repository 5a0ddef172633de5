// The cost of a piece of code, in CPU time of this process: the median over slices of many calls, which excludes other
// load on the machine.
import { systemClock } from '../../platform/clock.ts';
import { median } from './median.ts';

export function cpuPerCallUs(call: () => void, durationMs: number, callsPerSlice: number): number {
  const each: number[] = [];
  const endAtMs = systemClock.monotonicMs() + durationMs;
  while (systemClock.monotonicMs() < endAtMs) {
    const before = process.cpuUsage();
    for (let nth = 0; nth < callsPerSlice; nth += 1) call();
    const { user, system } = process.cpuUsage(before);
    each.push((user + system) / callsPerSlice);
  }
  return median(each);
}

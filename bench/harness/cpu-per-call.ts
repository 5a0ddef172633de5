// What a piece of code costs, in CPU time of this process: the median over slices of many calls, so that whatever else
// the machine does meanwhile is left out.
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

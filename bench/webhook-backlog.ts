// A broken endpoint with a long line behind it (a million, or --count), one that hangs, and eight that must notice nothing:
// the time from an event to its request at those eight, the requests that the broken one costs, and how fast and in which
// order its line comes when it is back, as far as that comes in two minutes. The receivers are servers of this process.
import { startBus } from '../test/support/bus.ts';
import { runBacklog } from '../test/support/webhook-backlog.ts';
import type { Bench } from './harness/bench.ts';
import { latencyFigures } from './harness/latency-figures.ts';
import { limits } from '../platform/limits.ts';

const drainMs = 120_000;

export const bench: Bench<'seconds' | 'count' | 'rate'> = {
  about: 'a broken endpoint with 1,000,000 parked events beside others that work, and its return',
  takes: 'the time to park the events, --seconds, and two minutes at most for what was parked',
  options: {
    seconds: { about: 'seconds of events to all ten endpoints while one is broken', default: 30 },
    count: { about: 'events parked for the broken endpoint', default: 1_000_000 },
    rate: { about: 'events a second to all ten', default: 500 },
  },
  targets: () => [
    { figure: 'received_p99_ms', op: '<=', bound: 500 },
    { figure: 'missing', op: '==', bound: 0 },
    { figure: 'probes', op: '==', bound: 1 },
    { figure: 'hanging_most', op: '<=', bound: 3 * limits.delivery.concurrencyFirst },
    { figure: 'overtaken_most', op: '<=', bound: limits.delivery.concurrencyMax - 1 },
    { figure: 'repeated', op: '==', bound: 0 },
  ],
  async run({ seconds, count, rate }) {
    const bus = await startBus('bench');
    try {
      const found = await runBacklog({ bus, count, rate, seconds, drain: count, drainMs });
      return {
        load: `${count} parked events of one endpoint of ten, one hangs, ${rate} events/s to all ten`,
        figures: {
          ...latencyFigures('received', found.published, ['p50', 'p99', 'max']),
          missing: found.missing,
          probes: found.probes,
          hanging_most: found.hangingMost,
          drained: found.drained,
          drained_per_s: found.drainedPerS,
          overtaken_most: found.overtakenMost,
          repeated: found.repeated,
        },
      };
    } finally {
      await bus.stop();
    }
  },
};

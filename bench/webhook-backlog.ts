// A broken endpoint with a long line behind it (a million, or --count), one that hangs, and eight that must notice nothing:
// the time from an event to its request at those eight, the requests that the broken one costs, and how fast and in which
// order its line comes when it is back, as far as that comes in two minutes. The receivers are servers of this process.
import { startBus } from '../test/support/bus.ts';
import { runBacklog } from '../test/support/webhook-backlog.ts';
import type { Bench } from './harness/bench.ts';
import { latencyFigures } from './harness/latency-figures.ts';
import { limits } from '../platform/limits.ts';

const countDefault = 1_000_000;
const rateDefault = 500;
const drainMs = 120_000;

export const bench: Bench = {
  about: 'a broken endpoint with 1,000,000 parked events beside others that work, and its return',
  secondsDefault: 30,
  takes: ['count', 'rate'],
  async run({ seconds, count = countDefault, rate = rateDefault }) {
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
        targets: [
          { figure: 'received_p99_ms', op: '<=', bound: 500 },
          { figure: 'missing', op: '==', bound: 0 },
          { figure: 'probes', op: '==', bound: 1 },
          { figure: 'hanging_most', op: '<=', bound: 3 * limits.delivery.concurrencyFirst },
          { figure: 'overtaken_most', op: '<=', bound: limits.delivery.concurrencyMax - 1 },
          { figure: 'repeated', op: '==', bound: 0 },
        ],
      };
    } finally {
      await bus.stop();
    }
  },
};

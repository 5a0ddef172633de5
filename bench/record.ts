// How fast the recorder brings events from the stream into the event store with their counts, what that costs in CPU, and
// how soon an event can be queried in a report: a backlog of all events of messages first, then single messages. The
// recorder and chDB run in this process; nats-server is a process of its own.
import type { Engine } from '../analytics/store/engine.ts';
import { Publisher } from '../cluster/bus/publisher.ts';
import { systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { type TestBus, startBus } from '../test/support/bus.ts';
import { type Bench, type BenchOptions, withStarted } from './harness/bench.ts';
import { publishLives, recordBacklog, rowsPerMessage, withEngine } from './harness/event-store.ts';
import { quantile } from './harness/latency-figures.ts';
import type { BenchResult } from './harness/report.ts';

export const bench: Bench<'seconds' | 'count'> = {
  about: 'events recorded and counted a second, and how soon one can be queried',
  takes: 'about a minute',
  options: {
    seconds: { about: 'seconds in which single events are recorded and looked for, after the backlog', default: 20 },
    count: { about: 'messages in the backlog, three events each', default: 200_000 },
  },
  targets: () => [
    { figure: 'events_per_s', op: '>=', bound: 50_000 },
    { figure: 'cpu_per_message_us', op: '<=', bound: 40 },
    { figure: 'queryable_max_ms', op: '<=', bound: 2_000 },
    { figure: 'not_counted', op: '==', bound: 0 },
  ],
  run,
};

async function run({ seconds, count }: BenchOptions<'seconds' | 'count'>): Promise<BenchResult> {
  return withStarted(startBus('bench'), (bus) => withEngine((engine) => measure(bus, engine, seconds, count)));
}

async function measure({ bus }: TestBus, engine: Engine, seconds: number, count: number): Promise<BenchResult> {
  const publisher = new Publisher(bus);
  await publishLives(publisher, count);
  const cpuBefore = process.cpuUsage();
  const { recorder, tookS } = await recordBacklog(bus, engine, publisher);
  const { user, system } = process.cpuUsage(cpuBefore);
  const counted = async () => {
    const [row] = await engine.rows("SELECT toInt32(sum(messages)) FROM message_counts WHERE status = 'delivered'");
    return Number(row?.[0]);
  };
  const backlog = await counted();
  const queryableMs: number[] = [];
  const probesEndMs = systemClock.monotonicMs() + seconds * 1_000;
  while (systemClock.monotonicMs() < probesEndMs) {
    const before = await counted();
    const publishedMs = systemClock.monotonicMs();
    await publishLives(publisher, 1);
    const options = { limitMs: 30_000, everyMs: 25 };
    await until('the message is counted', async () => (await counted()) > before, options);
    queryableMs.push(systemClock.monotonicMs() - publishedMs);
  }
  await recorder.stop(5_000);
  publisher.close();
  return {
    load: `a backlog of ${count} messages with ${rowsPerMessage} rows each, then ${queryableMs.length} messages one by one`,
    figures: {
      events_per_s: (count * rowsPerMessage) / tookS,
      cpu_per_message_us: (user + system) / count,
      queryable_p50_ms: quantile(queryableMs, 0.5),
      queryable_max_ms: quantile(queryableMs, 1),
      not_counted: count - backlog,
    },
  };
}

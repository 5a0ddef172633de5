// How fast the recorder brings events from the stream into the event store with their counts, what that costs in CPU, and
// how soon an event can be queried in a report: a backlog of whole lives of messages first, then single messages. The
// recorder and chDB run in this process; nats-server is a process of its own.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startRecorder } from '../analytics/recorder/recorder.ts';
import { openEngine } from '../analytics/store/engine.ts';
import { applySchema } from '../analytics/store/schema.ts';
import { Publisher } from '../cluster/bus/publisher.ts';
import { encodeEvents } from '../model/records/event-record.ts';
import { systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { contextOf, lifeOf } from '../test/analytics/support/events.ts';
import { startBus } from '../test/support/bus.ts';
import type { Bench, BenchOptions } from './harness/bench.ts';
import type { BenchResult } from './harness/report.ts';

export const bench: Bench = {
  about: 'events recorded and counted a second, and how soon one can be queried',
  secondsDefault: 20,
  takes: ['count'],
  run,
};

/** Accepted, submitted and delivered: the intent makes no row. */
const rowsPerMessage = 3;
const livesPerRecord = 25;
const recordedWithinMs = 300_000;
const lookEveryMs = 25;

async function run({ seconds, count = 200_000 }: BenchOptions): Promise<BenchResult> {
  const { bus, stop } = await startBus('bench');
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-bench-'));
  const engine = openEngine({ clickhouseUrl: null, dataDir });
  const publisher = new Publisher(bus);
  try {
    await applySchema(engine);
    const publish = async (messages: number) => {
      const lives = Array.from({ length: messages }, () => lifeOf(contextOf()));
      const stored = await publisher.publishOne('ev.sandbox.0', encodeEvents(lives.flat()), null);
      if (!stored.ok) throw new Error(stored.failure);
    };
    for (let left = count; left > 0; left -= livesPerRecord) await publish(Math.min(left, livesPerRecord));
    const { state } = await bus.manager.streams.info('EVENTS');
    const beganMs = systemClock.monotonicMs();
    const cpuBefore = process.cpuUsage();
    const recorder = await startRecorder({ bus, engine, publisher });
    await until('the backlog is recorded', () => recorder.recordedTo >= state.last_seq, {
      limitMs: recordedWithinMs,
      everyMs: lookEveryMs,
    });
    const tookS = (systemClock.monotonicMs() - beganMs) / 1_000;
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
      await publish(1);
      await until('the message is counted', async () => (await counted()) > before, {
        limitMs: 30_000,
        everyMs: lookEveryMs,
      });
      queryableMs.push(systemClock.monotonicMs() - publishedMs);
    }
    await recorder.stop(5_000);
    queryableMs.sort((one, other) => one - other);
    return {
      load: `a backlog of ${count} messages with ${rowsPerMessage} rows each, then ${queryableMs.length} messages one by one`,
      figures: {
        events_per_s: (count * rowsPerMessage) / tookS,
        cpu_per_message_us: (user + system) / count,
        queryable_p50_ms: queryableMs[Math.floor(queryableMs.length / 2)] ?? Number.NaN,
        queryable_max_ms: queryableMs.at(-1) ?? Number.NaN,
        not_counted: count - backlog,
      },
      targets: [
        { figure: 'events_per_s', op: '>=', bound: 50_000 },
        { figure: 'cpu_per_message_us', op: '<=', bound: 40 },
        { figure: 'queryable_max_ms', op: '<=', bound: 2_000 },
        { figure: 'not_counted', op: '==', bound: 0 },
      ],
    };
  } finally {
    publisher.close();
    await engine.close();
    await stop();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

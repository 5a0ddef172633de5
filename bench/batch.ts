// Batches of a thousand messages, one after the other, and a small request every few milliseconds on the same ingress
// thread: how long the small one waits, without and beside the batches. It needs nothing of the bus, so it waits for
// the thread only. Everything runs on the same machine, generator included.
import { once } from 'node:events';
import { Agent, request } from 'node:http';
import { Worker } from 'node:worker_threads';
import { systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { limits } from '../platform/limits.ts';
import { openHarness, post } from '../test/api/http/harness.ts';
import { quantile } from './harness/latency-figures.ts';
import { type BenchResult, zero } from './harness/report.ts';
import type { BatchTask, BatchResult } from './load/batch-thread.ts';
import { openLoop } from './load/open-loop.ts';
import type { Bench, BenchOptions } from './harness/bench.ts';

const smallEveryMs = 4;
/** Code that runs for the first time is slow. */
const warmUpMs = 2_000;
/** Without a pause the batches, nats-server and the generator fill both cores, and the wait for a core is measured. */
const pauseMs = 20;
const { messagesMax } = limits.http.batch;

export const bench: Bench<'seconds'> = {
  about: 'batches of 1,000, and how long others wait behind them',
  takes: 'about 20 seconds',
  options: {
    seconds: { about: 'seconds of small requests, the first half alone, the second beside batches', default: 8 },
  },
  targets: () => [
    { figure: 'small_waits_longer_p50_ms', op: '<=', bound: 5 },
    { figure: 'small_waits_longer_p99_ms', op: '<=', bound: 5 },
    ...zero('refused', 'lost'),
  ],
  run,
};

async function run({ seconds }: BenchOptions<'seconds'>): Promise<BenchResult> {
  const harness = await openHarness();
  const tenant = await harness.tenant();
  const ingress = await harness.ingress();
  await until('the directory', async () => (await post(ingress, tenant.live, '{')).status === 400);
  const agent = new Agent({ keepAlive: true, maxSockets: 4 });
  const durationMs = (seconds * 1_000) / 2;
  const url = ingress.url('/health/live');
  await smallRequests(agent, url, warmUpMs);
  const alone = await smallRequests(agent, url, durationMs);
  const batchesFor = (ms: number): Promise<[BatchResult]> => {
    const task: BatchTask = {
      url: ingress.url('/v1/sms/batch'),
      token: tenant.live,
      size: messagesMax,
      durationMs: ms,
      pauseMs,
    };
    const worker = new Worker(new URL('./load/batch-thread.ts', import.meta.url), { workerData: task });
    return once(worker, 'message') as Promise<[BatchResult]>;
  };
  const [warm] = await batchesFor(warmUpMs);
  const result = batchesFor(durationMs);
  const besideMs = await smallRequests(agent, url, durationMs);
  const [{ batches, accepted, refused, spentMs, overMs }] = await result;
  const stored = await harness.count();
  agent.destroy();
  await harness.stop();

  return {
    load: `${batches} batches of ${messagesMax} each ${pauseMs} ms after the other, a small request every ${smallEveryMs} ms, one ingress thread`,
    figures: {
      // Stored messages over the whole time: the pauses are a part of the load.
      rate_per_s: ((stored - warm.accepted) * 1_000) / overMs,
      batch_mean_ms: spentMs / batches,
      small_alone_p50_ms: quantile(alone, 0.5),
      small_alone_p99_ms: quantile(alone, 0.99),
      small_beside_p50_ms: quantile(besideMs, 0.5),
      small_beside_p99_ms: quantile(besideMs, 0.99),
      small_waits_longer_p50_ms: quantile(besideMs, 0.5) - quantile(alone, 0.5),
      small_waits_longer_p99_ms: quantile(besideMs, 0.99) - quantile(alone, 0.99),
      refused: warm.refused + refused,
      lost: warm.accepted + accepted - stored,
    },
  };
}

/** Open loop: latency counts from the intended send time of each. */
async function smallRequests(agent: Agent, url: string, durationMs: number): Promise<number[]> {
  const took: number[] = [];
  const waiting: Promise<void>[] = [];
  await openLoop(durationMs / smallEveryMs, 1_000 / smallEveryMs, (_, atMs) => {
    waiting.push(
      new Promise((resolve, reject) => {
        const sent = request(url, { agent }, (response) => {
          response.resume();
          response.once('end', () => {
            took.push(systemClock.monotonicMs() - atMs);
            resolve();
          });
        });
        sent.once('error', reject);
        sent.end();
      }),
    );
  });
  await Promise.all(waiting);
  return took;
}

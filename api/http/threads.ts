// Starts the listening threads of the ingress process one after the other (the first finds out whether the port is
// free), collects their metrics and health, and drains them together. It does not listen itself. If a thread dies the
// process exits and the supervisor restarts the whole role: a short outage is better than a half-dead ingress.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { Worker } from 'node:worker_threads';
import { AggregatorRegistry } from 'prom-client';
import type { RegistryVersionEvent } from '../../directory/registry/contract.ts';
import type { MetricObject } from '../../platform/metric-registry.ts';
import { systemClock } from '../../platform/clock.ts';
import { until, withDeadline } from '../../platform/deadline.ts';
import { SetupError } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { MetricsRequests } from '../../platform/message-link.ts';
import { newRateMemory } from '../../platform/rate-table.ts';
import type { FromThread, RequestRules, ThreadData, ToThread } from './thread-messages.ts';

export type IngressThreads = Awaited<ReturnType<typeof startThreads>>;

type Thread = {
  readonly worker: Worker;
  health: { ok: boolean; detail: string };
  state: 'starting' | 'ready' | 'draining' | 'drained';
};

/** The part of the drain's time kept for closing what is left. */
const closeMs = 300;

export async function startThreads(
  count: number,
  given: Omit<ThreadData, 'index' | 'shared' | 'rateMemory' | 'otpRateMemory'>,
) {
  // uWebSockets.js reads this when it is loaded, which only the threads do.
  process.env['UWS_HTTP_MAX_HEADERS_SIZE'] = String(limits.http.headerBytesMax);
  const threads: Thread[] = [];
  const watch = new ThreadWatch();
  const requests = new MetricsRequests();
  const data = { ...given, rateMemory: newRateMemory(), otpRateMemory: newRateMemory(limits.otp.ratesMax) };
  let port = count > 1 ? await freePortOf(data.host, data.port) : data.port;
  for (let index = 0; index < count; index += 1) {
    const started = await startThread({ ...data, port, index, shared: count > 1 }, watch, requests);
    threads.push(started.thread);
    port = started.port;
  }
  const stopWatch = systemClock.every(limits.supervision.healthEveryMs, () => {
    watch.look();
    reportBlocked(watch);
  });

  return {
    port,
    health(): { ok: boolean; detail: string } {
      const blocked = watch.blocked();
      if (blocked !== null) return { ok: false, detail: `thread ${blocked.index} is blocked and answers no requests` };
      const bad = threads.find((thread) => !thread.health.ok);
      return bad?.health ?? threads[0]?.health ?? { ok: false, detail: 'no thread' };
    },
    async metrics(): Promise<MetricObject[]> {
      const withinMs = limits.supervision.metricsAnswerMs / 2;
      const asked = threads.map((thread) => requests.ask('a thread', withinMs, (message) => send(thread, message)));
      const each = (await Promise.all(asked)).filter((answer) => answer !== null);
      if (each.length === 1) return each[0] ?? [];
      const merged = AggregatorRegistry.aggregate(each);
      return await merged.getMetricsAsJSON();
    },
    /** Applies these rules to requests from now on. */
    configure(rules: RequestRules): void {
      for (const thread of threads) send(thread, { type: 'rules', rules });
    },
    /** Makes every thread use a registry version that is complete. */
    registry(registryUpdate: RegistryVersionEvent): void {
      for (const thread of threads) send(thread, { type: 'registry', registryUpdate });
    },
    async drain(deadlineMs: number): Promise<void> {
      stopWatch();
      for (const thread of threads) {
        thread.state = 'draining';
        send(thread, { type: 'drain', deadlineMs: Math.max(1, deadlineMs - closeMs) });
      }
      await until('the threads of the ingress to drain', () => threads.every((each) => each.state === 'drained'), {
        limitMs: deadlineMs,
        everyMs: 5,
      });
    },
  };
}

/**
 * Finds out whether the port is free by listening exclusively for a moment: threads open it for sharing, so a second
 * copy of Heliograph could open it too and would get half of the requests. Also resolves port 0, because a port chosen
 * by the system cannot be shared.
 */
async function freePortOf(host: string, port: number): Promise<number> {
  const probe = createServer();
  try {
    probe.listen({ host, port, exclusive: true });
    await withDeadline('the check of the port', 2_000, once(probe, 'listening'));
    return (probe.address() as AddressInfo).port;
  } catch (error) {
    throw new SetupError(
      `port ${port} on ${host} is taken or not allowed: set HELIOGRAPH_HTTP_PORT to another one`,
      error,
    );
  } finally {
    if (probe.listening) await once(probe.close(), 'close');
  }
}

type Blocked = {
  readonly index: number;
  readonly looks: number;
  /** It is not expected to recover: the role exits. */
  readonly isHopeless: boolean;
};

/**
 * Detects blocked listening threads. Each thread reports once a second to the main thread, which carries no traffic.
 * Silence is counted in checks of the main thread, not in time, so that a process that was suspended as a whole has no
 * blocked thread.
 */
export class ThreadWatch {
  readonly #silentLooks = new Map<number, number>();

  /** A report of a thread. A thread is watched from its first report on. */
  reported(index: number): void {
    this.#silentLooks.set(index, 0);
  }

  /** Call once per report interval. */
  look(): void {
    for (const [index, looks] of this.#silentLooks) this.#silentLooks.set(index, looks + 1);
  }

  /** The thread that has been silent longest, if it is blocked; otherwise null. */
  blocked(): Blocked | null {
    let worst: Blocked | null = null;
    for (const [index, looks] of this.#silentLooks) {
      if (looks >= limits.http.blockedThread.reportLooks && looks > (worst?.looks ?? 0))
        worst = { index, looks, isHopeless: looks >= limits.http.blockedThread.giveUpLooks };
    }
    return worst;
  }
}

/**
 * Logs a blocked thread once. If it stays blocked, ends the process, because uWebSockets.js would end it with its thread:
 * at once, because the thread may be stuck in native code.
 */
function reportBlocked(watch: ThreadWatch): void {
  const blocked = watch.blocked();
  if (blocked === null) return;
  const { index, looks, isHopeless } = blocked;
  if (looks === limits.http.blockedThread.reportLooks) {
    log.error({ alarm: 'thread_blocked', thread: index }, 'an ingress thread is blocked: it answers no requests');
  }
  if (!isHopeless) return;
  log.fatal({ thread: index, looks }, 'an ingress thread stays blocked: the role exits');
  process.kill(process.pid, 'SIGKILL');
}

function startThread(
  data: ThreadData,
  watch: ThreadWatch,
  requests: MetricsRequests,
): Promise<{ thread: Thread; port: number }> {
  const worker = new Worker(new URL('./thread.ts', import.meta.url), { workerData: data });
  const thread: Thread = { worker, health: { ok: true, detail: 'starting' }, state: 'starting' };
  const started = new Promise<{ thread: Thread; port: number }>((resolve, reject) => {
    worker.on('message', (message: FromThread) => {
      switch (message.type) {
        case 'ready':
          thread.state = 'ready';
          watch.reported(data.index);
          return resolve({ thread, port: message.port });
        case 'failed':
          return reject(message.needsPerson ? new SetupError(message.why) : new Error(message.why));
        case 'health':
          thread.health = { ok: message.ok, detail: message.detail };
          watch.reported(data.index);
          return;
        case 'metrics':
          return requests.take(message);
        case 'drained':
          thread.state = 'drained';
      }
    });
    worker.on('error', (error) => {
      log.fatal({ error: error.message, stack: error.stack, thread: data.index }, 'an ingress thread died');
      process.exit(1);
    });
    worker.on('exit', (code) => {
      if (thread.state === 'drained') return;
      log.fatal({ code, thread: data.index }, 'an ingress thread ended unexpectedly');
      process.exit(1);
    });
  });
  return withDeadline('the start of an ingress thread', limits.supervision.startMs, started, systemClock);
}

function send(thread: Thread, message: ToThread): void {
  thread.worker.postMessage(message);
}

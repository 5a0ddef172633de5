// The threads of the actors: one Piscina pool, one endless task per thread, the carriers distributed over them. A
// thread that dies (a bug, out of memory) takes only its own carriers with it; the restart policy says when they
// restart in a new thread. Drain is a message; abort is the hard kill.
import { MessageChannel, type MessagePort } from 'node:worker_threads';
import { Piscina } from 'piscina';
import type { CarrierConfig } from '../../config/configuration.ts';
import type { MetricObject } from '../../platform/metric-registry.ts';
import { systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { MetricsRequests } from '../../platform/message-link.ts';
import { systemRandom } from '../../platform/random.ts';
import { freshRestartBudget, restartPolicy } from '../../platform/restart-policy.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { RegistryVersionEvent } from '../../directory/registry/contract.ts';
import type { CarrierStatus } from '../contract.ts';
import type { FromHost, HostCarriers, HostSettings, HostTask, ToHost } from './host-messages.ts';

export type HostPoolOptions = HostCarriers &
  HostSettings & {
    /** What a new thread gets; called at each start of one. */
    readonly registries: () => readonly RegistryVersionEvent[];
    /** The maximum of threads; never more than there are carriers. */
    readonly threads: number;
    /** Heap limit of one thread, MB; a thread that reaches it is ended and restarted. */
    readonly threadMemoryMb?: number;
  };

type Host = {
  readonly name: string;
  carriers: readonly CarrierConfig[];
  port: MessagePort | null;
  abort: AbortController;
  ended: Promise<void>;
  ready: boolean;
  status: readonly CarrierStatus[];
};

const threadMemoryMbDefault = 1_024;
/** A thread that fails at each start is restarted more often than a role: no other one serves its carriers. */
const restartFailedEveryMs = 10_000;
const askTimeoutMs = 1_000;

export class HostPool {
  readonly #options: HostPoolOptions;
  readonly #pool: Piscina;
  readonly #hosts: Host[];
  readonly #requests = new MetricsRequests();
  /** The current configuration; `#hosts` has which thread serves which carrier. */
  #rules: Omit<HostCarriers, 'carriers'>;
  #stopping = false;

  constructor(options: HostPoolOptions) {
    this.#options = options;
    const { moves, country, content } = options;
    this.#rules = { moves, country, content };
    const shares = assignHosts(options.carriers, options.threads);
    this.#pool = new Piscina({
      filename: new URL('./host.ts', import.meta.url).href,
      minThreads: 0,
      maxThreads: shares.length,
      idleTimeout: 0,
      // A task waits only while a dead thread is being replaced.
      maxQueue: shares.length,
      // The default blocks an idle worker with Atomics.wait; a host must never block.
      atomics: 'disabled',
      resourceLimits: { maxOldGenerationSizeMb: options.threadMemoryMb ?? threadMemoryMbDefault },
    });
    this.#hosts = shares.map((carriers, index) => ({
      name: `actors-${index + 1}`,
      carriers,
      port: null,
      abort: new AbortController(),
      ended: Promise.resolve(),
      ready: false,
      status: [],
    }));
  }

  /** Resolves when every host has replayed and accepts work. */
  async start(): Promise<void> {
    const started = this.#hosts.map((host) => {
      const { promise, resolve, reject } = Promise.withResolvers<void>();
      host.ended = this.#keepRunning(host, resolve, reject);
      return promise;
    });
    await Promise.all(started);
  }

  get status(): readonly CarrierStatus[] {
    return this.#hosts.flatMap((host) => host.status);
  }

  get hostsDown(): readonly string[] {
    return this.#hosts.filter((host) => !host.ready).map((host) => host.name);
  }

  /** The metrics of all threads; a thread that does not answer in time is left out. */
  async metrics(): Promise<MetricObject[][]> {
    const asked = this.#hosts.flatMap(({ name, port }) =>
      port === null ? [] : [this.#requests.ask(name, askTimeoutMs, (message) => port.postMessage(message))],
    );
    return (await Promise.all(asked)).filter((answer) => answer !== null);
  }

  /** Gives every thread its carriers as they are now; new carriers go to the thread with the least contracted rate. */
  configure({ carriers, ...rules }: HostCarriers): void {
    this.#rules = rules;
    for (const host of this.#hosts) {
      host.carriers = host.carriers.map((own) => carriers.find(({ name }) => name === own.name) ?? own);
    }
    for (const carrier of carriers) {
      if (this.#hosts.some((host) => host.carriers.some(({ name }) => name === carrier.name))) continue;
      const [lightest] = [...this.#hosts].sort((one, other) => rateOf(one.carriers) - rateOf(other.carriers));
      if (lightest !== undefined) lightest.carriers = [...lightest.carriers, carrier];
    }
    for (const host of this.#hosts) {
      const given = { ...rules, carriers: host.carriers, configured: this.#configured };
      host.port?.postMessage({ type: 'configure', ...given } satisfies ToHost);
    }
  }

  get #configured(): readonly string[] {
    return this.#hosts.flatMap((host) => host.carriers.map(({ name }) => name));
  }

  /** A registry version is complete: every thread uses it from now on. */
  registry(registryUpdate: RegistryVersionEvent): void {
    for (const host of this.#hosts) host.port?.postMessage({ type: 'registry', registryUpdate } satisfies ToHost);
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#stopping = true;
    for (const host of this.#hosts) host.port?.postMessage({ type: 'drain', deadlineMs } satisfies ToHost);
    const all = Promise.all(this.#hosts.map((host) => host.ended));
    await withDeadline('drain of the carriers', deadlineMs, all).catch((error: unknown) => {
      log.error({ error: messageOf(error) }, 'carriers did not drain in time, their threads are ended');
      for (const host of this.#hosts) host.abort.abort();
    });
    await this.#pool.destroy();
  }

  async #keepRunning(host: Host, onReady: () => void, onFirstFailure: (error: unknown) => void): Promise<void> {
    let everReady = false;
    let budget = freshRestartBudget(systemClock.monotonicMs());
    while (!this.#stopping) {
      try {
        await this.#runOnce(host, () => {
          everReady = true;
          onReady();
        });
      } catch (error) {
        if (this.#stopping) return;
        log.error({ host: host.name, error: messageOf(error) }, 'an actor thread died, its carriers are started again');
        if (!everReady) return onFirstFailure(error);
      }
      if (this.#stopping) return;
      metrics.actorThreadRestarts.inc();
      const decision = restartPolicy(budget, systemClock.monotonicMs(), systemRandom, restartFailedEveryMs);
      budget = decision.budget;
      await systemClock.sleep(decision.delayMs);
    }
  }

  async #runOnce(host: Host, onReady: () => void): Promise<void> {
    const { port1: ours, port2: theirs } = new MessageChannel();
    const { simulated, natsUrl, bodyKeys, flightDumps, accountQueueMax, shared } = this.#options;
    host.port = ours;
    host.abort = new AbortController();
    ours.on('message', (message: FromHost) => {
      if (message.type === 'ready') {
        host.ready = true;
        onReady();
      }
      if (message.type === 'status') host.status = message.carriers;
      if (message.type === 'metrics') this.#requests.take(message);
    });
    const { name, carriers } = host;
    const task: HostTask = {
      ...this.#rules,
      ...{ name, carriers, configured: this.#configured, registries: this.#options.registries(), port: theirs },
      ...{ simulated, natsUrl, bodyKeys, shared, accountQueueMax, flightDumps },
    };
    try {
      await this.#pool.run(task, { transferList: [theirs], signal: host.abort.signal });
    } finally {
      host.ready = false;
      host.port = null;
      ours.close();
    }
  }
}

/** Distributes the carriers, the fastest first, each to the thread with the least contracted rate. */
export function assignHosts(carriers: readonly CarrierConfig[], threads: number): CarrierConfig[][] {
  const shares: CarrierConfig[][] = Array.from({ length: Math.min(threads, carriers.length) }, () => []);
  for (const carrier of [...carriers].sort((one, other) => other.tps - one.tps)) {
    const [lightest] = [...shares].sort((one, other) => rateOf(one) - rateOf(other));
    lightest?.push(carrier);
  }
  return shares;
}

function rateOf(share: readonly CarrierConfig[]): number {
  return share.reduce((sum, each) => sum + each.tps, 0);
}

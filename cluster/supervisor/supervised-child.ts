// Keeps one child running: starts it, waits for its readiness, restarts it after a crash as the restart policy says,
// reports it when it runs and does not answer, and drains it at the end. It knows nothing of other children; the tree
// orders them.
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { DeadlineExceeded } from '../../platform/deadline.ts';
import { assert } from '../../platform/assert.ts';
import { SetupError, ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { systemRandom } from '../../platform/random.ts';
import { freshRestartBudget, restartPolicy } from '../../platform/restart-policy.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Configuration } from '../../config/configuration.ts';
import type { MetricObject, Health } from './messages.ts';
import type { ServerProcess } from '../embedded/server-process.ts';

export type ChildSpec = {
  name: string;
  /** Children that must have been ready before its first start. */
  after: readonly string[];
  startWithinMs: number;
  /** Read when it is stopped: the configuration may have changed since its start. */
  readonly stopWithinMs: number;
  /** The lowest rank drains first; children of one rank drain together. */
  stopRank: number;
  /** Looks without a heartbeat: reported as hung, and ended and restarted (null: it is left to itself, or to its own watch). */
  readonly hung: { readonly reportLooks: number; readonly restartLooks: number | null };
  /** Starts no further process, and rejects, once `halted` is aborted. */
  start(halted: AbortSignal): Promise<ManagedProcess>;
};

/** One run of a child: a role or an embedded server. */
export type ManagedProcess = ServerProcess & {
  /** Settles once per run. Rejects when it ended first, failed, or was not ready in time. */
  ready(limitMs: number): Promise<Record<string, unknown>>;
  health(): Health;
  /** How often it has shown that it works since its start; from its readiness on. */
  heartbeats(): number;
  metrics(): Promise<MetricObject[][]>;
  configure(configuration: Configuration): void;
};

/** `hung`: it was ready, and its process runs and does not answer. */
type ChildState = 'waiting' | 'starting' | 'ready' | 'hung' | 'restarting' | 'failed' | 'stopping' | 'stopped';

export type ChildStatus = {
  name: string;
  state: ChildState;
  ready: boolean;
  detail: string;
  pid: number | null;
  restarts: number;
};

const edges: Record<ChildState, readonly ChildState[]> = {
  waiting: ['starting', 'stopped'],
  starting: ['ready', 'restarting', 'failed', 'stopping', 'stopped'],
  ready: ['hung', 'restarting', 'failed', 'stopping', 'stopped'],
  hung: ['ready', 'restarting', 'failed', 'stopping', 'stopped'],
  restarting: ['starting', 'stopped'],
  failed: ['starting', 'stopped'],
  stopping: ['stopped'],
  stopped: [],
};

export class SupervisedChild {
  readonly spec: ChildSpec;
  readonly #first = Promise.withResolvers<Record<string, unknown>>();
  /** The facts of its first ready message; rejects when a person must fix something first. */
  readonly firstReady = this.#first.promise;
  #state: ChildState = 'waiting';
  #why = '';
  #restarts = 0;
  #process: ManagedProcess | null = null;
  /** It is being stopped. */
  #halt = new AbortController();
  /** It starts no process any more; its present one goes on until it is stopped. */
  #noStart = new AbortController();
  #life: Promise<void> = Promise.resolve();
  #hasBeenReady = false;
  /** A person must change something before the first start: a retry would fail the same way. */
  #mustBeFixed = false;
  #onFailed: (why: string) => void = () => {};
  readonly #clock: Clock;
  /** Looks since the last heartbeat of its present run. */
  #silentLooks = 0;
  /** An alarm was raised, and its end has not been logged. */
  #alarmed = false;

  constructor(spec: ChildSpec, clock: Clock = systemClock) {
    this.spec = spec;
    this.#clock = clock;
    // The tree awaits it; without this, a child stopped before would cause an unhandled rejection.
    this.firstReady.catch((error) => ignoring(error, 'reported by the tree'));
    metrics.childUp.set({ child: spec.name }, 0);
    metrics.childRestarts.inc({ child: spec.name }, 0);
  }

  /** `onFailed` runs whenever the restart budget is spent; the child is still retried from time to time. */
  start(onFailed: (why: string) => void = () => {}): void {
    this.#onFailed = onFailed;
    this.#life = this.#live();
  }

  get status(): ChildStatus {
    const health = this.#state === 'ready' ? this.#process?.health() : undefined;
    return {
      name: this.spec.name,
      state: this.#state,
      ready: this.#state === 'ready' && (health?.ok ?? true),
      detail: this.#state === 'hung' ? this.#silence : (health?.detail ?? this.#why),
      pid: this.#process?.pid ?? null,
      restarts: this.#restarts,
    };
  }

  /** Before the first `stop()` of any child. One that has been ready is still restarted: those that drain may need it. */
  startNoMore(): void {
    if (!this.#hasBeenReady) this.#noStart.abort(new Error('the supervisor stops'));
  }

  /** Drains it and resolves when it has ended. Safe in every state, also twice. */
  async stop(): Promise<void> {
    if (!this.#halt.signal.aborted) {
      this.#halt.abort(new Error('the supervisor stops'));
      this.#noStart.abort(new Error('the supervisor stops'));
      if (this.#process !== null) {
        this.#become('stopping', 'on request');
        await this.#process.stop(this.spec.stopWithinMs);
      }
    }
    await this.#life;
    if (this.#state !== 'stopped') this.#become('stopped', 'on request');
  }

  kill(): void {
    this.#halt.abort(new Error('the supervisor ends at once'));
    this.#noStart.abort(new Error('the supervisor ends at once'));
    this.#process?.kill();
  }

  /** A child that is starting has the new configuration, or gets it at its next start. */
  configure(configuration: Configuration): void {
    this.#process?.configure(configuration);
  }

  async metrics(): Promise<MetricObject[][]> {
    return this.#state === 'ready' && this.#process !== null ? this.#process.metrics() : [];
  }

  async #live(): Promise<void> {
    let budget = freshRestartBudget(this.#clock.monotonicMs());
    const halted = this.#noStart.signal;
    while (!halted.aborted) {
      this.#become('starting', this.#restarts === 0 ? 'first start' : this.#why);
      const why = await this.#oneLife();
      if (halted.aborted) break;
      if (this.#mustBeFixed) {
        this.#become('failed', why);
        return;
      }
      const decision = restartPolicy(budget, this.#clock.monotonicMs(), systemRandom);
      budget = decision.budget;
      this.#restarts += 1;
      metrics.childRestarts.inc({ child: this.spec.name });
      const facts = { child: this.spec.name, why, restarts: this.#restarts, inMs: decision.delayMs };
      if (decision.failed) {
        this.#alarmed = true;
        log.error({ ...facts, alarm: 'child_failed' }, 'restart budget spent');
        this.#onFailed(why);
      } else {
        log.warn(facts, 'restart');
      }
      this.#become(decision.failed ? 'failed' : 'restarting', why);
      await this.#clock.sleep(decision.delayMs, halted).catch((error) => ignoring(error, 'stopped while waiting'));
    }
  }

  /** Runs until the process has ended. Returns why it ended. */
  async #oneLife(): Promise<string> {
    let failure: string | null = null;
    let stopLooking: Cancel = () => {};
    this.#silentLooks = 0;
    try {
      const child = await this.spec.start(this.#noStart.signal);
      this.#process = child;
      // Stopped during its start.
      if (this.#halt.signal.aborted) void child.stop(this.spec.stopWithinMs);
      const readyFacts = await child.ready(this.spec.startWithinMs);
      if (!this.#halt.signal.aborted) {
        this.#become('ready', '');
        this.#hasBeenReady = true;
        this.#first.resolve(readyFacts);
        stopLooking = this.#watch(child);
      }
    } catch (error) {
      failure = messageOf(error);
      if (error instanceof SetupError && !this.#hasBeenReady) {
        this.#mustBeFixed = true;
        this.#first.reject(error);
      }
      if (error instanceof DeadlineExceeded) log.error({ child: this.spec.name }, 'not ready in time, killed');
      this.#process?.kill();
    }
    if (this.#process === null) return failure ?? '';
    const exit = await this.#process.exited;
    stopLooking();
    this.#process = null;
    metrics.childUp.set({ child: this.spec.name }, 0);
    if (failure !== null) return failure;
    if (this.#state === 'hung') return `hung: ${this.#silence}`;
    return exit.signal === null ? `exit code ${exit.code}` : `ended by ${exit.signal}`;
  }

  /** Looks as often as heartbeats come, and counts looks: a supervisor that stood still itself has missed none. */
  #watch(child: ManagedProcess): Cancel {
    const { reportLooks, restartLooks } = this.spec.hung;
    let counted = child.heartbeats();
    return this.#clock.every(limits.supervision.healthEveryMs, () => {
      if (this.#state !== 'ready' && this.#state !== 'hung') return;
      const heartbeats = child.heartbeats();
      this.#silentLooks = heartbeats === counted ? this.#silentLooks + 1 : 0;
      counted = heartbeats;
      const facts = { child: this.spec.name, childPid: child.pid };
      if (this.#state === 'hung' && this.#silentLooks === 0) this.#become('ready', '');
      if (this.#state === 'ready' && this.#silentLooks >= reportLooks) {
        this.#become('hung', this.#silence);
        this.#alarmed = true;
        log.error({ ...facts, alarm: 'child_hung', seconds: this.#silentLooks }, 'a process runs and does not answer');
      }
      if (this.#silentLooks !== restartLooks) return;
      log.error({ ...facts, seconds: this.#silentLooks }, 'a process still does not answer: it is ended and restarted');
      child.kill();
    });
  }

  get #silence(): string {
    return `it runs and has not answered for ${Math.round((this.#silentLooks * limits.supervision.healthEveryMs) / 1_000)} s`;
  }

  #become(next: ChildState, why: string): void {
    assert(edges[this.#state].includes(next), `${this.spec.name} cannot go from ${this.#state} to ${next}`);
    this.#state = next;
    this.#why = why;
    metrics.childUp.set({ child: this.spec.name }, next === 'ready' ? 1 : 0);
    log.info({ child: this.spec.name, state: next, why }, 'child');
    if (next !== 'ready' || !this.#alarmed) return;
    this.#alarmed = false;
    // The end of an alarm is logged at a level that is shown wherever the alarm was.
    log.warn({ child: this.spec.name }, 'the process answers again');
  }
}

// Keeps one bind open: opens a session, and another one when it ended, until rest() or close(). It backs off with full
// jitter, waits for the ghost session of a crashed process to expire, and stops after a refusal of the credentials,
// because a carrier locks out clients that retry. It never touches messages: the owner gets the outstanding tokens.
import type { Cancel } from '../platform/clock.ts';
import { limits } from '../platform/limits.ts';
import { jitteredBackoffMs, type Random, systemRandom } from '../platform/random.ts';
import { commandStatus, nameOfStatus } from '../model/command-status.ts';
import type { ReconnectBudget } from './reconnect-budget.ts';
import { openSession, type Session } from './session.ts';
import type { CloseCause, SessionHandlers, SessionOptions } from './session-contract.ts';

/** resting: no session is wanted now. */
export type KeeperState = 'connecting' | 'bound' | 'waiting' | 'stopped' | 'resting' | 'closed';

export type KeeperOptions = SessionOptions & {
  random?: Random;
  /** Shared by all binds of a process, so that 200 of them do not reconnect at once. */
  budget?: ReconnectBudget;
  ghostSessionMs?: number;
  /** Starts in the state resting: wake() opens the first session. */
  resting?: boolean;
  stableMs?: number;
  /** Replaces openSession in tests. */
  open?: typeof openSession;
};

export type KeeperHandlers<T> = SessionHandlers<T> & {
  /** The carrier refused the credentials: an operator must act (alarm). No further attempt until retry(). */
  onStopped(reason: string): void;
  /** The next attempt starts after `delayMs`; `attempt` counts from 1 since the last stable session. */
  onRetry?(attempt: number, delayMs: number, cause: CloseCause): void;
};

export class BindKeeper<T> {
  readonly #options: KeeperOptions;
  readonly #handlers: KeeperHandlers<T>;
  #state: KeeperState = 'waiting';
  #session: Session<T> | undefined;
  #attempt = 0;
  #boundAtMs = 0;
  #nextTryAtMs = 0;
  #cancelWait: Cancel | undefined;

  constructor(options: KeeperOptions, handlers: KeeperHandlers<T>) {
    this.#options = options;
    this.#handlers = handlers;
    if (options.resting === true) this.#state = 'resting';
    else this.#wait(0);
  }

  get state(): KeeperState {
    return this.#state;
  }

  /** Milliseconds until the next attempt; null when none is scheduled. */
  get nextTryInMs(): number | null {
    if (this.#state !== 'waiting' || this.#session !== undefined) return null;
    return Math.max(0, this.#nextTryAtMs - this.#options.clock.monotonicMs());
  }

  /** To send over; undefined while there is none. */
  get session(): Pick<Session<T>, 'submit' | 'query' | 'cancel' | 'windowFree' | 'windowUsed'> | undefined {
    return this.#session;
  }

  get #isUnwanted(): boolean {
    return this.#state === 'closed' || this.#state === 'resting';
  }

  /** An operator changed something: tries at once, after `stopped` and instead of the rest of a wait. */
  retry(): void {
    if (this.#state !== 'stopped' && (this.#state !== 'waiting' || this.#session !== undefined)) return;
    this.#cancelWait?.();
    this.#attempt = 0;
    this.#wait(0);
  }

  /** Ends the session, as close() does, and opens none until wake(). */
  async rest(why: string, drainMs: number): Promise<void> {
    if (this.#isUnwanted) return;
    this.#state = 'resting';
    this.#cancelWait?.();
    await this.#session?.close(why, drainMs);
  }

  /** As rest(), but at once, without unbind and without sending what is buffered. */
  cut(why: string): void {
    if (this.#state === 'closed') return;
    this.#state = 'resting';
    this.#cancelWait?.();
    this.#session?.cut(why);
  }

  /** Ends rest(): a session is wanted again. One that is still closing closes first. */
  wake(): void {
    if (this.#state !== 'resting') return;
    this.#attempt = 0;
    this.#state = 'waiting';
    if (this.#session === undefined) this.#wait(0);
  }

  /** Ends the session for good. Resolves when it is closed. */
  async close(why: string, drainMs: number): Promise<void> {
    this.#state = 'closed';
    this.#cancelWait?.();
    await this.#session?.close(why, drainMs);
  }

  #wait(delayMs: number): void {
    this.#state = 'waiting';
    this.#nextTryAtMs = this.#options.clock.monotonicMs() + delayMs;
    this.#cancelWait = this.#options.clock.after(delayMs, () => this.#takeTurn());
  }

  // Reserves its slot only when the wait is over: a long wait must not reserve a slot before others.
  #takeTurn(): void {
    const { budget, clock } = this.#options;
    const nowMs = clock.monotonicMs();
    const turnMs = budget ? budget.reserve(nowMs) : nowMs;
    if (turnMs <= nowMs) return this.#open();
    this.#cancelWait = clock.after(turnMs - nowMs, () => {
      // A stalled event loop fires the timers of many slots at once: one whose slot is long over reserves again.
      if (clock.monotonicMs() - turnMs > limits.smpp.lateTurnMsMax) return this.#takeTurn();
      this.#open();
    });
  }

  #open(): void {
    this.#state = 'connecting';
    const { open = openSession, clock } = this.#options;
    this.#session = open<T>(this.#options, {
      ...this.#handlers,
      onBound: () => {
        if (this.#state === 'connecting') this.#state = 'bound';
        this.#boundAtMs = clock.monotonicMs();
        this.#handlers.onBound();
      },
      onClosed: (cause, outstanding) => this.#onClosed(cause, outstanding),
    });
  }

  #onClosed(cause: CloseCause, outstanding: T[]): void {
    const wasBound = this.#state === 'bound';
    this.#session = undefined;
    const wanted = !this.#isUnwanted;
    if (wanted) this.#state = 'waiting';
    this.#handlers.onClosed(cause, outstanding);
    // The owner may have closed the keeper in its handler.
    if (!wanted || this.#isUnwanted) return;
    if (cause.kind === 'bind_refused' && credentialErrors.has(cause.status)) {
      this.#state = 'stopped';
      return this.#handlers.onStopped(`the carrier refused the bind: ${nameOfStatus(cause.status)}`);
    }
    const { clock, stableMs = limits.smpp.stableMs } = this.#options;
    if (wasBound && clock.monotonicMs() - this.#boundAtMs >= stableMs) this.#attempt = 0;
    this.#attempt += 1;
    const delayMs = this.#delayMs(cause, wasBound);
    this.#handlers.onRetry?.(this.#attempt, delayMs, cause);
    this.#wait(delayMs);
  }

  #delayMs(cause: CloseCause, wasBound: boolean): number {
    const { random = systemRandom, ghostSessionMs = limits.smpp.ghostSessionMs } = this.#options;
    if (cause.kind === 'bind_refused' && cause.status === commandStatus.ESME_RALYBND) {
      return ghostSessionMs + Math.floor((random.unit() * ghostSessionMs) / 4);
    }
    const { reconnectBaseMs, reconnectCapMs, reconnectQuickMs } = limits.smpp;
    if (this.#attempt === 1 && wasBound) return Math.floor(random.unit() * reconnectQuickMs);
    return jitteredBackoffMs(this.#attempt - 1, reconnectBaseMs, reconnectCapMs, random);
  }
}

const credentialErrors: ReadonlySet<number> = new Set([
  commandStatus.ESME_RINVPASWD,
  commandStatus.ESME_RINVSYSID,
  commandStatus.ESME_RBINDFAIL,
]);

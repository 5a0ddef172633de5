// A request as a list of steps that reads downward. A step refuses (a Problem), ends the request because it answered it,
// waits and goes on later, or goes on. Between steps nothing is allocated and no turn of the event loop passes, so all
// steps up to one that waits see the body's memory, which uWebSockets.js takes back when the turn ends.
import { assert } from '../../platform/assert.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Problem } from '../problem.ts';
import type { Exchange, Guard } from './exchange.ts';

/** null: the next step · 'answered': there is none · 'waits': the step calls `proceed` when it can go on. */
export type StepResult = Problem | null | 'answered' | 'waits';
export type Step<R> = (request: R) => StepResult | Promise<StepResult>;

/**
 * ```ts
 * const steps: readonly Step<Ping>[] = [authenticate, answerPong];
 * class Ping extends SteppedRequest { readonly steps = steps; … }
 * new Ping(exchange, parts).proceed();
 * ```
 */
export abstract class SteppedRequest {
  /** Of its own class. `Step<this>` would keep a step that several classes share out of their lists. */
  abstract readonly steps: readonly Step<never>[];
  abstract readonly parts: { readonly guard: Guard };
  readonly exchange: Exchange;
  #next = 0;

  constructor(exchange: Exchange) {
    this.exchange = exchange;
  }

  /** Runs the steps from where the request is. What one throws is answered by the guard. */
  proceed(): void {
    this.parts.guard(this.exchange, () => this.#run());
  }

  refuse(problem: Problem): void {
    refuseWith(this.exchange, problem);
  }

  #run(): void | Promise<void> {
    for (;;) {
      const step = this.steps[this.#next] as Step<this> | undefined;
      if (step === undefined) return;
      this.#next += 1;
      const result = step(this);
      if (result instanceof Promise) return this.#runAfter(result);
      if (this.#isOver(result)) return;
    }
  }

  async #runAfter(waiting: Promise<StepResult>): Promise<void> {
    if (!this.#isOver(await waiting)) await this.#run();
  }

  #isOver(result: StepResult): boolean {
    if (result === null) return false;
    if (typeof result !== 'string') this.refuse(result);
    return true;
  }
}

/** For a step that needs what an earlier one found out. */
export function found<T>(value: T | null): T {
  assert(value !== null, 'a step runs after those that it needs');
  return value;
}

export function refuseWith(exchange: Exchange, refusal: Problem): void {
  metrics.refused.inc({ code: refusal.code });
  exchange.refuse(refusal);
}

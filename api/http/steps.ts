// A request as a list of steps, run from top to bottom. A step goes on, refuses (a Problem), ends the request because
// it has answered it, or waits and continues later. Between steps nothing is allocated and no turn of the event loop
// passes, so all steps up to a waiting one can read the body, whose memory uWebSockets.js frees when the turn ends.
import { assert } from '../../platform/assert.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Problem } from '../problem.ts';
import type { Exchange, Guard } from './exchange.ts';

/** null: go on · 'answered': the request is over · 'waits': the step calls `proceed` to go on. */
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
  /** `Step<this>` would exclude steps that several classes share. */
  abstract readonly steps: readonly Step<never>[];
  abstract readonly parts: { readonly guard: Guard };
  readonly exchange: Exchange;
  #next = 0;

  constructor(exchange: Exchange) {
    this.exchange = exchange;
  }

  /** Runs the remaining steps. The guard answers what a step throws. */
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

/** The value that an earlier step has set. */
export function found<T>(value: T | null): T {
  assert(value !== null, 'a step runs after the steps it depends on');
  return value;
}

export function refuseWith(exchange: Exchange, refusal: Problem): void {
  metrics.refused.inc({ code: refusal.code });
  exchange.refuse(refusal);
}

// Forwards events of test messages to a URL on the developer's machine, signed as a webhook is. Several at once, so that
// a receiver that hangs, or waits in a debugger, holds up only what it has; those of one message one after another.
// Nothing is tried again: what the URL answers is what the developer wants to see.
import { signedHeaders, signingKeys } from '../actors/webhook/send/signature.ts';
import { systemClock } from '../platform/clock.ts';
import { messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';

export type HeardEvent = {
  readonly id: string;
  readonly type: string;
  readonly timestamp: string;
  readonly data: Readonly<Record<string, unknown>>;
};

/** What the URL answered, and how fast; null for `status`: it did not. */
export type Answer = { readonly status: number | null; readonly error: string | null; readonly latency_ms: number };

type Parts = {
  readonly target: URL;
  readonly secret: string;
  /** It has waited for its answer for a second. */
  readonly waits: (event: HeardEvent) => void;
  readonly answered: (event: HeardEvent, answer: Answer) => void;
};

const { totalMs, concurrencyMax } = limits.delivery;
const promptMs = 1_000;

export class EventForwarder {
  readonly #parts: Parts;
  readonly #inFlight = new Set<Promise<void>>();
  /** The last request of each message that has one in flight. */
  readonly #lastOf = new Map<unknown, Promise<void>>();

  constructor(parts: Parts) {
    this.#parts = parts;
  }

  /** Whether as many events wait for an answer as may be in flight at once. */
  get isFull(): boolean {
    return this.#inFlight.size >= concurrencyMax;
  }

  get isIdle(): boolean {
    return this.#inFlight.size === 0;
  }

  /** Resolves when there is room for one more. */
  async room(): Promise<void> {
    while (this.isFull) await Promise.race(this.#inFlight);
  }

  /** Calls `answered` once, also when there is no answer. */
  forward(event: HeardEvent): void {
    const of = event.data['id'] ?? event.id;
    const before = this.#lastOf.get(of) ?? Promise.resolve();
    const cancel = systemClock.after(promptMs, () => this.#parts.waits(event));
    const request = before
      .then(() => this.#post(event))
      .then((answer) => {
        cancel();
        this.#inFlight.delete(request);
        if (this.#lastOf.get(of) === request) this.#lastOf.delete(of);
        this.#parts.answered(event, answer);
      });
    this.#inFlight.add(request);
    this.#lastOf.set(of, request);
  }

  async #post({ id, type, timestamp, data }: HeardEvent): Promise<Answer> {
    const body = JSON.stringify({ type, timestamp, data });
    const beganMs = systemClock.monotonicMs();
    const answered = (status: number | null, error: string | null): Answer => {
      return { status, error, latency_ms: Math.round(systemClock.monotonicMs() - beganMs) };
    };
    try {
      const signed = signedHeaders(
        id,
        Math.floor(systemClock.nowMs() / 1_000),
        body,
        signingKeys([this.#parts.secret]),
      );
      const response = await fetch(this.#parts.target, {
        method: 'POST',
        body,
        headers: { 'content-type': 'application/json', 'user-agent': 'Heliograph listen', ...signed },
        // As with webhooks.
        redirect: 'manual',
        signal: AbortSignal.timeout(totalMs),
      });
      await response.body?.cancel();
      return answered(response.status, null);
    } catch (error) {
      return answered(null, whyNoAnswer(error, totalMs));
    }
  }
}

/** `withinMs`: the deadline that the request had. fetch hides the reason of everything else in the cause. */
export function whyNoAnswer(error: unknown, withinMs: number): string {
  const { name, cause } = error as { readonly name?: unknown; readonly cause?: unknown };
  return name === 'TimeoutError' ? `no answer in ${withinMs / 1_000} s` : messageOf(cause ?? error);
}

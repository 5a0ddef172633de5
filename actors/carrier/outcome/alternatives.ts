// Chooses the other carrier of its plan that a message could go to. failover/reroute.ts moves it.
import type { Message } from '../../../model/message.ts';
import { limits } from '../../../platform/limits.ts';
import type { CarrierHealthView } from '../../../policy/contract.ts';
import { isAvoided } from '../../../policy/routing/avoid.ts';

export type AlternativesParts = {
  readonly carrier: string;
  readonly carriers: Pick<CarrierHealthView, 'stateOf'>;
  /** Without it every carrier of a plan is still configured. */
  readonly isConfigured?: ((carrier: string) => boolean) | undefined;
  /** Without it this carrier is configured, and the message's own plan counts. */
  readonly candidatesOfRemoved?: ((message: Message) => readonly string[]) | undefined;
};

/** `good`: it may go there now · `avoided`: only when there is no other. */
export type Alternative = { readonly to: string; readonly how: 'good' | 'avoided' };

export class Alternatives {
  readonly #parts: AlternativesParts;

  constructor(parts: AlternativesParts) {
    this.#parts = parts;
  }

  /** Null: this carrier is the last. Good carriers come first, in the plan's order. */
  best(message: Message): Alternative | null {
    const { carrier, carriers } = this.#parts;
    if (message.hop + 1 >= limits.reroute.hopsMax) return null;
    const [best] = this.#parts.candidatesOfRemoved?.(message) ?? [];
    // A removed carrier cannot send it: any other carrier is better.
    if (best !== undefined) return { to: best, how: 'good' };
    let second: string | null = null;
    for (const to of message.plan) {
      if (to === carrier || this.#parts.isConfigured?.(to) === false) continue;
      if (!isAvoided(carriers.stateOf(to), message.category)) return { to, how: 'good' };
      if (second === null || (carriers.stateOf(second) === 'down' && carriers.stateOf(to) === 'weak')) second = to;
    }
    return second === null ? null : { to: second, how: 'avoided' };
  }
}

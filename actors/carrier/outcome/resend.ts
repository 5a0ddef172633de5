// Sends a message once more when nobody knows whether its carrier took it and its account's policy asks for that. The
// decision is an event (`resent`), durable before the message goes back to its lane; the mark it leaves travels with
// the message over waits, restarts and other carriers, so that there is never a third copy. What tells meanwhile that
// the first did arrive, a late answer or a receipt, calls the second off. It never writes a PDU.
import type { DeliveryEvent, EventKind, Happening } from '../../../model/delivery-event.ts';
import type { Message } from '../../../model/message.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { type HeldMessage, allTakenBits } from '../intake/held-message.ts';
import { segmentToldOf } from '../submit/submit-pdu.ts';

/** Whether an account wants messages of this category sent once more when their outcome is unknown. */
export type ResendPolicy = (message: Pick<Message, 'accountId' | 'category'>) => boolean;

export const neverResend: ResendPolicy = () => false;

export type ResendParts = {
  readonly carrier: string;
  readonly clock: Clock;
  readonly policy: ResendPolicy;
  /** Writes an event of the message; its ack waits for it. */
  readonly write: (held: HeldMessage, happening: Happening) => DeliveryEvent;
  /** A late receipt may still tell what became of this segment. */
  readonly onUnknown: (resent: DeliveryEvent) => void;
  readonly tryAgain: (held: HeldMessage) => void;
  /** Back to its lane after a wait. */
  readonly rest: (held: HeldMessage, afterMs: number) => void;
  /** Acks the record when nothing of it is on its way any more. */
  readonly finish: (held: HeldMessage) => void;
};

export class Resend {
  readonly #parts: ResendParts;

  constructor(parts: ResendParts) {
    this.#parts = parts;
  }

  /**
   * A segment was submitted and its outcome is unknown: true when it is sent again. Of a long message only what the
   * carrier has not taken goes again, under the same reference: the phone puts the parts together, or knows a copy.
   */
  take(held: HeldMessage, segment: number, attempt: number, why: string): boolean {
    const { carrier, clock, policy, write, onUnknown } = this.#parts;
    const nowMs = clock.nowMs();
    if (held.stage !== 'resending') {
      if (held.stage === 'settling' || held.message.resends > 0) return false;
      if (nowMs >= held.message.validUntilMs || !policy(held.message)) return false;
      held.message = { ...held.message, resends: 1 };
      held.stage = 'resending';
      held.leaving = null;
      held.closing = null;
      metrics.resentByPolicy.inc({ carrier, category: held.category });
    }
    const error = `resent_by_policy:${why}`;
    const told = segment === 0 ? 0 : segmentToldOf(held.message, held.pdus, segment);
    onUnknown(write(held, { kind: 'resent', segment: told, attempt, error, atMs: nowMs }));
    return true;
  }

  /** Back to its lane, as soon as the decision is durable and every other segment of it was answered. */
  goOn(held: HeldMessage): void {
    const { rest, tryAgain } = this.#parts;
    if (held.stage !== 'resending' || held.outstanding > 0 || held.eventsInFlight > 0) return;
    if (held.category === 'otp') tryAgain(held);
    else rest(held, limits.carrier.resendWaitMs);
  }

  /**
   * The carrier did take this segment (0: all of it). `ends`: it also told that the message has failed. Returns what
   * to call when the event that says so is durable.
   */
  arrived(held: HeldMessage | undefined, segment: number, ends = false): () => void {
    if (held === undefined || held.message.resends === 0 || !waiting.has(held.stage)) return () => {};
    const all = allTakenBits(Math.max(1, held.pdus.length));
    held.takenBits |= segment === 0 ? all : 1 << segment;
    held.eventsInFlight += 1;
    if (ends || held.takenBits === all) held.stage = 'settling';
    return () => {
      held.eventsInFlight -= 1;
      this.#parts.finish(held);
    };
  }
}

/** The second copy is decided and not chosen: nothing of it can be on the wire. */
const waiting: ReadonlySet<HeldMessage['stage']> = new Set(['resending', 'resting', 'lane']);

/**
 * How a message ends that goes out no more. When a copy of it may be at a carrier, only that copy's receipt knows: so
 * it is `unknown`, which a receipt may still settle, with what kept the second copy from going.
 */
export function endOf(message: Message, kind: EventKind, error: string): { kind: EventKind; error: string } {
  return message.resends === 0 ? { kind, error } : { kind: 'unknown', error: `not_resent:${error}` };
}

// Takes back the copy of a hedged one-time password that is not needed any more, because the other one is delivered: by a
// cancel_sm (SMPP 3.4, 4.9) where the carrier supports it, and not at all when it was not sent yet. The carriers' actors
// notify each other over core NATS. Nothing depends on it: a lost message, a refusal and a full window cost a second
// SMS.
import type { CopyDelivered } from '../../../cluster/bus/copies-delivered.ts';
import { copyNotNeeded } from '../../../model/copies.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import type { Message } from '../../../model/message.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { RotatingMap } from '../../../platform/rotating-map.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { LateGates } from '../../../policy/late/late-gates.ts';
import type { CancelFields } from '../../../smpp/pdu.ts';
import type { CancelAnswer, CancelDone } from '../../../smpp/request-window.ts';
import type { EventSink, SubmitHeader, Submitted } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';

export type CopyCancelsParts = {
  readonly carrier: string;
  readonly clock: Clock;
  /** The carrier supports cancel_sm. */
  readonly isSupported: boolean;
  /** False when no bind can send it now. */
  readonly cancel: (fields: CancelFields, done: CancelDone) => boolean;
  readonly events: EventSink;
  /** To the actors of all carriers. */
  readonly publish: (delivered: CopyDelivered) => void;
};

/** One of two copies of a message, which this carrier has. */
type Copy = {
  readonly message: Message;
  readonly attempt: number;
  readonly epoch: number;
  readonly header: SubmitHeader;
  readonly carrierMessageId: string;
};

type Waiting = { readonly copy: Copy; readonly untilMs: number };

const { copiesMax, copiesKeptMs, cancelWithinMs, cancelAgainMs, cancelsWaitingMax } = limits.otpHedging;

export class CopyCancels {
  readonly #parts: CopyCancelsParts;
  /** Copies that this carrier has accepted, by message. */
  readonly #copies: RotatingMap<string, Copy>;
  /** The hop of the copy that was delivered, by message. */
  readonly #delivered: RotatingMap<string, number>;
  /** Those that no bind could cancel yet, oldest first. */
  #waiting: Waiting[] = [];
  #timer: Cancel | null = null;
  #closed = false;

  constructor(parts: CopyCancelsParts) {
    this.#parts = parts;
    this.#copies = new RotatingMap(copiesKeptMs, copiesMax, parts.clock);
    this.#delivered = new RotatingMap(copiesKeptMs, copiesMax, parts.clock);
  }

  /** The carrier has accepted a message: it may be one of two copies. */
  onAccepted({ message, hedged, attempt, epoch, header }: InFlightMessage, carrierMessageId: string): void {
    if ((hedged !== 'copied' && message.hedge !== 'copy') || header === undefined) return;
    const copy = { message, attempt, epoch, header, carrierMessageId };
    if (this.#isNotNeeded(message)) this.#cancel(copy);
    else this.#copies.set(message.messageId, copy);
  }

  /** The receipt that says so is durable. */
  onDelivered({ messageId, hop }: Pick<Submitted, 'messageId' | 'hop'>): void {
    if (this.#copies.size === 0 || this.#copies.get(messageId)?.message.hop !== hop) return;
    this.#copies.delete(messageId);
    this.#parts.publish({ messageId, hop });
  }

  /** A copy was delivered, by any carrier. */
  take({ messageId, hop }: CopyDelivered): void {
    this.#delivered.set(messageId, hop);
    const copy = this.#copies.get(messageId);
    if (copy === undefined || copy.message.hop === hop) return;
    this.#copies.delete(messageId);
    this.#cancel(copy);
  }

  /** The late gates, with one more in front: a copy that is not needed is not sent. */
  asLateGate(gates: LateGates): LateGates {
    return (message, nowMs) => {
      if (message.hedge !== 'copy' || !this.#isNotNeeded(message)) return gates(message, nowMs);
      this.#count('not_sent');
      return { ok: false, status: 'canceled', code: copyNotNeeded };
    };
  }

  close(): void {
    this.#closed = true;
    this.#timer?.();
    this.#timer = null;
    this.#waiting = [];
  }

  #isNotNeeded({ messageId, hop }: Message): boolean {
    return this.#delivered.size > 0 && (this.#delivered.get(messageId) ?? hop) !== hop;
  }

  #cancel(copy: Copy): void {
    const { isSupported, clock } = this.#parts;
    if (!isSupported || this.#closed) return;
    if (this.#waiting.length === 0 && this.#ask(copy)) return;
    if (this.#waiting.length >= cancelsWaitingMax) return this.#count('gave_up');
    this.#waiting.push({ copy, untilMs: clock.monotonicMs() + cancelWithinMs });
    this.#timer ??= clock.after(cancelAgainMs, () => this.#askAgain());
  }

  #askAgain(): void {
    const { clock } = this.#parts;
    const nowMs = clock.monotonicMs();
    let at = 0;
    for (; at < this.#waiting.length; at += 1) {
      const { copy, untilMs } = this.#waiting[at] as Waiting;
      if (nowMs >= untilMs) this.#count('gave_up');
      else if (!this.#ask(copy)) break;
    }
    this.#waiting = this.#waiting.slice(at);
    this.#timer = this.#waiting.length === 0 ? null : clock.after(cancelAgainMs, () => this.#askAgain());
  }

  #ask(copy: Copy): boolean {
    const { sourceTon, sourceNpi, source, destinationTon, destinationNpi, destination } = copy.header;
    const fields = { sourceTon, sourceNpi, source, destinationTon, destinationNpi, destination };
    return this.#parts.cancel({ messageId: copy.carrierMessageId, ...fields }, (answer) =>
      this.#onAnswer(copy, answer),
    );
  }

  #onAnswer({ message, attempt, epoch }: Copy, answer: CancelAnswer): void {
    if (!answer.ok) return this.#count(answer.why === 'refused' ? 'refused' : 'no_answer');
    this.#count('canceled');
    if (this.#closed) return;
    const { events, clock } = this.#parts;
    const canceled = { kind: 'canceled', attempt, epoch, error: copyNotNeeded, atMs: clock.nowMs() } as const;
    // Not durable means that we stop; its receipt says the same.
    events.write(eventOfMessage(message, canceled), () => {}, false);
  }

  #count(result: 'canceled' | 'refused' | 'no_answer' | 'gave_up' | 'not_sent'): void {
    metrics.otpHedgeCancels.inc({ carrier: this.#parts.carrier, result });
  }
}

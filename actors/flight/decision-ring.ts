// The last decisions about one carrier: why a message was chosen, delayed, refused, moved or ended, and what happened
// to its binds and its pacing. A ring of fixed size. It is written on the hot path: entries become objects only when
// they are read.
import type { Decision, DecisionsPiece } from './flight.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { Clock } from '../../platform/clock.ts';
import type { Refusal } from '../carrier/in-flight/facts.ts';
import type { InFlightMessage } from '../carrier/in-flight/in-flight-message.ts';
import type { Outcome } from '../carrier/outcome/outcome.ts';
import type { Pacing } from '../carrier/pacing/pacing.ts';

/** An unchanged state is noted again after this long. */
const sameAgainMs = 1_000;

export class DecisionRing {
  readonly #clock: Clock;
  readonly #capacity: number;
  readonly #atMs: Float64Array;
  readonly #numbers: Uint32Array;
  readonly #times: Uint32Array;
  readonly #kinds: string[];
  readonly #messageIds: (string | null)[];
  readonly #details: string[];
  #count = 0;
  /** By kind; there are a few. */
  readonly #states = new Map<string, string>();
  #delayed = { why: '', atMs: Number.NEGATIVE_INFINITY, times: 0 };

  constructor(capacity: number, clock: Clock) {
    this.#clock = clock;
    this.#capacity = capacity;
    this.#atMs = new Float64Array(capacity);
    this.#numbers = new Uint32Array(capacity);
    this.#times = new Uint32Array(capacity);
    this.#kinds = Array.from({ length: capacity }, () => '');
    this.#messageIds = Array.from({ length: capacity }, () => null);
    this.#details = Array.from({ length: capacity }, () => '');
  }

  get size(): number {
    return Math.min(this.#count, this.#capacity);
  }

  note(kind: string, detail: string, messageId: string | null = null, attempt = 0, segment = 0, times = 1): void {
    const at = this.#count % this.#capacity;
    this.#count += 1;
    this.#atMs[at] = this.#clock.monotonicMs();
    this.#numbers[at] = (attempt << 8) | segment;
    this.#times[at] = times;
    this.#kinds[at] = kind;
    this.#messageIds[at] = messageId;
    this.#details[at] = detail;
  }

  /** Notes the decision that an event contains. */
  event(event: DeliveryEvent): void {
    const { kind, messageId, attempt, segment, error, carrierMessageId } = event;
    this.note(kind === 'intent' ? 'chosen' : kind, error ?? carrierMessageId ?? '', messageId, attempt, segment);
  }

  /** The outcome of a refusal. */
  verdict(
    { message }: Pick<InFlightMessage, 'message'>,
    { statusName, attempt, segment }: Refusal,
    outcome: Outcome,
  ): void {
    this.note('verdict', `${statusName}: ${wordsOf(outcome)}`, message.messageId, attempt, segment);
  }

  /** Notes a state that is reported repeatedly when it changes. */
  changed(kind: string, state: string): void {
    if (this.#states.get(kind) === state) return;
    this.#states.set(kind, state);
    this.note(kind, state);
  }

  /** An operator command that takes effect. */
  command(what: string): void {
    this.note('order', what);
    this.#delayed.why = '';
  }

  /**
   * The next message had to wait: noted when the reason changes, and once a second while it does not. A wait because of
   * an operator command is noted once: a night of it must not overwrite earlier decisions.
   */
  delayed(why: string): void {
    const nowMs = this.#clock.monotonicMs();
    const before = this.#delayed;
    before.times += 1;
    if (before.why === why && (why === 'order' || nowMs - before.atMs < sameAgainMs)) return;
    this.note('held_back', why, null, 0, 0, before.why === why ? before.times : 1);
    this.#delayed = { why, atMs: nowMs, times: 0 };
  }

  /** From the nth entry since the start on, or the last -n when below 0, without overwritten ones. */
  read(from: number, entriesMax: number): DecisionsPiece {
    const entries: Decision[] = [];
    const wallAtZeroMs = this.#clock.nowMs() - this.#clock.monotonicMs();
    let nth = Math.max(from < 0 ? this.#count + from : from, this.#count - this.#capacity, 0);
    for (; nth < this.#count && entries.length < entriesMax; nth += 1) {
      const at = nth % this.#capacity;
      const number = this.#numbers[at] ?? 0;
      entries.push({
        atMs: Math.round(((this.#atMs[at] ?? 0) + wallAtZeroMs) * 1_000) / 1_000,
        kind: this.#kinds[at] ?? '',
        messageId: this.#messageIds[at] ?? null,
        segment: number & 0xff,
        attempt: number >>> 8,
        detail: this.#details[at] ?? '',
        times: this.#times[at] ?? 1,
      });
    }
    return { entries, next: nth };
  }
}

function wordsOf(outcome: Outcome): string {
  const words: string[] = [outcome.action];
  if ('afterMs' in outcome) words.push(`in ${Math.round(outcome.afterMs)} ms`);
  if ('pauseMs' in outcome && outcome.pauseMs > 0) words.push(`the carrier rests ${outcome.pauseMs} ms`);
  if ('slower' in outcome && outcome.slower) words.push('less of its rate');
  if ('goesElsewhere' in outcome && outcome.goesElsewhere) words.push('the message goes elsewhere');
  return words.join(', ');
}

/** Pacing that also notes each change in the decision ring: a lower rate, the start of a pause. */
export function watchPacing(
  pace: Pick<Pacing, 'pauseUntil' | 'slowDown' | 'ratePerS'>,
  decided: DecisionRing,
  clock: Clock,
): Pick<Pacing, 'pauseUntil' | 'slowDown'> {
  let pausedUntilMs = Number.NEGATIVE_INFINITY;
  return {
    pauseUntil(atMs) {
      pace.pauseUntil(atMs);
      const nowMs = clock.monotonicMs();
      // Every answer of a burst asks for the same pause.
      if (nowMs >= pausedUntilMs) decided.note('pace', `paused for ${Math.round(atMs - nowMs)} ms`);
      pausedUntilMs = Math.max(pausedUntilMs, atMs);
    },
    slowDown(nowMs, by) {
      const before = pace.ratePerS(nowMs);
      pace.slowDown(nowMs, by);
      const after = pace.ratePerS(nowMs);
      if (after < before)
        decided.note('pace', `cut from ${before.toFixed(1)} to ${after.toFixed(1)} segments a second`);
    },
  };
}

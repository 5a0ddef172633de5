// Up to which time the end of every one-time password is in FACTS. A record keeps an OTP for an hour after its end and is
// written again whenever its number is used: such a write must not publish the end once more, also after a restart.
import type { OtpFact } from '../../model/fact.ts';
import { limits } from '../../platform/limits.ts';

export class PublishedEnds {
  #toMs: number;
  /** A record that was the last one of the stream when it was read: what was stored before was read, too. */
  #last: { readonly seq: number; readonly storedAtMs: number } | null = null;

  constructor(toMs: number) {
    this.#toMs = toMs;
  }

  get toMs(): number {
    return this.#toMs;
  }

  /** Those of a record whose end no earlier record has published. `failuresMs`: of the record. */
  unpublished(facts: readonly OtpFact[], failuresMs: readonly number[]): readonly OtpFact[] {
    const writtenMs = Math.max(...facts.map(({ atMs }) => atMs), ...failuresMs);
    const endedMs = Math.min(this.#toMs, writtenMs - limits.facts.storedWithinMs);
    return facts.filter(({ endedAtMs, expiresAtMs }) => (endedAtMs ?? expiresAtMs) >= endedMs);
  }

  readLast(seq: number, storedAtMs: number): void {
    this.#last ??= { seq, storedAtMs };
  }

  /** `seq`: the facts of the records up to it are durable · `endedToMs`: so are earlier ends by time. */
  durable(seq: number, endedToMs: number): void {
    if (this.#last === null || seq < this.#last.seq) return;
    this.#toMs = Math.max(this.#toMs, Math.min(this.#last.storedAtMs - limits.facts.storedWithinMs, endedToMs));
    this.#last = null;
  }

  /** The stream is another one. */
  reset(): void {
    this.#toMs = 0;
    this.#last = null;
  }
}

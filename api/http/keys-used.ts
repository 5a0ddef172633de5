// Records on which days API keys are used, so that unused keys can be revoked. A thread reports each key to the control
// role once a day, within a minute of its first use, and repeats that until the database has it. It costs a request one
// look-up in a set.
import type { ApiKeyId } from '../../model/ids.ts';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { keysUsedSubject } from '../../cluster/bus/subjects.ts';

const { publishEveryMs, keysPerNoteMax, answerMs } = limits.keysUsed;
const dayMs = 86_400_000;

export class KeysUsed {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #cancel: Cancel;
  /** The day of both sets, in days since 1970 (UTC). */
  #day: number;
  #seen = new Set<ApiKeyId>();
  #unpublished = new Set<ApiKeyId>();
  #isPublishing = false;

  constructor(bus: Bus, clock: Clock, waitMs: number = answerMs) {
    this.#bus = bus;
    this.#waitMs = waitMs;
    this.#clock = clock;
    this.#day = Math.floor(clock.nowMs() / dayMs);
    this.#cancel = clock.every(publishEveryMs, () => void this.#publish());
  }

  note(keyId: ApiKeyId): void {
    if (this.#seen.has(keyId)) return;
    this.#seen.add(keyId);
    this.#unpublished.add(keyId);
  }

  stop(): void {
    this.#cancel();
  }

  async #publish(): Promise<void> {
    if (this.#isPublishing) return;
    this.#isPublishing = true;
    try {
      const day = this.#day;
      for (const keys of inGroups([...this.#unpublished], keysPerNoteMax)) {
        const payload = JSON.stringify({ day: dayText(day), keys });
        await this.#bus.connection.request(keysUsedSubject, payload, { timeout: this.#waitMs });
        for (const each of keys) this.#unpublished.delete(each);
      }
    } catch (error) {
      ignoring(error, 'the use of API keys could not be reported; it is reported again in a minute');
    } finally {
      this.#isPublishing = false;
    }
    const today = Math.floor(this.#clock.nowMs() / dayMs);
    if (today === this.#day) return;
    // A key whose report failed all day is reported again at its next use.
    this.#day = today;
    this.#seen = new Set();
    this.#unpublished = new Set();
  }
}

const dayText = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10);

function* inGroups<T>(all: readonly T[], size: number): Iterable<readonly T[]> {
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size);
}

// On which days API keys are used, for whoever wants to revoke those that nobody needs. A thread tells the control role of
// each key once a day, a minute after its first use at the latest, and again until the database has it. The request that
// uses a key pays for a look into a set.
import type { ApiKeyId } from '../../model/ids.ts';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { keysUsedSubject } from '../../cluster/bus/subjects.ts';

const { tellEveryMs, toldAtOnceMax, answerMs } = limits.keysUsed;
const dayMs = 86_400_000;

export class KeysUsed {
  readonly #bus: Bus;
  readonly #clock: Clock;
  readonly #waitMs: number;
  readonly #cancel: Cancel;
  /** Days since 1970 in UTC: that of the keys in both sets. */
  #day: number;
  #seen = new Set<ApiKeyId>();
  #untold = new Set<ApiKeyId>();
  #telling = false;

  constructor(bus: Bus, clock: Clock, waitMs: number = answerMs) {
    this.#bus = bus;
    this.#waitMs = waitMs;
    this.#clock = clock;
    this.#day = Math.floor(clock.nowMs() / dayMs);
    this.#cancel = clock.every(tellEveryMs, () => void this.#tell());
  }

  note(keyId: ApiKeyId): void {
    if (this.#seen.has(keyId)) return;
    this.#seen.add(keyId);
    this.#untold.add(keyId);
  }

  stop(): void {
    this.#cancel();
  }

  async #tell(): Promise<void> {
    if (this.#telling) return;
    this.#telling = true;
    try {
      const day = this.#day;
      for (const keys of inGroups([...this.#untold], toldAtOnceMax)) {
        const told = JSON.stringify({ day: dayText(day), keys });
        await this.#bus.connection.request(keysUsedSubject, told, { timeout: this.#waitMs });
        for (const each of keys) this.#untold.delete(each);
      }
    } catch (error) {
      ignoring(error, 'the days on which keys were used are told again in a minute');
    } finally {
      this.#telling = false;
    }
    const today = Math.floor(this.#clock.nowMs() / dayMs);
    if (today === this.#day) return;
    // What could not be told all day long is told of the new one when it is used again.
    this.#day = today;
    this.#seen = new Set();
    this.#untold = new Set();
  }
}

const dayText = (day: number) => new Date(day * dayMs).toISOString().slice(0, 10);

function* inGroups<T>(all: readonly T[], size: number): Iterable<readonly T[]> {
  for (let from = 0; from < all.length; from += size) yield all.slice(from, from + size);
}

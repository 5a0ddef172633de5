// Says when nothing can be recorded although events wait: in the health of the role and in a metric at once, and after a minute
// as an alarm. Messages go on meanwhile: their events wait in EVENTS, which has room for some time.
import type { Cancel, Clock } from '../platform/clock.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import { metrics } from '../platform/telemetry.ts';
import type { Waiting } from './recorder/recorder.ts';

const { waitsTooLongMs, alarmAfterMs } = limits.recorder;
const lookEveryMs = 1_000;

export class RecordingWatch {
  readonly #waiting: () => Waiting | null;
  readonly #clock: Clock;
  readonly #cancel: Cancel;
  /** Null: inserts succeed, or none is needed. */
  #failingSince: Date | null = null;
  #hasAlarmed = false;

  /** `waiting` is null, too, while another node records. */
  constructor(waiting: () => Waiting | null, clock: Clock) {
    this.#waiting = waiting;
    this.#clock = clock;
    this.#cancel = clock.every(lookEveryMs, () => this.look());
  }

  look(): void {
    const waiting = this.#waiting();
    const forMs = waiting?.forMs ?? 0;
    metrics.recorderWaiting.set(forMs / 1_000);
    if (waiting === null || forMs < waitsTooLongMs) return this.#works();
    this.#failingSince ??= new Date(this.#clock.nowMs() - forMs);
    if (this.#hasAlarmed || forMs < alarmAfterMs) return;
    this.#hasAlarmed = true;
    const details = { since: this.#failingSince.toISOString(), error: waiting.failure };
    log.error(
      { alarm: 'nothing_recorded', ...details },
      'no insert into ClickHouse succeeds, and events wait in EVENTS',
    );
  }

  /** Since when nothing could be recorded; null: it can. */
  get failingSince(): Date | null {
    return this.#failingSince;
  }

  close(): void {
    this.#cancel();
  }

  #works(): void {
    if (this.#hasAlarmed) log.warn({ since: this.#failingSince?.toISOString() }, 'events are recorded again');
    this.#failingSince = null;
    this.#hasAlarmed = false;
  }
}

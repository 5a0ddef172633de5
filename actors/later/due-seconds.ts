// Which seconds of a waiting stream have records, asked of the server by hour, because the server scans all subjects
// for an answer.
import type { Bus } from '../../cluster/bus/connect.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { secondOfWaitSubject, type WaitKind, waitHourFilter, waitSecondFilter } from '../../cluster/bus/subjects.ts';

export class DueSeconds {
  readonly #bus: Bus;
  readonly #kind: WaitKind;

  constructor(bus: Bus, kind: WaitKind) {
    this.#bus = bus;
    this.#kind = kind;
  }

  /** In ascending order. */
  async ofHours(hours: Iterable<number>): Promise<readonly number[]> {
    const seconds = new Set<number>();
    for (const hour of new Set(hours)) {
      for (const subject of await this.#subjects(waitHourFilter(this.#kind, hour))) {
        seconds.add(secondOfWaitSubject(subject));
      }
    }
    return [...seconds].sort((one, other) => one - other);
  }

  async isEmpty(second: number): Promise<boolean> {
    return (await this.#subjects(waitSecondFilter(this.#kind, second))).length === 0;
  }

  async #subjects(filter: string): Promise<string[]> {
    const info = await this.#bus.manager.streams.info(streamNames.waiting[this.#kind], { subjects_filter: filter });
    return Object.keys(info.state.subjects ?? {});
  }
}

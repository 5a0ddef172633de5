// Knows which idempotency keys are in no archive: three octets in memory for each key of a day. An archive that a
// page names takes no new keys, so this never becomes wrong; most keys are new and need no read.
import { limits } from '../../platform/limits.ts';
import { type Page, printOfKey, printsOfKeys } from './entry.ts';

export class ArchivedKeys {
  /** By period and page: printsOfKeys. */
  readonly #prints = new Map<number, Map<string, string>>();

  /** `archived`: as it is since a page names this period, or later. */
  learn(period: number, page: string, archived: Page): void {
    const known = this.#prints.get(period) ?? new Map<string, string>();
    this.#prints.set(period, known);
    known.set(page, printsOfKeys(archived));
  }

  /** `perhaps`: it is to be read. */
  has(period: number, page: string, own: number): 'no' | 'perhaps' {
    const prints = this.#prints.get(period)?.get(page);
    return prints === undefined || prints.includes(printOfKey(own)) ? 'perhaps' : 'no';
  }

  /** Periods whose keys are over. */
  forgetBefore(period: number): void {
    for (const each of this.#prints.keys()) if (each < period) this.#prints.delete(each);
  }
}

/** Learns from all records of the bucket in the order they were written; of an archive only when its page names it. */
export class ArchiveReader {
  readonly #known: ArchivedKeys;
  readonly #periods = new Map<string, number>();
  readonly #early = new Map<string, (readonly [period: number, Page])[]>();

  constructor(known: ArchivedKeys) {
    this.#known = known;
  }

  page(name: string, period: number): void {
    this.#periods.set(name, period);
    const early = this.#early.get(name) ?? [];
    this.#early.delete(name);
    for (const [each, archived] of early) this.archive(name, each, archived);
  }

  archive(name: string, period: number, archived: Page): void {
    if (period < (this.#periods.get(name) ?? 0)) return this.#known.learn(period, name, archived);
    const early = this.#early.get(name) ?? [];
    this.#early.set(name, early);
    early.push([period, archived]);
  }
}

export const periodOf = (atMs: number): number => Math.floor(atMs / limits.idempotency.periodMs);

// Says without a read that an idempotency key is in no archive, from three octets in memory for each key of a day. An
// archive that a page lists takes no new keys, so what is known of it stays right; most keys are new and need no read.
import { limits } from '../../platform/limits.ts';
import { type Page, printOfKey, printsOfKeys } from './entry.ts';

export class ArchivedKeys {
  /** period → page → printsOfKeys of the archive. */
  readonly #prints = new Map<number, Map<string, string>>();

  /** `archived`: the archive's page, read after its live page began to list this period. */
  learn(period: number, page: string, archived: Page): void {
    const known = this.#prints.get(period) ?? new Map<string, string>();
    this.#prints.set(period, known);
    known.set(page, printsOfKeys(archived));
  }

  /** `perhaps`: the archive must be read. */
  has(period: number, page: string, own: number): 'no' | 'perhaps' {
    const prints = this.#prints.get(period)?.get(page);
    return prints === undefined || prints.includes(printOfKey(own)) ? 'perhaps' : 'no';
  }

  /** Drops the periods whose keys have expired. */
  forgetBefore(period: number): void {
    for (const each of this.#prints.keys()) if (each < period) this.#prints.delete(each);
  }
}

/** Learns from all records of the bucket in stream order; an archive counts once its page lists it. */
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

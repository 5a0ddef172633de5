// Short links in memory: the stream LINKS as maps, kept up to date by a reader. The redirect and the makers of codes
// answer from it, so that both go on while NATS, PostgreSQL or ClickHouse is away; a stream that was lost takes nothing
// out of memory. Of two records of one series number the first one in the stream counts until it expires, for every
// reader, so that two processes that chose the same number agree on whose it is.
import type { JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../cluster/bus/connect.ts';
import { readStream } from '../cluster/bus/read-stream.ts';
import { streamNames } from '../cluster/bus/streams.ts';
import type { AccountId, LinkId } from '../model/ids.ts';
import { decodeLink, type LinkRecord, type LinkTarget, type SeriesRecord } from '../model/records/link-record.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { ignoring, messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { log } from '../platform/log.ts';
import { metrics } from '../platform/telemetry.ts';

export type HeldLink = LinkTarget & {
  /** Its codes are answered 410, and no message may carry it. */
  disabled: boolean;
  createdAtMs: number;
  /** When the last of its series expires. */
  expiresAtMs: number;
  /** How many series lead to it. */
  series: number;
};

export type HeldSeries = {
  readonly link: HeldLink;
  readonly size: number;
  readonly expiresAtMs: number;
  /** Its record in LINKS: decides which of two creators has the number. */
  readonly seq: number;
};

/** The maps; no I/O. */
export class Links {
  readonly #series = new Map<number, HeldSeries>();
  readonly #links = new Map<LinkId, HeldLink>();
  readonly #byAccount = new Map<AccountId, Set<HeldLink>>();
  readonly #seriesOf = new Map<AccountId, number>();
  readonly #disabled = new Set<LinkId>();
  #sweeping: MapIterator<[number, HeldSeries]> | null = null;

  get count(): number {
    return this.#series.size;
  }

  find(series: number): HeldSeries | undefined {
    return this.#series.get(series);
  }

  link(linkId: LinkId): HeldLink | undefined {
    return this.#links.get(linkId);
  }

  isDisabled(linkId: LinkId): boolean {
    return this.#disabled.has(linkId);
  }

  linksOf(accountId: AccountId): Iterable<HeldLink> {
    return this.#byAccount.get(accountId) ?? [];
  }

  countOf(accountId: AccountId): number {
    return this.#seriesOf.get(accountId) ?? 0;
  }

  apply(record: LinkRecord, seq: number, nowMs: number): void {
    if (record.kind === 'series') return this.#add(record, seq, nowMs);
    if (record.disabled) this.#disabled.add(record.linkId);
    else this.#disabled.delete(record.linkId);
    const link = this.#links.get(record.linkId);
    if (link !== undefined) link.disabled = record.disabled;
  }

  /** Removes expired series, some at a time. */
  sweep(nowMs: number, max: number = limits.links.sweepMax): void {
    for (let looked = 0; looked < max; looked += 1) {
      this.#sweeping ??= this.#series.entries();
      const next = this.#sweeping.next();
      if (next.done === true) {
        this.#sweeping = null;
        return;
      }
      const [number, series] = next.value;
      if (series.expiresAtMs <= nowMs) this.#remove(number, series);
    }
  }

  #add({ target, series: number, size, createdAtMs, expiresAtMs }: SeriesRecord, seq: number, nowMs: number): void {
    const before = this.#series.get(number);
    if (expiresAtMs <= nowMs) return;
    if (before !== undefined) {
      if (before.expiresAtMs > nowMs) return;
      this.#remove(number, before);
    }
    const link = this.#links.get(target.linkId) ?? this.#newLink(target, createdAtMs);
    link.series += 1;
    link.expiresAtMs = Math.max(link.expiresAtMs, expiresAtMs);
    this.#series.set(number, { link, size, expiresAtMs, seq });
    this.#seriesOf.set(target.accountId, this.countOf(target.accountId) + 1);
  }

  #newLink(target: LinkTarget, createdAtMs: number): HeldLink {
    const disabled = this.#disabled.has(target.linkId);
    const link: HeldLink = { ...target, disabled, createdAtMs, expiresAtMs: 0, series: 0 };
    this.#links.set(target.linkId, link);
    const ofAccount = this.#byAccount.get(target.accountId) ?? new Set<HeldLink>();
    this.#byAccount.set(target.accountId, ofAccount.add(link));
    return link;
  }

  #remove(number: number, { link }: HeldSeries): void {
    this.#series.delete(number);
    const { accountId, linkId } = link;
    const left = this.countOf(accountId) - 1;
    if (left > 0) this.#seriesOf.set(accountId, left);
    else this.#seriesOf.delete(accountId);
    link.series -= 1;
    if (link.series > 0) return;
    this.#links.delete(linkId);
    const ofAccount = this.#byAccount.get(accountId);
    ofAccount?.delete(link);
    if (ofAccount?.size === 0) this.#byAccount.delete(accountId);
  }
}

export type LinkDirectory = ReturnType<typeof openLinks>;

type Waiter = { readonly seq: number; readonly reached: () => void };

/** Resolves at once; links come in while the process serves. */
export function openLinks(bus: Bus, clock: Clock = systemClock) {
  const links = new Links();
  let isComplete = false;
  let waiters: Waiter[] = [];

  function take(record: JsMsg): undefined {
    try {
      links.apply(decodeLink(record.data), record.seq, clock.nowMs());
    } catch (error) {
      metrics.directoryBadEntries.inc();
      log.error({ stream: streamNames.links, seq: record.seq, error: messageOf(error) }, 'a link cannot be read');
    }
    if (waiters.length === 0) return;
    for (const { seq, reached } of waiters) if (seq <= record.seq) reached();
    waiters = waiters.filter(({ seq }) => seq > record.seq);
  }

  const reader = readStream(bus, {
    stream: streamNames.links,
    from: { made: '', seq: 0, storedAtNs: null },
    take,
    onChanged: (change) => log.error({ alarm: 'links_changed', change }, 'LINKS is another stream: it is read again'),
    prefetch: limits.links.prefetchRecords,
    clock,
  });
  reader.caughtUp.then(
    () => {
      isComplete = true;
    },
    (error: unknown) => ignoring(error, 'the reader was stopped before it had read everything'),
  );
  const stopSweep = clock.every(limits.links.sweepEveryMs, () => {
    links.sweep(clock.nowMs());
    metrics.directoryEntries.set({ kind: 'link series' }, links.count);
  });

  return {
    links,
    /** False until everything that LINKS held at the start is in memory: an unknown code may be a good one. */
    get isComplete() {
      return isComplete;
    },
    /** Resolves when the record of this sequence has been applied. */
    async reached(seq: number): Promise<void> {
      if (seq > reader.position.seq) await new Promise<void>((reached) => waiters.push({ seq, reached }));
    },
    async close(): Promise<void> {
      stopSweep();
      reader.stop();
      await reader.done.catch((error: unknown) => ignoring(error, 'the reader ended with its owner'));
    },
  };
}

// What is collected of CLICKS between two inserts: a range of records, the codes in it and the clicks. It never writes.
import type { JsMsg } from '@nats-io/jetstream';
import { codeNumber } from '../../model/link-code.ts';
import { type Click, type IssuedLinks, decodeClickRecord } from '../../model/records/click-record.ts';
import type { CodeOwner } from './click-rows.ts';

export class ClickBatch {
  readonly firstSeq: number;
  readonly firstAtNs: bigint;
  readonly openedAtMs: number;
  lastSeq: number;
  lastAtNs: bigint;
  readonly issued: IssuedLinks[] = [];
  readonly #clicks = new Map<string, Click>();

  /** `openedAtMs`: monotonic. */
  constructor({ seq, timestampNanos }: Pick<JsMsg, 'seq' | 'timestampNanos'>, openedAtMs: number) {
    this.firstSeq = seq;
    this.firstAtNs = timestampNanos;
    this.lastSeq = seq;
    this.lastAtNs = timestampNanos;
    this.openedAtMs = openedAtMs;
  }

  /** Throws for octets that cannot be read; the record is part of the range all the same. */
  add({ seq, timestampNanos, data }: Pick<JsMsg, 'seq' | 'timestampNanos' | 'data'>): void {
    this.lastSeq = seq;
    this.lastAtNs = timestampNanos;
    const record = decodeClickRecord(data);
    if (record.kind === 'issued') this.issued.push(record.issued);
    // A record that was published twice after the stream had forgotten it has the same clicks.
    else for (const click of record.clicks) this.#clicks.set(click.clickId, click);
  }

  get rows(): number {
    return this.issued.length + this.#clicks.size;
  }

  /** In the order of the stream, each once. */
  get clicks(): readonly Click[] {
    return [...this.#clicks.values()];
  }

  /** The owners of the codes that were made within this range. */
  get owners(): ReadonlyMap<number, CodeOwner> {
    return new Map(this.issued.flatMap((owner) => owner.links.map((link) => [codeNumber(link), owner] as const)));
  }
}

// The sequence of EVENTS from which each carrier must read after a restart: one small record per carrier in a bucket.
// The actor writes it (actors/carrier/deduplication/replay-floor.ts) and starts there; the purge of EVENTS keeps
// everything from there on. It is a sequence and not a time, so clocks and long outages do not matter.
import type { KV } from '@nats-io/kv';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { readEntry } from './bucket.ts';
import type { Bus } from './connect.ts';
import { changeSince, nanosOf } from './stream-position.ts';
import type { Clock } from '../../platform/clock.ts';
import { openBucket } from './ensure.ts';
import { streamNames } from './streams.ts';

export type FloorRecord = {
  /** The creation time of EVENTS: a floor of another stream is void. */
  readonly stream: string;
  /** The first sequence that must be read. */
  readonly seq: number;
  /** When the record before `seq` was stored, which differs after a restore; null without one. */
  readonly beforeAtNs: string | null;
  /** The carrier stopped with no submit begun: nothing before its next start is needed. */
  readonly stopped: boolean;
};

/** The sequences that EVENTS holds. */
export type StreamEnds = { readonly stream: string; readonly firstSeq: number; readonly lastSeq: number };

export class ReplayFloors {
  readonly #bus: Bus;
  #bucket: Promise<KV> | null = null;

  constructor(bus: Bus) {
    this.#bus = bus;
  }

  /** Null when this carrier has none. Rejects when the bus does not answer. */
  async read(carrier: string): Promise<FloorRecord | null> {
    const bucket = await this.#open();
    const { entry } = await withDeadline('a replay floor', limits.carrier.floorTimeoutMs, readEntry(bucket, carrier));
    return entry === null ? null : recordIn(entry.string());
  }

  async write(carrier: string, record: FloorRecord): Promise<void> {
    const bucket = await this.#open();
    await withDeadline('a replay floor', limits.carrier.floorTimeoutMs, bucket.put(carrier, JSON.stringify(record)));
  }

  /** The floors of all carriers that ever ran on this bus. */
  async all(): Promise<ReadonlyMap<string, FloorRecord>> {
    const bucket = await this.#open();
    const floors = new Map<string, FloorRecord>();
    for await (const carrier of await bucket.keys()) {
      const record = await this.read(carrier);
      if (record !== null) floors.set(carrier, record);
    }
    return floors;
  }

  /** Whether the floor is of another EVENTS stream than the present one. */
  async isOfAnother({ stream, seq, beforeAtNs }: FloorRecord, clock: Clock): Promise<boolean> {
    const storedAtNs = beforeAtNs === null ? null : BigInt(beforeAtNs);
    return (
      (await changeSince(this.#bus, streamNames.events, { made: stream, seq: seq - 1, storedAtNs }, clock)) !== null
    );
  }

  /** When that record of EVENTS was stored; null when it is not there. */
  async storedAtNs(seq: number): Promise<string | null> {
    if (seq < 1) return null;
    const asked = this.#bus.manager.streams.getMessage(streamNames.events, { seq });
    const record = await withDeadline('a record of EVENTS', limits.carrier.floorTimeoutMs, asked);
    return record === null ? null : String(nanosOf(record.timestamp));
  }

  /** What EVENTS has now. */
  async ends(): Promise<StreamEnds> {
    const asked = this.#bus.manager.streams.info(streamNames.events);
    const { created, state } = await withDeadline('the ends of EVENTS', limits.carrier.floorTimeoutMs, asked);
    return { stream: String(created), firstSeq: state.first_seq, lastSeq: state.last_seq };
  }

  #open(): Promise<KV> {
    this.#bucket ??= openBucket(this.#bus, 'replay').catch((error: unknown) => {
      this.#bucket = null;
      throw error;
    });
    return this.#bucket;
  }
}

/**
 * Where a carrier begins to read: at its floor; at the beginning without one, or when the floor is of an earlier stream
 * or after the end of a stream that lost records (power loss).
 */
export function replayStart(floor: FloorRecord | null, ends: StreamEnds): number {
  const holds = floor !== null && floor.stream === ends.stream && floor.seq <= ends.lastSeq + 1;
  return Math.max(1, ends.firstSeq, holds ? floor.seq : 0);
}

/** An unreadable record counts as none: everything is read, and the purge keeps nothing for it. */
function recordIn(text: string): FloorRecord | null {
  try {
    const { stream, seq, beforeAtNs, stopped } = JSON.parse(text) as Partial<FloorRecord>;
    if (typeof stream !== 'string' || typeof seq !== 'number' || !Number.isSafeInteger(seq)) return null;
    return { stream, seq, beforeAtNs: beforeAtNs ?? null, stopped: stopped === true };
  } catch (error) {
    ignoring(error, 'a replay floor is unreadable; the next incarnation of its carrier rewrites it');
    return null;
  }
}

// This thread's heartbeat: twice a second, by compare-and-set on its own last one. While a heartbeat that was begun
// less than 2.6 seconds ago is acknowledged, this node may write to its carriers; no other node can have declared it
// dead before the bucket refuses the next one. lease-keeper.ts holds the binds.
import type { LeaseStore } from './lease-bucket.ts';
import type { Clock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { secretBytes } from '../../platform/random.ts';
import type { LeaseCache } from './lease-cache.ts';
import { type Holder, heartbeatKey, encodeRecord, readHeartbeat } from './lease-records.ts';

export type LeaseIdentity = Pick<Holder, 'node' | 'thread' | 'place' | 'process'>;

/** The dependencies shared by all parts of a thread's leases. */
export type LeaseParts = {
  readonly bucket: LeaseStore;
  readonly cache: LeaseCache;
  readonly clock: Clock;
  readonly identity: LeaseIdentity;
};

type HolderParts = LeaseParts & {
  /** The carriers that are ready here. */
  readonly carriers: () => readonly string[];
  /** Another node has declared us dead: we hold nothing any more. */
  readonly onLost: (why: string) => void;
};

export class LeaseHolder {
  readonly #parts: HolderParts;
  readonly key: string;
  readonly #startedAtMs: number;
  #incarnation = '';
  /** The revision of our last heartbeat; 0 while we have none. */
  #revision = 0;
  #epoch = 0;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #beganAtMs = Number.NEGATIVE_INFINITY;
  #ackedAtMs = Number.NEGATIVE_INFINITY;
  #heartbeatPending = false;
  #isFirst = true;
  /** The revision of another process's heartbeat under our name when first seen; 0: none. */
  #foreignAt = 0;
  #sharedNameLogged = false;
  #leaving = false;

  constructor(parts: HolderParts) {
    this.#parts = parts;
    this.key = heartbeatKey(parts.identity);
    this.#startedAtMs = parts.clock.monotonicMs();
  }

  get epoch(): number {
    return this.#epoch;
  }

  get validUntilMs(): number {
    return this.#validUntilMs;
  }

  /** Null while nothing may be claimed in our name. */
  get holder(): Holder | null {
    return this.#epoch === 0 ? null : this.#holder();
  }

  /** The revision of our last acknowledged heartbeat, and when that was: it must come back through the watch. */
  get lastHeartbeat(): { readonly revision: number; readonly ackedAtMs: number } {
    return { revision: this.#revision, ackedAtMs: this.#ackedAtMs };
  }

  /** Called a few times a second; sends a heartbeat when one is due. */
  look(atOnce = false): void {
    const { clock, cache } = this.#parts;
    if (this.#heartbeatPending || this.#leaving) return;
    const passedMs = clock.monotonicMs() - this.#beganAtMs;
    const isLate = this.#ackedAtMs < this.#beganAtMs;
    const dueMs = isLate ? limits.leases.heartbeatRetryMs : limits.leases.heartbeatEveryMs;
    if (!atOnce && passedMs < dueMs) return;
    if (this.#epoch === 0 && !this.#mayBegin()) return;
    const expected = this.#epoch === 0 ? cache.revisionOf(this.key) : this.#revision;
    void this.#heartbeat(expected);
  }

  /** `atOnce`: other nodes need not wait for the timeout. */
  async leave(atOnce: boolean): Promise<void> {
    this.#leaving = true;
    const { bucket } = this.#parts;
    if (this.#epoch !== 0 && atOnce) await bucket.remove(this.key, this.#revision);
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * Another process may use our name. Our own previous incarnation has ended, which the supervisor ensures, and is
   * replaced when its last second is over; any other must have been silent as long as any dead node.
   */
  #mayBegin(): boolean {
    const { cache, identity, clock } = this.#parts;
    const before = cache.heartbeatOf(this.key);
    if (before === null) return true;
    // A heartbeat of our previous incarnation may have been stored after the first read.
    if (this.#isFirst && before.place === identity.place)
      return clock.monotonicMs() - this.#startedAtMs >= limits.leases.shareWaitMs;
    const revision = cache.revisionOf(this.key);
    if (this.#foreignAt === 0) this.#foreignAt = revision;
    // Without new heartbeats it has died and is waited for; with new ones it is alive.
    if (!this.#sharedNameLogged && revision !== this.#foreignAt) {
      this.#sharedNameLogged = true;
      log.error(
        { alarm: 'node_name_shared', node: identity.node },
        'another process uses the name of this node: nothing is taken over until it is silent; set HELIOGRAPH_NODE',
      );
    }
    return false;
  }

  async #heartbeat(expected: number): Promise<void> {
    const { bucket, clock, carriers } = this.#parts;
    const beganAtMs = clock.monotonicMs();
    this.#beganAtMs = beganAtMs;
    this.#heartbeatPending = true;
    if (this.#epoch === 0) this.#incarnation = secretBytes(incarnationBytes).toString('hex');
    const incarnation = this.#incarnation;
    try {
      const heartbeat = { ...this.#holder(), epoch: this.#epoch, carriers: carriers() };
      const written = await bucket.put(this.key, encodeRecord(heartbeat), expected);
      if (this.#leaving) return;
      if (written === 'conflict') await this.#askWhy(incarnation);
      else if (written !== 'unclear') this.#acked(written.revision, beganAtMs);
    } catch (error) {
      ignoring(error, 'a heartbeat could not be written; the next one comes soon');
    } finally {
      this.#heartbeatPending = false;
    }
  }

  #acked(revision: number, beganAtMs: number): void {
    this.#revision = revision;
    this.#ackedAtMs = this.#parts.clock.monotonicMs();
    this.#validUntilMs = beganAtMs + limits.leases.fenceAfterMs;
    this.#isFirst = false;
    if (this.#epoch !== 0) return;
    this.#epoch = revision;
    // The second heartbeat contains the epoch, for nodes that start later.
    this.#beganAtMs = Number.NEGATIVE_INFINITY;
  }

  /** The last heartbeat was not the expected one: one of ours whose answer was lost, or another process's. */
  async #askWhy(incarnation: string): Promise<void> {
    const { bucket, cache, clock } = this.#parts;
    const last = await bucket.last(this.key);
    if (last !== null) cache.apply(last, clock.monotonicMs());
    const isOurs = last !== null && readHeartbeat(last.value)?.incarnation === incarnation;
    if (isOurs) {
      // It proves nothing about the present; the next compare-and-set does.
      this.#revision = last.revision;
      if (this.#epoch === 0) this.#epoch = last.revision;
      this.#beganAtMs = Number.NEGATIVE_INFINITY;
      return;
    }
    if (last === null) cache.clear();
    if (this.#epoch === 0) return;
    this.#epoch = 0;
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
    this.#parts.onLost(last?.value === undefined || last.value === null ? 'declared dead' : 'its name was taken');
  }

  #holder(): Holder {
    return { ...this.#parts.identity, incarnation: this.#incarnation };
  }
}

const incarnationBytes = 8;

// This thread's word that it lives: a beat twice a second, by compare-and-set on its own last one. While a beat that was
// begun less than 2.6 seconds ago is acknowledged, this node may write to its carriers; nobody can have declared it
// dead before the bucket refuses the next. It holds no bind; lease-keeper.ts does.
import type { LeaseStore } from './lease-bucket.ts';
import type { Clock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { secretBytes } from '../../platform/random.ts';
import type { LeaseBook } from './lease-book.ts';
import { type Holder, beatKey, encodeBeat, readBeat } from './lease-records.ts';

export type HolderParts = {
  readonly bucket: LeaseStore;
  readonly book: LeaseBook;
  readonly clock: Clock;
  readonly identity: Pick<Holder, 'node' | 'thread' | 'place' | 'process'>;
  /** The carriers that are ready here. */
  readonly carriers: () => readonly string[];
  /** Somebody has declared us dead: nothing is ours any more. */
  readonly onLost: (why: string) => void;
};

export class LeaseHolder {
  readonly #parts: HolderParts;
  readonly key: string;
  readonly #bornAtMs: number;
  #incarnation = '';
  /** The revision of our last beat; 0 while we have none. */
  #revision = 0;
  #epoch = 0;
  #validUntilMs = Number.NEGATIVE_INFINITY;
  #beganAtMs = Number.NEGATIVE_INFINITY;
  #ackedAtMs = Number.NEGATIVE_INFINITY;
  #beating = false;
  #isFirst = true;
  /** The stranger's beat under our name as it was first seen; 0: none. */
  #strangerAt = 0;
  #toldShared = false;
  #leaving = false;

  constructor(parts: HolderParts) {
    this.#parts = parts;
    this.key = beatKey(parts.identity);
    this.#bornAtMs = parts.clock.monotonicMs();
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

  /** The revision of our last acknowledged beat, and when that was: what must come back through the watch. */
  get lastBeat(): { readonly revision: number; readonly ackedAtMs: number } {
    return { revision: this.#revision, ackedAtMs: this.#ackedAtMs };
  }

  /** Called a few times a second; begins a beat when one is due. */
  look(atOnce = false): void {
    const { clock, book } = this.#parts;
    if (this.#beating || this.#leaving) return;
    const passedMs = clock.monotonicMs() - this.#beganAtMs;
    const isLate = this.#ackedAtMs < this.#beganAtMs;
    const dueMs = isLate ? limits.leases.beatAgainMs : limits.leases.beatEveryMs;
    if (!atOnce && passedMs < dueMs) return;
    if (this.#epoch === 0 && !this.#mayBegin()) return;
    const expected = this.#epoch === 0 ? book.revisionOf(this.key) : this.#revision;
    void this.#beat(expected);
  }

  /** `atOnce`: nobody has to wait until we are seen to be silent. */
  async leave(atOnce: boolean): Promise<void> {
    this.#leaving = true;
    const { bucket } = this.#parts;
    if (this.#epoch !== 0 && atOnce) await bucket.remove(this.key, this.#revision);
    this.#validUntilMs = Number.NEGATIVE_INFINITY;
  }

  /**
   * Our name may stand for somebody else. Our own former life has ended before this one began, because the supervisor
   * saw to that, so at the start it is replaced when its last second is over; anybody else must have been silent, like
   * every other node.
   */
  #mayBegin(): boolean {
    const { book, identity, clock } = this.#parts;
    const before = book.beatOf(this.key);
    if (before === null) return true;
    // A beat of our former life may have come behind what was there when we looked.
    if (this.#isFirst && before.place === identity.place)
      return clock.monotonicMs() - this.#bornAtMs >= limits.leases.shareWaitMs;
    const revision = book.revisionOf(this.key);
    if (this.#strangerAt === 0) this.#strangerAt = revision;
    // One that has died is only waited for; one that beats is alive.
    if (!this.#toldShared && revision !== this.#strangerAt) {
      this.#toldShared = true;
      log.error(
        { alarm: 'node_name_shared', node: identity.node },
        'another process uses the name of this node: nothing is taken over until it is silent; set HELIOGRAPH_NODE',
      );
    }
    return false;
  }

  async #beat(expected: number): Promise<void> {
    const { bucket, clock, carriers } = this.#parts;
    const beganAtMs = clock.monotonicMs();
    this.#beganAtMs = beganAtMs;
    this.#beating = true;
    if (this.#epoch === 0) this.#incarnation = secretBytes(incarnationBytes).toString('hex');
    const incarnation = this.#incarnation;
    try {
      const beat = { ...this.#holder(), epoch: this.#epoch, carriers: carriers() };
      const written = await bucket.put(this.key, encodeBeat(beat), expected);
      if (this.#leaving) return;
      if (written === 'conflict') await this.#askWhy(incarnation);
      else if (written !== 'unclear') this.#acked(written.revision, beganAtMs);
    } catch (error) {
      ignoring(error, 'a beat could not be written; the next one comes soon');
    } finally {
      this.#beating = false;
    }
  }

  #acked(revision: number, beganAtMs: number): void {
    this.#revision = revision;
    this.#ackedAtMs = this.#parts.clock.monotonicMs();
    this.#validUntilMs = beganAtMs + limits.leases.fenceAfterMs;
    this.#isFirst = false;
    if (this.#epoch !== 0) return;
    this.#epoch = revision;
    // The second beat tells the epoch to those who come later.
    this.#beganAtMs = Number.NEGATIVE_INFINITY;
  }

  /** The last beat was another one than we thought: one of ours whose answer was lost, or not ours at all. */
  async #askWhy(incarnation: string): Promise<void> {
    const { bucket, book, clock } = this.#parts;
    const last = await bucket.last(this.key);
    if (last !== null) book.apply(last, clock.monotonicMs());
    const isOurs = last !== null && readBeat(last.value)?.incarnation === incarnation;
    if (isOurs) {
      // It proves nothing about now: the next compare-and-set does.
      this.#revision = last.revision;
      if (this.#epoch === 0) this.#epoch = last.revision;
      this.#beganAtMs = Number.NEGATIVE_INFINITY;
      return;
    }
    if (last === null) book.clear();
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

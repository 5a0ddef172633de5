// The replay floor: the EVENTS sequence from which a restart of this carrier must read, kept up to date in the bus. It
// is the lower of two: the first event of what has no outcome yet, however old, and where EVENTS ended one replay
// window ago, because an ack can be lost and its record redelivered. Sequences only: no clocks are compared, and
// downtime does not count.
import { type FloorRecord, ReplayFloors, replayStart } from '../../../cluster/bus/replay-floors.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { oldestStoredAtMs } from '../../../cluster/bus/waiting-messages.ts';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { EventSequence } from './event-sequence.ts';
import type { ReplayIndex } from './replay-index.ts';

export type ReplayFloorParts = {
  readonly bus: Bus;
  readonly carrier: string;
  readonly clock: Clock;
  readonly sequence: Pick<EventSequence, 'seen'>;
  readonly inFlight: () => Iterable<InFlightMessage>;
  readonly replayIndex: Pick<ReplayIndex, 'needsFromSeq' | 'forgetBefore' | 'needAll'>;
  readonly uptime: ConsumerUptime;
  /** Whether the lanes' consumers are reachable now. */
  readonly isReachable: () => boolean;
  /** Publishes its state again in EVENTS, so that its old events need not be kept. */
  readonly republish: (inFlight: InFlightMessage) => void;
};

/** The last sequence of EVENTS at a moment, in consumer uptime. */
type Sample = { readonly atMs: number; readonly lastSeq: number };

const { replayWindowMs, floorEveryMs, floorAgainMs } = limits.carrier;

export class ReplayFloor {
  readonly #parts: ReplayFloorParts;
  readonly #floors: ReplayFloors;
  #samples: Sample[] = [];
  #stored: FloorRecord = { stream: '', seq: 0, beforeAtNs: null, stopped: false };
  #storedAtMs = 0;
  /** `look` is in progress. */
  isLooking = false;
  #isOpen = false;
  #cancel: Cancel = () => {};
  /** Where nodes share the carrier: up to where this one has read the others' events. */
  readTo: () => Promise<number> = async () => Number.POSITIVE_INFINITY;

  constructor(parts: ReplayFloorParts) {
    this.#parts = parts;
    this.#floors = new ReplayFloors(parts.bus);
  }

  /** The first sequence to read. From then on the bus keeps what a restart needs. */
  async open(): Promise<number> {
    const { carrier, clock } = this.#parts;
    const [floor, ends] = [await this.#floors.read(carrier), await this.#floors.ends()];
    const isOther = floor !== null && (await this.#floors.isOfAnother(floor, clock));
    const seq = replayStart(isOther ? null : floor, ends);
    if (floor !== null && floor.seq !== seq) log.warn({ carrier, floor, ends }, 'the replay floor is not in EVENTS');
    await this.#store(ends.stream, seq);
    this.#samples = [{ atMs: this.#parts.uptime.ms, lastSeq: seq - 1 }];
    this.#parts.sequence.seen(seq - 1);
    this.#isOpen = true;
    this.#cancel = clock.every(floorEveryMs, () => void this.look());
    return seq;
  }

  async look(): Promise<void> {
    if (this.isLooking || !this.#isOpen) return;
    this.isLooking = true;
    try {
      await this.#advance();
    } catch (error) {
      ignoring(error, 'the replay floor is unchanged until the next check');
    } finally {
      this.isLooking = false;
    }
  }

  /** After a drain. `isAtRest`: everything has its outcome, and no other node serves the carrier. */
  async close(isAtRest: boolean): Promise<void> {
    this.#cancel();
    if (!this.#isOpen) return;
    this.#isOpen = false;
    if (!isAtRest || this.#pins().some(Number.isFinite)) return;
    await this.#store(this.#stored.stream, this.#stored.seq, true).catch((error: unknown) =>
      ignoring(error, 'EVENTS keeps for the next start what it would not need'),
    );
  }

  async #advance(): Promise<void> {
    const { clock, uptime, isReachable } = this.#parts;
    const uptimeMs = uptime.look(isReachable());
    const { stream, lastSeq } = await this.#floors.ends();
    if (stream !== this.#stored.stream || lastSeq < (this.#samples.at(-1)?.lastSeq ?? 0)) this.#forgetPlaces();
    const readTo = await this.readTo();
    this.#samples = kept([...this.#samples, { atMs: uptimeMs, lastSeq }], uptimeMs - replayWindowMs);
    this.#parts.sequence.seen(lastSeq);
    const windowSeq = (this.#samples[0] as Sample).lastSeq + 1;
    await this.#forgetWhatIsGone(windowSeq);
    this.#republishOldOnes(windowSeq);
    const seq = floorOf(windowSeq, readTo, this.#pins());
    const isSame = stream === this.#stored.stream && seq <= this.#stored.seq;
    if (isSame && clock.monotonicMs() - this.#storedAtMs < floorAgainMs) return;
    await this.#store(stream, isSame ? this.#stored.seq : seq);
  }

  #pins(): number[] {
    const { inFlight, replayIndex } = this.#parts;
    const pins = [replayIndex.needsFromSeq];
    for (const one of inFlight()) if (isNeeded(one)) pins.push(one.neededFromSeq);
    return pins;
  }

  /** An event whose record an operator purged must not keep EVENTS for ever. */
  async #forgetWhatIsGone(windowSeq: number): Promise<void> {
    const { bus, carrier, replayIndex } = this.#parts;
    if (replayIndex.needsFromSeq >= windowSeq) return;
    const oldestMs = await oldestStoredAtMs(bus, carrier);
    const forgotten = replayIndex.forgetBefore(oldestMs - replayWindowMs);
    if (forgotten > 0) log.warn({ carrier, forgotten }, 'begun messages whose records are gone are not waited for');
  }

  /** A waiting message with accepted segments must not keep minutes of all carriers' events. */
  #republishOldOnes(windowSeq: number): void {
    const { inFlight, republish } = this.#parts;
    let left: number = limits.carrier.republishedAtOnce;
    for (const one of inFlight()) {
      if (!isNeeded(one) || one.neededFromSeq >= windowSeq || !one.isAtRest) continue;
      republish(one);
      left -= 1;
      if (left === 0) return;
    }
  }

  /** EVENTS was recreated or has lost its end: it assigns sequences a second time, lower than those known. */
  startAgain(): void {
    this.#forgetPlaces();
    void this.look();
  }

  /** All known sequences are void; until new events are written, 1 is a safe floor. */
  #forgetPlaces(): void {
    const { inFlight, replayIndex, uptime } = this.#parts;
    for (const one of inFlight()) if (one.neededFromSeq > 0) one.neededFromSeq = 1;
    replayIndex.needAll();
    this.#samples = [{ atMs: uptime.ms, lastSeq: 0 }];
    this.#parts.sequence.seen(0);
    this.#stored = { ...this.#stored, seq: 0 };
  }

  async #store(stream: string, seq: number, stopped = false): Promise<void> {
    const { stream: storedStream, seq: storedSeq, beforeAtNs: known } = this.#stored;
    const isSame = stream === storedStream && seq === storedSeq;
    const record = { stream, seq, beforeAtNs: isSame ? known : await this.#floors.storedAtNs(seq - 1), stopped };
    await this.#floors.write(this.#parts.carrier, record);
    this.#stored = record;
    this.#storedAtMs = this.#parts.clock.monotonicMs();
  }
}

/**
 * Measures the time in which the lanes' consumers were reachable. An ack sent while they were not may be lost, and its
 * record is redelivered when they are back, however long that takes: entries kept for lost acks expire by this time.
 */
export class ConsumerUptime {
  readonly #clock: Clock;
  #ms = 0;
  #lookedAtMs: number;

  constructor(clock: Clock) {
    this.#clock = clock;
    this.#lookedAtMs = clock.monotonicMs();
  }

  /** As of the last call of `look`. */
  get ms(): number {
    return this.#ms;
  }

  /** Called every few seconds: adds the time since the last call when all were reachable. */
  look(isReachable: boolean): number {
    const nowMs = this.#clock.monotonicMs();
    if (isReachable) this.#ms += nowMs - this.#lookedAtMs;
    this.#lookedAtMs = nowMs;
    return this.#ms;
  }
}

/** The lowest of: the window's sequence, the first one not read here yet, and those of what has no outcome. */
export function floorOf(windowSeq: number, readTo: number, pins: readonly number[]): number {
  return Math.max(1, Math.min(windowSeq, readTo + 1, ...pins));
}

/** Those after that moment, and the last one before it. */
export function kept(samples: readonly Sample[], sinceMs: number): Sample[] {
  return samples.filter((_, at) => (samples[at + 1]?.atMs ?? Number.POSITIVE_INFINITY) > sinceMs);
}

/** A restart must know something of it: an intent is open, or segments were accepted. */
function isNeeded(inFlight: InFlightMessage): boolean {
  return inFlight.neededFromSeq > 0 && (!inFlight.isAtRest || inFlight.progress !== 0);
}

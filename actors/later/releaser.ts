// Publishes the records of one waiting stream (SCHEDULED, HOLDS or LATER) when they are due. One consumer per due
// second, opened shortly before it and only when it has records; any number of releasers share the work. A record is
// acked after its release is durable, and the release has a fixed id, so a repeat is dropped. A scheduled message also
// waits until the cancels of its second are closed (cancellations.ts); a canceled one is never released.
import type { JsMsg } from '@nats-io/jetstream';
import { asRepublished, isAgain } from '../../cluster/bus/republished.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../cluster/bus/consume.ts';
import { moveToDead } from '../../cluster/bus/dead-letter.ts';
import { type Cancellations, cancellations } from '../../cluster/bus/cancellations.ts';
import type { EventWriter } from '../../cluster/bus/event-writer.ts';
import { type ReadLater, readLater } from '../../cluster/bus/later.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { streamNames, waitConsumer } from '../../cluster/bus/streams.ts';
import { hourOf, type WaitKind } from '../../cluster/bus/subjects.ts';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { DueReleases } from './due-releases.ts';
import { DueSeconds } from './due-seconds.ts';
import type { ReleaseRules } from './release-rules.ts';

type OpenSecond = { consumption: Consumption | null; openedAtMs: number; held: number };

const lookEveryMs = 250;
/** A second is checked until this long after it ended: its last records may have been published just now. */
const lookBackSeconds = 3;
/** Opened this early, the consumer is ready for a second's first record. */
const lookAheadSeconds = 2;
/** A check is followed by a pause of this many times its duration. */
const restFactor = 8;
/** Interval of the search for stragglers (a releaser crashed, a second was closed too soon). */
const sweepEveryMs = 30_000;
const overdueLookMs = 100;
const secondsOpenMax = 64;
const closeAgainMs = 200;
/** Cancels of an hour are kept this many hours longer: more than any two clocks differ. */
const hoursKept = 2;

/** What scheduled messages need besides; without it they are released as they were published. */
export type ScheduledParts = {
  readonly rules: ReleaseRules;
  readonly events: EventWriter;
  /** Something was released to a carrier that is not configured. */
  readonly onRemoved?: () => void;
};

export type ReleaserOptions = {
  /** The stream it serves. */
  readonly kind?: WaitKind;
  readonly scheduled?: ScheduledParts | null;
  readonly clock?: Clock;
  readonly mayRelease?: () => boolean; // false: this machine's clock is wrong, others release
};

export class LaterReleaser {
  readonly #kind: WaitKind;
  readonly #mayRelease: () => boolean;
  readonly #stream: string;
  readonly #seconds: DueSeconds;
  readonly #bus: Bus;
  readonly #publisher: Publisher;
  readonly #clock: Clock;
  readonly #open = new Map<number, OpenSecond>();
  readonly #timers: Cancel[] = [];
  readonly #scheduled: ScheduledParts | null;
  readonly #cancellations: Cancellations;
  readonly #endPublisher: Publisher;
  /** The cancels of a second, read when its first scheduled message is taken. */
  readonly #canceled = new Map<number, Promise<ReadonlySet<string>>>();
  readonly #due: DueReleases<OpenSecond>;
  #hourForgotten = 0;
  #restUntilMs = 0;
  /** Hours that may hold overdue records: at the start all of the past, then what a sweep adds. */
  readonly #overdueHours = new Set<number>();
  #looking = false;
  #stopped = false;

  constructor(bus: Bus, publisher: Publisher, options: ReleaserOptions = {}) {
    const { kind = 'scheduled', scheduled = null, clock = systemClock } = options;
    this.#mayRelease = options.mayRelease ?? (() => true);
    this.#kind = kind;
    this.#stream = streamNames.waiting[kind];
    this.#seconds = new DueSeconds(bus, kind);
    this.#scheduled = scheduled;
    // The ends of cancels must not queue behind the releases that wait for them.
    this.#endPublisher = new Publisher(bus, { clock });
    this.#cancellations = cancellations(bus, this.#endPublisher, clock);
    this.#bus = bus;
    this.#publisher = publisher;
    this.#clock = clock;
    this.#due = new DueReleases<OpenSecond>({
      // All that the open seconds may hold.
      max: secondsOpenMax * limits.bus.laterHeldMax,
      hasCapacity: (subject) => publisher.hasCapacity(subject),
      publish: ({ later, record, open }) => this.#publish(later, record, open),
      clock,
    });
  }

  /** Begins with everything that became due while no releaser ran. */
  async start(): Promise<void> {
    const hour = hourOf(Math.floor(this.#clock.nowMs() / 1_000));
    // What became due an hour ago matters more than what became due a week ago.
    for (let back = 0; back <= limits.bus.laterDaysMax * 24; back += 1) this.#overdueHours.add(hour - back);
    this.#timers.push(this.#clock.every(lookEveryMs, () => void this.#look()));
    this.#timers.push(this.#clock.every(sweepEveryMs, () => this.#sweep()));
    // With the bus down at the start the periodic checks continue.
    await this.#look();
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#timers) cancel();
    this.#due.close();
    await Promise.all([...this.#open.values()].map(async (each) => each.consumption?.stop()));
    this.#open.clear();
    this.#endPublisher.close();
  }

  async #look(): Promise<void> {
    if (this.#looking || this.#stopped || !this.#mayRelease() || this.#clock.monotonicMs() < this.#restUntilMs) return;
    this.#looking = true;
    try {
      const second = Math.floor(this.#clock.nowMs() / 1_000);
      const beganAtMs = this.#clock.monotonicMs();
      // This hour's, and those of the neighbouring hour within reach.
      const hours = [second - lookBackSeconds, second + lookAheadSeconds].map(hourOf);
      const waiting = await this.#seconds.ofHours(hours);
      // The server scans all subjects for an answer: with a million of them it is not asked four times a second.
      this.#restUntilMs = this.#clock.monotonicMs() + (this.#clock.monotonicMs() - beganAtMs) * restFactor;
      for (const due of waiting) {
        if (due > second + lookAheadSeconds || this.#open.has(due)) continue;
        // One place is reserved for the present second, whatever is overdue.
        if (due < second - lookBackSeconds && this.#open.size >= secondsOpenMax) continue;
        await this.#openSecond(due);
      }
      await this.#closeFinished(second, new Set(waiting));
      await this.#openOverdue();
    } catch (error) {
      ignoring(error, `${this.#stream} could not be looked at; the next look comes soon`);
    } finally {
      this.#looking = false;
    }
  }

  #sweep(): void {
    const hour = hourOf(Math.floor(this.#clock.nowMs() / 1_000));
    this.#overdueHours.add(hour - 1);
    this.#overdueHours.add(hour);
    void this.#forgetCancels(hour - hoursKept).catch((error: unknown) =>
      ignoring(error, 'the cancels of an hour that is over are forgotten at the next sweep'),
    );
  }

  /** The ends of cancels must stay while any clock may consider the hour open, or a message of it still waits. */
  async #forgetCancels(hour: number): Promise<void> {
    if (this.#kind !== 'scheduled') return;
    if (this.#hourForgotten >= hour || (await this.#seconds.ofHours([hour])).length > 0) return;
    await this.#cancellations.forget(hour);
    this.#hourForgotten = hour;
  }

  /**
   * Opens overdue seconds, hour by hour; an hour stays listed until all its seconds are open. Bounded in time: with a
   * million subjects the hours of a month take a minute, and the present second must not wait.
   */
  async #openOverdue(): Promise<void> {
    const now = Math.floor(this.#clock.nowMs() / 1_000);
    const endAtMs = this.#clock.monotonicMs() + overdueLookMs;
    for (const hour of this.#overdueHours) {
      for (const second of await this.#seconds.ofHours([hour])) {
        if (second > now || this.#open.has(second)) continue;
        if (this.#open.size >= secondsOpenMax) return;
        await this.#openSecond(second);
      }
      this.#overdueHours.delete(hour);
      if (this.#clock.monotonicMs() >= endAtMs) return;
    }
  }

  async #openSecond(second: number): Promise<void> {
    if (this.#stopped) return;
    const open: OpenSecond = { consumption: null, openedAtMs: 0, held: 0 };
    open.consumption = await consumeStream(this.#bus, {
      stream: this.#stream,
      consumer: waitConsumer(this.#kind, second),
      prefetch: limits.bus.laterHeldMax,
      handle: (record) => this.#take(second, record, open),
      clock: this.#clock,
    });
    open.openedAtMs = this.#clock.monotonicMs();
    this.#open.set(second, open);
  }

  async #closeFinished(now: number, waiting: ReadonlySet<number>): Promise<void> {
    for (const [second, open] of this.#open) {
      const oldEnough = this.#clock.monotonicMs() - open.openedAtMs > lookBackSeconds * 1_000;
      if (second >= now - lookBackSeconds || !oldEnough || open.held > 0) continue;
      if (waiting.has(second)) continue;
      // A second of an earlier hour was not checked now.
      if (hourOf(second) < hourOf(now) && !(await this.#seconds.isEmpty(second))) continue;
      this.#open.delete(second);
      this.#canceled.delete(second);
      await open.consumption?.stop();
      await this.#bus.manager.consumers
        .delete(this.#stream, `${this.#kind}_${second}`)
        .catch((error: unknown) => ignoring(error, 'another releaser deleted the consumer of a finished second'));
    }
  }

  #take(second: number, record: JsMsg, open: OpenSecond): void {
    const later = readLater(record);
    if (later === null)
      return moveToDead(this.#publisher, record, this.#stream, 'a waiting record without its headers');
    open.held += 1;
    if (later.cancelable !== null) return this.#takeScheduled(second, later, record, open);
    this.#releaseWhenDue(later, record, open);
  }

  #takeScheduled(second: number, later: ReadLater, record: JsMsg, open: OpenSecond): void {
    let canceled = this.#canceled.get(second);
    if (canceled === undefined) {
      canceled = this.#endCancels(second);
      this.#canceled.set(second, canceled);
    }
    canceled.then(
      (ids) => {
        if (ids.has(later.cancelable as string)) this.#endCanceled(record, open);
        else this.#releaseWhenDue(later, record, open);
      },
      (error: unknown) => {
        ignoring(error, 'the releaser stops; the record is redelivered to the next one');
        open.held -= 1;
      },
    );
  }

  /** As late as possible: until then clients may cancel. Retried until certain: nothing is released before. */
  async #endCancels(second: number): Promise<ReadonlySet<string>> {
    await this.#clock.sleep(Math.max(0, second * 1_000 - limits.bus.cancelsEndAheadMs - this.#clock.nowMs()));
    while (!this.#stopped) {
      try {
        return await this.#cancellations.close(second);
      } catch (error) {
        log.warn({ second, error: messageOf(error) }, 'whether scheduled messages were canceled is not certain yet');
        await this.#clock.sleep(closeAgainMs);
      }
    }
    throw new Error('stopped');
  }

  #releaseWhenDue(later: ReadLater, record: JsMsg, open: OpenSecond): void {
    // A record waits here for two seconds at the most, far less than ack_wait.
    const waitMs = later.dueAtMs - this.#clock.nowMs();
    if (waitMs <= 0) return this.#release(later, record, open);
    // Checked again: a timer may fire a moment before the wall clock says so.
    this.#clock.after(waitMs, () => this.#releaseWhenDue(later, record, open));
  }

  #release(later: ReadLater, record: JsMsg, open: OpenSecond): void {
    // A whole second can be due at once: the rest queues here.
    if (this.#publisher.hasCapacity(later.subject)) return this.#publish(later, record, open);
    if (this.#due.add({ later, record, open })) return;
    // More than all open seconds may hold: it is redelivered.
    open.held -= 1;
    record.nak(limits.bus.nakDelayMsMax);
  }

  #publish(later: ReadLater, record: JsMsg, open: OpenSecond): void {
    const payload = this.#payloadOf(later, record, open);
    if (payload === null) return;
    this.#publisher.publish(
      later.subject,
      payload,
      later.releaseId,
      (result) => {
        open.held -= 1;
        if (result.ok) {
          metrics.laterReleased.inc();
          record.ack();
          if (this.#scheduled?.rules.isRemoved(later.subject)) this.#scheduled.onRemoved?.();
        } else {
          log.warn({ failure: result.failure, subject: later.subject }, 'a release waits');
          record.nak(limits.bus.nakDelayMsMax);
        }
        this.#due.drain();
      },
      this.#mayBeForgotten(later, record) ? asRepublished : undefined,
    );
  }

  /** It may have been released before, so long ago that MT would accept it as a new record. */
  #mayBeForgotten({ dueAtMs }: ReadLater, record: JsMsg): boolean {
    if (isAgain(record)) return true;
    return record.redelivered && this.#clock.nowMs() - dueAtMs > limits.bus.duplicateWindowMs / 2;
  }

  /** Null: the record cannot be read, and DEAD has it. */
  #payloadOf({ subject, cancelable }: ReadLater, record: JsMsg, open: OpenSecond): Uint8Array | null {
    if (cancelable === null || this.#scheduled === null) return record.data;
    try {
      return this.#scheduled.rules.payloadOf(subject, record.data);
    } catch (error) {
      open.held -= 1;
      moveToDead(this.#publisher, record, this.#stream, messageOf(error));
      return null;
    }
  }

  /** Acked when its final event is durable. */
  #endCanceled(record: JsMsg, open: OpenSecond): void {
    if (this.#scheduled === null) {
      open.held -= 1;
      return record.ack();
    }
    const { rules, events } = this.#scheduled;
    try {
      events.write(rules.canceled(record.data, this.#clock.nowMs()), (durable) => {
        open.held -= 1;
        if (durable) record.ack();
      });
    } catch (error) {
      open.held -= 1;
      moveToDead(this.#publisher, record, this.#stream, messageOf(error));
    }
  }
}

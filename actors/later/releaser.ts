// Publishes the records of LATER back when they are due. One consumer per due second, opened just before the second
// comes and something waits in it; any number of releasers may run, they share the work. A record is acked
// only after its release is durable, and the release carries a fixed id, so a repeat is dropped. A scheduled message
// waits here for the end of its second's cancels (cancellations.ts) too, and what was canceled is never released.
import type { JsMsg } from '@nats-io/jetstream';
import type { Bus } from '../../cluster/bus/connect.ts';
import { type Consumption, consumeStream } from '../../cluster/bus/consume.ts';
import { moveToDead } from '../../cluster/bus/dead.ts';
import { type Cancellations, cancellations } from '../../cluster/bus/cancellations.ts';
import type { EventWriter } from '../../cluster/bus/event-writer.ts';
import { type ReadLater, readLater } from '../../cluster/bus/later.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { laterConsumer, streamNames } from '../../cluster/bus/streams.ts';
import { hourOf, laterHourFilter, laterSecondFilter, secondOfLaterSubject } from '../../cluster/bus/subjects.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Release, ReleaseRules } from './release-rules.ts';

type OpenSecond = { readonly consumption: Consumption; readonly openedAtMs: number; held: number };

const lookEveryMs = 250;
/** A second is looked at until this long after it ended: its last records may have been published just now. */
const lookBackSeconds = 3;
/** Opened before it begins, a second's first record need not wait for its consumer. */
const lookAheadSeconds = 1;
/** Stragglers (a releaser died, a second was closed too soon) are looked for this often. */
const sweepEveryMs = 30_000;
const secondsOpenMax = 64;
const releaseAgainMs = 5;
const closeAgainMs = 200;
/** Cancels of an hour are kept this long behind it: longer than any two clocks differ. */
const hoursKept = 2;

/** What scheduled messages need besides; without it they are released as they were published. */
export type ScheduledParts = { readonly rules: ReleaseRules; readonly events: EventWriter };

export class LaterReleaser {
  readonly #bus: Bus;
  readonly #publisher: Publisher;
  readonly #clock: Clock;
  readonly #open = new Map<number, OpenSecond>();
  readonly #timers: Cancel[] = [];
  readonly #scheduled: ScheduledParts | null;
  readonly #cancellations: Cancellations;
  /** What was canceled of a second, asked when its first scheduled message is taken. */
  readonly #canceled = new Map<number, Promise<ReadonlySet<string>>>();
  #hourForgotten = 0;
  /** Hours that may hold overdue records: at the start all of the past, then what a sweep adds. */
  readonly #overdueHours = new Set<number>();
  #looking = false;
  #stopped = false;

  constructor(bus: Bus, publisher: Publisher, scheduled: ScheduledParts | null = null, clock: Clock = systemClock) {
    this.#scheduled = scheduled;
    this.#cancellations = cancellations(bus, publisher, clock);
    this.#bus = bus;
    this.#publisher = publisher;
    this.#clock = clock;
  }

  /** Begins with everything that became due while nobody was there. */
  async start(): Promise<void> {
    const hour = hourOf(Math.floor(this.#clock.nowMs() / 1_000));
    for (let back = limits.bus.laterDaysMax * 24; back >= 0; back -= 1) this.#overdueHours.add(hour - back);
    await this.#openOverdue();
    this.#timers.push(this.#clock.every(lookEveryMs, () => void this.#look()));
    this.#timers.push(this.#clock.every(sweepEveryMs, () => this.#sweep()));
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#timers) cancel();
    await Promise.all([...this.#open.values()].map((each) => each.consumption.stop()));
    this.#open.clear();
  }

  async #look(): Promise<void> {
    if (this.#looking || this.#stopped) return;
    this.#looking = true;
    try {
      const second = Math.floor(this.#clock.nowMs() / 1_000);
      for (let back = lookBackSeconds; back >= -lookAheadSeconds; back -= 1) {
        if (!this.#open.has(second - back) && (await this.#count(laterSecondFilter(second - back))).length > 0) {
          await this.#openSecond(second - back);
        }
      }
      await this.#closeFinished(second);
      await this.#openOverdue();
    } catch (error) {
      ignoring(error, 'LATER could not be looked at; the next look comes soon');
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

  /** Their ends must stay as long as some clock may take the hour for open, or a message of it still waits. */
  async #forgetCancels(hour: number): Promise<void> {
    if (this.#hourForgotten >= hour || (await this.#count(laterHourFilter(hour))).length > 0) return;
    await this.#cancellations.forget(hour);
    this.#hourForgotten = hour;
  }

  /** Opens overdue seconds, oldest hour first; an hour stays on the list until none of its seconds is left out. */
  async #openOverdue(): Promise<void> {
    const now = Math.floor(this.#clock.nowMs() / 1_000);
    for (const hour of this.#overdueHours) {
      const seconds = new Set((await this.#count(laterHourFilter(hour))).map(secondOfLaterSubject));
      for (const second of [...seconds].sort((one, other) => one - other)) {
        if (second > now || this.#open.has(second)) continue;
        if (this.#open.size >= secondsOpenMax) return;
        await this.#openSecond(second);
      }
      this.#overdueHours.delete(hour);
    }
  }

  /** The subjects under `filter` that hold records. */
  async #count(filter: string): Promise<string[]> {
    const info = await this.#bus.manager.streams.info(streamNames.later, { subjects_filter: filter });
    return Object.keys(info.state.subjects ?? {});
  }

  async #openSecond(second: number): Promise<void> {
    if (this.#stopped) return;
    const consumption = await consumeStream(this.#bus, {
      stream: streamNames.later,
      consumer: laterConsumer(second),
      prefetch: limits.bus.laterHeldMax,
      handle: (record) => this.#take(second, record),
      clock: this.#clock,
    });
    this.#open.set(second, { consumption, openedAtMs: this.#clock.monotonicMs(), held: 0 });
  }

  async #closeFinished(now: number): Promise<void> {
    for (const [second, open] of this.#open) {
      const oldEnough = this.#clock.monotonicMs() - open.openedAtMs > lookBackSeconds * 1_000;
      if (second >= now - lookBackSeconds || !oldEnough || open.held > 0) continue;
      if ((await this.#count(laterSecondFilter(second))).length > 0) continue;
      this.#open.delete(second);
      this.#canceled.delete(second);
      await open.consumption.stop();
      await this.#bus.manager.consumers
        .delete(streamNames.later, `later_${second}`)
        .catch((error: unknown) => ignoring(error, 'another releaser deleted the consumer of a finished second'));
    }
  }

  #take(second: number, record: JsMsg): void {
    const later = readLater(record);
    if (later === null)
      return moveToDead(this.#publisher, record, streamNames.later, 'a LATER record without its headers');
    const open = this.#open.get(second);
    if (open !== undefined) open.held += 1;
    if (later.cancelable !== null) return this.#takeScheduled(second, later, record, open);
    this.#releaseWhenDue(later, record, open);
  }

  #takeScheduled(second: number, later: ReadLater, record: JsMsg, open: OpenSecond | undefined): void {
    let canceled = this.#canceled.get(second);
    if (canceled === undefined) {
      canceled = this.#endCancels(second);
      this.#canceled.set(second, canceled);
    }
    canceled.then(
      (ids) => {
        if (ids.has(later.cancelable as string))
          this.#end(record, open, (rules, nowMs) => rules.canceled(record.data, nowMs));
        else this.#releaseWhenDue(later, record, open);
      },
      (error: unknown) => {
        ignoring(error, 'the releaser stops; the record is offered to the next one');
        if (open !== undefined) open.held -= 1;
      },
    );
  }

  /** Not before it must: until then clients may cancel. Tried until it is certain, because nothing goes out before. */
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

  #releaseWhenDue(later: ReadLater, record: JsMsg, open: OpenSecond | undefined): void {
    // A record waits here for two seconds at the most, far less than ack_wait.
    const waitMs = later.dueAtMs - this.#clock.nowMs();
    if (waitMs <= 0) return this.#release(later, record, open);
    // Looked at again: a timer may come a moment before the wall clock does.
    this.#clock.after(waitMs, () => this.#releaseWhenDue(later, record, open));
  }

  #release(later: ReadLater, record: JsMsg, open: OpenSecond | undefined): void {
    // A whole second can be due at once: it waits its turn here, where laterHeldMax bounds it.
    if (!this.#publisher.hasRoom && !this.#stopped) {
      this.#clock.after(releaseAgainMs, () => this.#release(later, record, open));
      return;
    }
    const release = this.#releaseOf(later, record, open);
    if (release === null) return;
    if (release.action === 'end') return this.#end(record, open, () => release.event);
    this.#publisher.publish(release.subject, release.payload, later.releaseId, (result) => {
      if (open !== undefined) open.held -= 1;
      if (result.ok) {
        metrics.laterReleased.inc();
        record.ack();
      } else {
        log.warn({ failure: result.failure, subject: later.subject }, 'a release from LATER waits');
        record.nak(limits.bus.nakDelayMsMax);
      }
    });
  }

  /** Null: the record cannot be read, and DEAD has it. */
  #releaseOf(later: ReadLater, record: JsMsg, open: OpenSecond | undefined): Release | null {
    const { subject, cancelable } = later;
    if (cancelable === null || this.#scheduled === null) return { action: 'publish', subject, payload: record.data };
    try {
      return this.#scheduled.rules.releaseOf(subject, record.data, this.#clock.nowMs());
    } catch (error) {
      if (open !== undefined) open.held -= 1;
      moveToDead(this.#publisher, record, streamNames.later, messageOf(error));
      return null;
    }
  }

  /** The message ends without being sent: acked when that is told. */
  #end(
    record: JsMsg,
    open: OpenSecond | undefined,
    eventOf: (rules: ReleaseRules, nowMs: number) => DeliveryEvent,
  ): void {
    const leave = () => {
      if (open !== undefined) open.held -= 1;
    };
    if (this.#scheduled === null) {
      leave();
      return record.ack();
    }
    const { rules, events } = this.#scheduled;
    try {
      events.write(eventOf(rules, this.#clock.nowMs()), (durable) => {
        leave();
        if (durable) record.ack();
      });
    } catch (error) {
      leave();
      moveToDead(this.#publisher, record, streamNames.later, messageOf(error));
    }
  }
}

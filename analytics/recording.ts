// What only the recording node does: the recorder, and with it the recorders of clicks and facts, erasures, reaper, purge, trim
// and summaries. A node that was fenced records again only when the other one has been silent while records waited.
import { readEntry } from '../cluster/bus/bucket.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { type Erasure, erasureJobs } from '../cluster/bus/erasures.ts';
import type { EventWriter } from '../cluster/bus/event-writer.ts';
import type { Publisher } from '../cluster/bus/publisher.ts';
import { changeSince } from '../cluster/bus/stream-position.ts';
import { streamNames } from '../cluster/bus/streams.ts';
import type { DeliveryEvent } from '../model/delivery-event.ts';
import type { NumberHashes } from '../model/number-hash.ts';
import type { Clock } from '../platform/clock.ts';
import { untilDone, withDeadline } from '../platform/deadline.ts';
import { ignoring, messageOf } from '../platform/errors.ts';
import { log } from '../platform/log.ts';
import type { EraseRows, EraseRowsReply } from './contract.ts';
import { progressOfClicks } from './clicks/click-recorder.ts';
import { type ClickRecording, recordClicks } from './clicks/record-clicks.ts';
import { receiptsOver } from './clicks/receipts.ts';
import { ErasedNumbers } from './erasure/erased-numbers.ts';
import { LackingErasures } from './erasure/lacking-erasures.ts';
import { type RowEraser, openRowEraser } from './erasure/row-eraser.ts';
import { type FactRecorder, recordFacts } from './otp/fact-recorder.ts';
import { lateChangesOver } from './otp/late-changes.ts';
import { startSummarizer } from './otp/summarizer.ts';
import { startPurge } from './purge.ts';
import type { Arrivals } from './queries/arrivals.ts';
import type { RecordedEvents } from './queries/recorded-events.ts';
import { unavailable, upToDateOver } from './queries/up-to-date.ts';
import { startReaper } from './reaper/reaper.ts';
import { unflushedOver } from './recorder/batch.ts';
import { type ProgressRecord, progressKey, reachedBy } from './recorder/progress.ts';
import { type Recorder, startRecorder } from './recorder/recorder.ts';
import type { Engine } from './store/engine.ts';
import type { KeptDays } from './store/retention.ts';
import { type TrimmedDays, startTrim } from './store/trim.ts';

export type RecordingParts = {
  readonly bus: Bus;
  readonly engine: Engine;
  readonly publisher: Publisher;
  readonly writer: EventWriter;
  readonly numbers: NumberHashes;
  readonly arrivals: Arrivals;
  readonly recorded: RecordedEvents;
  readonly retention: TrimmedDays & KeptDays;
  readonly linkDays: number;
  /** Erasures that this machine knows, beside those in NATS. */
  readonly knownErasures: () => readonly Erasure[];
  /** This node records from now on, or not any more. */
  readonly changed: (isRecording: boolean) => void;
  readonly clock: Clock;
};

/** What goes with the recorder. */
type Keepers = {
  /** Reaper, purge, trim and summaries. */
  readonly timed: readonly { stop(): void }[];
  readonly clicks: ClickRecording;
  readonly facts: FactRecorder;
};

const watchEveryMs = 5_000;

export class Recording {
  readonly #parts: RecordingParts;
  readonly #stopping = new AbortController();
  readonly #erased = new ErasedNumbers();
  #recorder: Recorder | null = null;
  #keepers: Keepers | null = null;
  #eraser: RowEraser | null = null;
  #clicksReached = 0;
  #isFenced = false;

  readonly lacking: LackingErasures;
  readonly unflushed = unflushedOver(() => this.#recorder?.unflushed() ?? []);
  readonly upToDate;

  constructor(parts: RecordingParts) {
    this.#parts = parts;
    this.lacking = new LackingErasures(parts.clock.nowMs());
    this.upToDate = upToDateOver(parts.bus, () => this.#recorder, parts.clock);
  }

  /** Null: this node does not record now. */
  get recorder(): Recorder | null {
    return this.#recorder;
  }

  /** Another node records. */
  get isFenced(): boolean {
    return this.#isFenced;
  }

  /** What an earlier process recorded is in its progress. */
  async clicksRecordedTo(): Promise<number> {
    const { entry } = await readEntry(await openBucket(this.#parts.bus, 'recorder'), progressOfClicks.key);
    return Math.max(this.#clicksReached, entry?.json<ProgressRecord>().recordedTo ?? 0);
  }

  async eraseRows(query: EraseRows): Promise<EraseRowsReply> {
    return this.#eraser?.(query) ?? unavailable('away', 'only the node that records erases');
  }

  /** Takes over; resolves when it reads. */
  async begin(): Promise<void> {
    const { bus, engine, publisher, arrivals, numbers, retention, changed, knownErasures, clock } = this.#parts;
    const erased = this.#erased;
    for (const each of [...knownErasures(), ...(await erasureJobs(bus))]) erased.add(each);
    const arrived = ({ messageId }: DeliveryEvent) => arrivals.arrived(messageId);
    const late = lateChangesOver(engine, retention.historyDays, clock);
    const recorder = await startRecorder({ bus, engine, publisher, erased, arrived, numbers, late, clock });
    this.#recorder = recorder;
    this.#isFenced = false;
    this.#clicksReached = 0;
    changed(true);
    this.#keepers = this.#keep(recorder, late);
    const ending = new AbortController();
    void recorder.ended.then((how) => {
      ending.abort(new Error('this node does not record any more'));
      this.#ended(how);
    });
    await this.#openEraser(recorder, ending.signal);
  }

  stopTimed(): void {
    for (const each of this.#keepers?.timed ?? []) each.stop();
  }

  /** From now on it does not begin again. */
  announceStop(): void {
    this.#stopping.abort(new Error('the analytics node stops'));
    this.stopTimed();
  }

  /** Clicks and facts, while the recorder still knows what was delivered. */
  async stopKeepers(deadlineMs: number): Promise<void> {
    await this.#keepers?.clicks.stop(deadlineMs * 0.7);
    const facts = this.#keepers?.facts.stop() ?? Promise.resolve();
    await withDeadline('the last facts', deadlineMs * 0.3, facts).catch((error: unknown) =>
      ignoring(error, 'they are delivered again after the next start'),
    );
  }

  /** Only the recording node may reap and purge: only it knows which events are not flushed yet. */
  #keep(recorder: Recorder, late: ReturnType<typeof lateChangesOver>): Keepers {
    const { bus, engine, publisher, writer, recorded, retention, linkDays, clock } = this.#parts;
    const { unflushed, upToDate } = this;
    const receipts = receiptsOver({ engine, recorded, unflushed, upToDate, clock });
    const reached = (seq: number) => (this.#clicksReached = seq);
    return {
      timed: [
        startReaper({
          ...{ engine, recorded, unflushed, upToDate, writer, clock },
          bucket: () => openBucket(bus, 'recorder'),
          heldSinceMs: () => recorder.heldSinceMs,
        }),
        startPurge(bus, () => recorder.recorded, clock),
        startTrim(engine, retention, linkDays, clock),
        startSummarizer({
          ...{ engine, late, clock },
          recorderLateMs: () => recorder.lateMs,
          historyDays: retention.historyDays,
        }),
      ],
      clicks: recordClicks({ bus, engine, publisher, receipts, reached, clock }),
      facts: recordFacts({ bus, engine, publisher, late, clock }),
    };
  }

  /** Once now, so that what the store lacks is known when the node is ready; then again and again. */
  async #openEraser(recorder: Recorder, stopping: AbortSignal): Promise<void> {
    const { bus, engine, numbers, knownErasures: knownHere, clock } = this.#parts;
    const recordedTo = () => recorder.recordedTo;
    const clicksRecordedTo = () => this.clicksRecordedTo();
    const from = { bus, engine, erased: this.#erased, lacking: this.lacking, numbers, knownHere };
    const open = async () => {
      const opened = await openRowEraser({ ...from, recordedTo, clicksRecordedTo, clock, stopping });
      if (!stopping.aborted) this.#eraser = opened;
    };
    const failed = (error: string) => log.warn({ error }, 'erasures of this store cannot be read yet');
    try {
      await open();
    } catch (error) {
      failed(messageOf(error));
      void untilDone(open, failed, { everyMs: watchEveryMs, stopping, clock });
    }
  }

  #ended(how: Awaited<Recorder['ended']>): void {
    const isStopping = this.#stopping.signal.aborted;
    this.#recorder = null;
    this.#eraser = null;
    this.#isFenced = how === 'fenced';
    if (!isStopping) this.#parts.changed(false);
    this.stopTimed();
    void this.#keepers?.clicks.stop(0);
    void this.#keepers?.facts.stop();
    this.#keepers = null;
    if (isStopping) return;
    if (how === 'fenced') void this.#waitForSilence();
    if (how === 'stream_changed') void this.#beginAgain();
  }

  #beginAgain(): Promise<unknown> {
    const failed = (error: string) => log.warn({ error }, 'this node could not start to record and tries again');
    const { clock } = this.#parts;
    return untilDone(() => this.begin(), failed, { everyMs: watchEveryMs, stopping: this.#stopping.signal, clock });
  }

  async #waitForSilence(): Promise<void> {
    const { bus, clock } = this.#parts;
    const { signal } = this.#stopping;
    const bucket = await openBucket(bus, 'recorder');
    let seen = -1;
    for (let silentMs = 0; !signal.aborted; silentMs += watchEveryMs) {
      try {
        await clock.sleep(watchEveryMs, signal);
        const read = await withDeadline('reading the progress', watchEveryMs, readEntry(bucket, progressKey));
        const behind = await hasMoreThan(bus, read.entry?.json<ProgressRecord>() ?? null, clock);
        if (!behind || seen !== read.revision) silentMs = 0;
        seen = read.revision;
        if (silentMs >= 4 * watchEveryMs && !signal.aborted) return await this.begin();
      } catch (error) {
        if (signal.aborted) return;
        log.warn({ error: messageOf(error) }, 'the other recorder could not be watched');
      }
    }
  }
}

/** Whether EVENTS has records that the owner of this progress has not started to record. */
async function hasMoreThan(bus: Bus, progress: ProgressRecord | null, clock: Clock): Promise<boolean> {
  const { state } = await bus.manager.streams.info(streamNames.events);
  if (state.messages === 0) return false;
  if (progress === null) return true;
  const reached = reachedBy(progress);
  return state.last_seq > reached.seq || (await changeSince(bus, streamNames.events, reached, clock)) !== null;
}

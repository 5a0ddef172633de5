// The parts of the analytics role: store, recorder, query server, reaper and purge. A node whose recorder is fenced
// still answers queries, and records again only when the other one has been silent while records waited.
import { readEntry } from '../cluster/bus/bucket.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { erasureJobs } from '../cluster/bus/erasures.ts';
import { EventWriter } from '../cluster/bus/event-writer.ts';
import { numberKey } from '../cluster/bus/installation-secret.ts';
import { Publisher } from '../cluster/bus/publisher.ts';
import { changeSince } from '../cluster/bus/stream-position.ts';
import { streamNames } from '../cluster/bus/streams.ts';
import type { DeliveryEvent } from '../model/delivery-event.ts';
import { NumberHashes } from '../model/number-hash.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { untilDone, withDeadline } from '../platform/deadline.ts';
import { ignoring, messageOf } from '../platform/errors.ts';
import { retentionDefault } from '../config/retention-schema.ts';
import { type Shares, defaultShares } from '../platform/limits-shares.ts';
import { linkDaysDefault } from '../platform/limits-streams.ts';
import { log } from '../platform/log.ts';
import { SharedBound } from '../platform/shared-bound.ts';
import { metrics } from '../platform/telemetry.ts';
import type { EraseRows, EraseRowsReply } from './contract.ts';
import { progressOfClicks } from './clicks/click-recorder.ts';
import { type ClickRecording, recordClicks } from './clicks/record-clicks.ts';
import { receiptsOver } from './clicks/receipts.ts';
import { ErasedNumbers } from './erasure/erased-numbers.ts';
import { type RowEraser, openRowEraser } from './erasure/row-eraser.ts';
import { type FactRecorder, recordFacts } from './otp/fact-recorder.ts';
import { lateChangesOver } from './otp/late-changes.ts';
import { startSummarizer } from './otp/summarizer.ts';
import { startPurge } from './purge.ts';
import { type QueryServer, serveQueries } from './queries/query-server.ts';
import { serveReports } from './queries/report-server.ts';
import { Arrivals } from './queries/arrivals.ts';
import { recordedUntilOver } from './queries/recorded-until.ts';
import { RecordedEvents } from './queries/recorded-events.ts';
import { unflushedOver } from './recorder/batch.ts';
import { unavailable, upToDateOver } from './queries/up-to-date.ts';
import { startReaper } from './reaper/reaper.ts';
import { type ProgressRecord, progressKey, reachedBy } from './recorder/progress.ts';
import { type Recorder, startRecorder } from './recorder/recorder.ts';
import type { Engine } from './store/engine.ts';
import type { KeptDays } from './store/retention.ts';
import { type TrimmedDays, startTrim } from './store/trim.ts';

export type AnalyticsNode = {
  health(): { ok: boolean; detail: string };
  /** How late the recorder is, in ms (recorder.ts); 0 while another node records. */
  readonly lateMs: number;
  /** Records the events read so far, answers pending queries, and closes the engine. */
  stop(deadlineMs: number): Promise<void>;
};

/** What only the recording node has. */
type Keepers = {
  /** Reaper, purge, trim and summaries. */
  readonly timed: readonly { stop(): void }[];
  readonly clicks: ClickRecording;
  readonly facts: FactRecorder;
};

const watchEveryMs = 5_000;

/** The schema must be applied. Resolves when the recorder reads and queries are answered. */
export async function startAnalytics(
  bus: Bus,
  engine: Engine,
  {
    shares = defaultShares,
    retention = retentionDefault,
    linkDays = linkDaysDefault,
    clock = systemClock,
  }: { shares?: Shares; retention?: TrimmedDays & KeptDays; linkDays?: number; clock?: Clock } = {},
): Promise<AnalyticsNode> {
  const publisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const writer = new EventWriter(publisher);
  const arrivals = new Arrivals(clock);
  const recorded = new RecordedEvents(engine);
  let recorder: Recorder | null = null;
  const erased = new ErasedNumbers();
  let eraser: RowEraser | null = null;
  const stopping = new AbortController();
  let keepers: Keepers | null = null;
  const unflushed = unflushedOver(() => recorder?.unflushed() ?? []);
  const upToDate = upToDateOver(bus, () => recorder, clock);
  const receipts = receiptsOver({ engine, recorded, unflushed, upToDate, clock });
  const places = new SharedBound('store_queries', shares.store_queries);
  const reports = serveReports(bus, engine, new SharedBound('reports_running', shares.reports_running), clock);
  const numbers = new NumberHashes(await numberKey(bus));
  const sources = { recorded, unflushed, arrivals, upToDate, numbers, clock };
  let clicksReached = 0;
  // What an earlier process recorded is in its progress.
  const clicksRecordedTo = async () => {
    const { entry } = await readEntry(await openBucket(bus, 'recorder'), progressOfClicks.key);
    return Math.max(clicksReached, entry?.json<ProgressRecord>().recordedTo ?? 0);
  };
  const recordedUntil = recordedUntilOver({
    ...{ bus, clock },
    eventsRecordedTo: () => recorder?.recordedTo ?? null,
    clicksRecordedTo: () => (recorder === null ? null : clicksRecordedTo()),
  });
  const eraseRows = (query: EraseRows): Promise<EraseRowsReply> =>
    eraser === null ? Promise.resolve(unavailable('away', 'only the node that records erases')) : eraser(query);
  const answers: QueryServer = serveQueries(bus, engine, sources, places, reports, eraseRows, recordedUntil);

  async function record(): Promise<void> {
    for (const each of await erasureJobs(bus)) erased.add(each);
    const arrived = ({ messageId }: DeliveryEvent) => arrivals.arrived(messageId);
    const late = lateChangesOver(engine, retention.historyDays, clock);
    const started = await startRecorder({ bus, engine, publisher, erased, arrived, numbers, late, clock });
    recorder = started;
    clicksReached = 0;
    answers.beginToRecord();
    // Only the recording node may reap and purge: only it knows which events are not flushed yet.
    keepers = {
      timed: [
        startReaper({
          ...{ engine, recorded, unflushed, upToDate, writer, clock },
          bucket: () => openBucket(bus, 'recorder'),
          heldSinceMs: () => started.heldSinceMs,
        }),
        startPurge(bus, () => started.recorded, clock),
        startTrim(engine, retention, linkDays, clock),
        startSummarizer({
          ...{ engine, late, clock },
          recorderLateMs: () => started.lateMs,
          historyDays: retention.historyDays,
        }),
      ],
      clicks: recordClicks({ bus, engine, publisher, receipts, reached: (seq) => (clicksReached = seq), clock }),
      facts: recordFacts({ bus, engine, publisher, late, clock }),
    };
    const ending = new AbortController();
    const openEraser = async () => {
      const recordedTo = () => started.recordedTo;
      const stores = { bus, engine, erased, numbers, recordedTo, clicksRecordedTo };
      const opened = await openRowEraser({ ...stores, clock, stopping: ending.signal });
      if (!ending.signal.aborted) eraser = opened;
    };
    void untilDone(openEraser, (error) => log.warn({ error }, 'erasures of this store cannot be read yet'), {
      everyMs: watchEveryMs,
      stopping: ending.signal,
      clock,
    });
    void started.ended.then((how) => {
      recorder = null;
      eraser = null;
      ending.abort(new Error('this node does not record any more'));
      if (!stopping.signal.aborted) answers.endToRecord();
      stopTimed();
      void keepers?.clicks.stop(0);
      void keepers?.facts.stop();
      keepers = null;
      if (stopping.signal.aborted) return;
      if (how === 'fenced') void waitForSilence();
      if (how === 'stream_changed') void recordAgain();
    });
  }

  function stopTimed(): void {
    for (const each of keepers?.timed ?? []) each.stop();
  }

  const recordAgain = () =>
    untilDone(record, (error) => log.warn({ error }, 'this node could not start to record and tries again'), {
      everyMs: watchEveryMs,
      stopping: stopping.signal,
      clock,
    });

  async function waitForSilence(): Promise<void> {
    const bucket = await openBucket(bus, 'recorder');
    let seen = -1;
    for (let silentMs = 0; !stopping.signal.aborted; silentMs += watchEveryMs) {
      try {
        await clock.sleep(watchEveryMs, stopping.signal);
        const read = await withDeadline('reading the progress', watchEveryMs, readEntry(bucket, progressKey));
        const behind = await hasMoreThan(bus, read.entry?.json<ProgressRecord>() ?? null, clock);
        if (!behind || seen !== read.revision) silentMs = 0;
        seen = read.revision;
        if (silentMs >= 4 * watchEveryMs && !stopping.signal.aborted) return await record();
      } catch (error) {
        if (stopping.signal.aborted) return;
        log.warn({ error: messageOf(error) }, 'the other recorder could not be watched');
      }
    }
  }

  await record();
  const cancelLag = clock.every(watchEveryMs, () => void measureLag(bus, () => recorder));

  return {
    health: () => ({ ok: true, detail: recorder === null ? 'another node records' : 'recording' }),
    get lateMs() {
      return recorder?.lateMs ?? 0;
    },
    async stop(deadlineMs) {
      stopping.abort(new Error('the analytics node stops'));
      cancelLag();
      stopTimed();
      arrivals.close();
      writer.flush();
      reports.stop();
      // While the recorder of events still knows what was delivered.
      await keepers?.clicks.stop(deadlineMs * 0.2);
      await withDeadline('the last facts', deadlineMs * 0.1, keepers?.facts.stop() ?? Promise.resolve()).catch(
        (error: unknown) => ignoring(error, 'they are delivered again after the next start'),
      );
      await Promise.all([answers.stop(), recorder?.stop(deadlineMs * 0.6)]);
      await withDeadline('the last events', deadlineMs * 0.1, publisher.idle()).catch((error: unknown) =>
        ignoring(error, 'the reaper publishes its events again after the next start'),
      );
      writer.close();
      publisher.close();
    },
  };
}

/** Whether EVENTS has records that the owner of this progress has not started to record. */
async function hasMoreThan(bus: Bus, progress: ProgressRecord | null, clock: Clock): Promise<boolean> {
  const { state } = await bus.manager.streams.info(streamNames.events);
  if (state.messages === 0) return false;
  if (progress === null) return true;
  const reached = reachedBy(progress);
  return state.last_seq > reached.seq || (await changeSince(bus, streamNames.events, reached, clock)) !== null;
}

async function measureLag(bus: Bus, recorder: () => Recorder | null): Promise<void> {
  const { recordedTo } = recorder() ?? {};
  if (recordedTo === undefined) return;
  try {
    const { state } = await bus.manager.streams.info(streamNames.events);
    metrics.recorderPending.set(Math.max(0, state.last_seq - Math.max(recordedTo, state.first_seq - 1)));
  } catch (error) {
    ignoring(error, 'the lag is measured again in a moment');
  }
}

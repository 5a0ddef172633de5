// Writes codes and clicks into ClickHouse exactly once. As the recorder of events (recorder/recorder.ts) it reads its stream in
// order with a compare-and-set progress, makes each range durable with a token before the insert, and repeats until the store
// has acknowledged; a click whose id is recorded is dropped. It runs on the node that records the events, because it asks what
// had become of a message when its link was opened. The thread is that of the recorder of events and of queries: what is done
// for each click of a batch is done in turns.
import type { JsMsg } from '@nats-io/jetstream';
import { moveReadToDead } from '../../cluster/bus/dead-letter.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { readStream } from '../../cluster/bus/read-stream.ts';
import { StreamChanged, type StreamPosition, changeSince } from '../../cluster/bus/stream-position.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { mapInTurns } from '../../platform/work-turn.ts';
import { Fenced } from '../fenced-entry.ts';
import { FillCheck } from '../recorder/fill-check.ts';
import { type PendingRange, Progress, continuesAt } from '../recorder/progress.ts';
import { insertSettings, untilStored } from '../recorder/writer.ts';
import { fillSources } from '../store/fill.ts';
import { publishClicks } from './click-facts.ts';
import { ClickBatch } from './click-batch.ts';
import { type ClassifierParts, ClickClassifier, type WrittenClick } from './click-classifier.ts';
import { clickColumns, clickRow, codeColumns, codeRows, nobody } from './click-rows.ts';
import { clickCountColumns, clickCountRows } from './click-counts.ts';
import { notRecentTo } from './recent-clicks.ts';
import { type NewlyIssued, firstClicksOf, newlyIssued } from './recorded-clicks.ts';

export type ClickRecorderParts = ClassifierParts & {
  /** For unreadable records, and to publish clicks. */
  readonly publisher: Publisher;
  /** Gets the last record that is in ClickHouse, after each insert. */
  readonly reached?: (seq: number) => void;
};

export type ClickRecorder = {
  /** Resolves when it has ended: after `stop`, or when another process has taken over. */
  readonly ended: Promise<void>;
  /** Writes what it holds, if possible within `deadlineMs`. */
  stop(deadlineMs: number): Promise<void>;
};

export const progressOfClicks = { key: 'clicks', stream: streamNames.clicks };
const { insertRowsMax, insertEveryMs, prefetchRecords, purgeEveryMs } = limits.clicks;
const tickEveryMs = 100;

export async function startClickRecorder(parts: ClickRecorderParts): Promise<ClickRecorder> {
  const { bus, engine, clock } = parts;
  const stream = streamNames.clicks;
  const stopping = new AbortController();
  const { created } = await bus.manager.streams.info(stream);
  const holds = async (place: StreamPosition) => (await changeSince(bus, stream, place, clock)) === null;
  const bucket = await openBucket(bus, 'recorder');
  const progress = await Progress.takeOver(bucket, String(created), holds, clock, progressOfClicks);
  const classifier = new ClickClassifier(parts);
  const confirm = () => progress.confirm(0);
  const fills = new FillCheck({ engine, sources: fillSources.clicks, confirm, clock });
  let { recorded } = progress;
  /** Where batches ended that may not be purged yet. */
  let ends: readonly StreamPosition[] = [recorded];
  /** The range that may be in ClickHouse: repeated with its token before anything else. */
  let replay: PendingRange | null = progress.pending;
  let batch: ClickBatch | null = null;
  let writing: Promise<void> = Promise.resolve();
  let unwritten = 0;
  const { promise: ended, resolve: end } = Promise.withResolvers<void>();

  function take(record: JsMsg): Promise<void> | undefined {
    // A range that is repeated ends where it ended.
    if (replay !== null && record.seq > replay.last) void endReplay();
    batch ??= new ClickBatch(record, clock.monotonicMs());
    try {
      batch.add(record);
    } catch (error) {
      void moveReadToDead(parts.publisher, record, stream, messageOf(error), clock);
    }
    return replay === null && batch.rows >= insertRowsMax ? write() : undefined;
  }

  function endReplay(): Promise<void> {
    if (batch === null) replay = null;
    return write();
  }

  /** Resolves when everything so far is in ClickHouse. */
  function write(): Promise<void> {
    const closed = batch;
    batch = null;
    return closed === null ? writing : inTurn(() => record(closed));
  }

  /** After what is being written. */
  function inTurn(work: () => Promise<void>): Promise<void> {
    unwritten += 1;
    writing = writing
      .then(() => untilFenced(work))
      .finally(() => {
        unwritten -= 1;
      });
    return writing;
  }

  async function untilFenced(work: () => Promise<void>): Promise<void> {
    try {
      await work();
    } catch (error) {
      if (stopping.signal.aborted) return ignoring(error, 'the recorder of clicks was stopped while it wrote');
      if (!(error instanceof Fenced)) throw error;
      log.error({ alarm: 'recorder_fenced', error: error.message }, 'this node stops recording clicks');
      halt();
    }
  }

  async function record(closed: ClickBatch): Promise<void> {
    const token = await announce(closed);
    const issued = await untilDone('look-up of messages', () => newlyIssued(engine, closed.issued, token));
    const codes = await mapInTurns(issued.unwritten, (each) => codeRows(each, token), clock);
    await insert(`link_codes (${codeColumns})`, codes.join(''), `${token}:codes`);
    await untilDone('look-up of the clicks before', () => classifier.noteBefore(closed));
    const { fresh, written } = await untilDone('look-up of clicks', () => classifier.resolve(closed, token));
    // Before they are written: a crash between the two publishes them again, under the same ids.
    await publishClicks(parts.publisher, fresh);
    const nowMs = clock.nowMs();
    const rows = await mapInTurns(fresh, (click) => clickRow(click, nowMs, token), clock);
    await insert(`link_clicks (${clickColumns})`, rows.join(''), `${token}:clicks`);
    const changes = await untilDone('counts', () => changesOf(issued, [...written, ...fresh], token));
    await insert(`click_counts (${clickCountColumns})`, changes, `${token}:counts`);
    for (const { verdict } of fresh) metrics.clicksRecorded.inc({ class: verdict.class });
    recorded = { made: recorded.made, seq: closed.lastSeq, storedAtNs: closed.lastAtNs };
    ends = [...ends, recorded];
    parts.reached?.(recorded.seq);
  }

  async function announce(closed: ClickBatch): Promise<string> {
    const before = replay;
    replay = null;
    if (before !== null && closed.firstSeq <= before.last) return before.token;
    return progress.announce(closed, recorded, stopping.signal);
  }

  /** Of every message and click of this insert, as it is in ClickHouse. */
  async function changesOf(issued: NewlyIssued, clicks: readonly WrittenClick[], token: string): Promise<string> {
    const counted = clicks.map(({ click, owner, verdict: { class: of, reasons } }) => {
      return { owner: owner ?? nobody(click), atMs: click.atMs, class: of, reasons };
    });
    const clicked = [...new Set(counted.map(({ owner }) => owner.messageId))].filter((id) => id !== '');
    const firsts = await firstClicksOf(engine, clicked, token);
    return clickCountRows({ messages: issued.uncounted, clicks: counted, firsts }, clock);
  }

  async function insert(into: string, rows: string, token: string): Promise<void> {
    stopping.signal.throwIfAborted();
    if (rows === '') return;
    const octets = Buffer.from(rows);
    await untilDone(into, async () => {
      await progress.confirm();
      await engine.insert(`${into} SETTINGS ${insertSettings(token)}`, octets);
    });
  }

  const untilDone = <T>(what: string, work: () => Promise<T>) =>
    untilStored(work, { stopping: stopping.signal, clock }, (attempt, error) =>
      log.warn({ what, attempt, error }, 'clicks cannot be recorded now, they wait in the stream'),
    );

  /** Of what is recorded by the durable progress only the clicks right before the next ones are needed, after a restart. */
  async function purge(): Promise<void> {
    // Else the last clicks would stay until the next one comes.
    if (unwritten === 0 && progress.recordedTo < recorded.seq)
      await inTurn(() => progress.save(recorded, null, stopping.signal));
    const { state } = await bus.manager.streams.info(stream);
    const { recordedTo } = progress;
    const seq = notRecentTo({ ends, recorded, recordedTo, lastSeq: state.last_seq, nowMs: clock.nowMs() });
    ends = ends.filter((end) => end.seq >= seq);
    if (seq > 0) await bus.manager.streams.purge(stream, { seq: seq + 1 });
  }

  function halt(): void {
    stopping.abort(new Error('the recorder of clicks ends'));
    stopTick();
    stopPurge();
    reader.stop();
    end();
  }

  const stopTick = clock.every(tickEveryMs, () => {
    // One batch at a time: while the store is away the next one grows to its bound, and then reading stops.
    if (replay !== null || unwritten > 0) return;
    if (batch !== null && clock.monotonicMs() - batch.openedAtMs >= insertEveryMs) void write();
    else if (fills.isDue) void inTurn(() => fills.step());
  });
  const stopPurge = clock.every(purgeEveryMs, () => {
    purge().catch((error: unknown) => ignoring(error, 'CLICKS is purged the next time'));
  });
  const from = continuesAt(recorded, replay);
  const reader = readStream(bus, { stream, from, take, prefetch: prefetchRecords, clock });
  // A range that is repeated may end with the stream.
  reader.caughtUp.then(
    () => endReplay(),
    (error: unknown) => ignoring(error, 'the reader was stopped before it had read everything'),
  );
  reader.done.catch(async (error: unknown) => {
    if (!(error instanceof StreamChanged)) throw error;
    log.error({ alarm: 'clicks_changed', error: error.message }, 'CLICKS is another stream');
    await write();
    halt();
  });

  return {
    ended,
    async stop(deadlineMs) {
      if (stopping.signal.aborted) return;
      reader.stop();
      const flushed = write().then(() => progress.save(recorded, null, stopping.signal));
      await withDeadline('the last clicks', deadlineMs, flushed, clock).catch((error: unknown) =>
        ignoring(error, 'unwritten clicks are read again at the next start'),
      );
      halt();
    },
  };
}

// Carries out the erasures of the bucket, one at a time: streams, database, event store; then the receipt, which goes into
// the audit log too. Every step may be repeated. At its start, an erasure that a part lacks is carried out again: NATS,
// the database and the file of the data folder each remember all of them, and the event store for itself. What was in
// flight is looked for once more some days later.
import { type EraseRows, type EraseRowsReply, querySubjects } from '../../analytics/contract.ts';
import { type Counts, type ErasureJob, erasureJobs, orderErasure, setReceipt } from '../../cluster/bus/erasures.ts';
import { addToErasuresFile, readErasuresFile } from '../../cluster/bus/erasures-file.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { rewriteFile } from '../../cluster/bus/rewrite-file.ts';
import { streamOfBucket } from '../../cluster/bus/streams.ts';
import { untilDone, withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { LogThrottle } from '../../platform/log-throttle.ts';
import { noteForAudit } from '../audit-notes.ts';
import type { Store } from '../store/store.ts';
import { eraseFromDatabase, erasuresInDatabase } from './erase-database.ts';
import { type EraseStreamsParts, eraseFromStreams } from './erase-streams.ts';

export type EraserParts = EraseStreamsParts & {
  readonly store: Store;
  readonly publisher: Publisher;
  readonly dataDir: string;
};

export type Eraser = { close(): Promise<void> };

const { lookEveryMs, lookAgainMs } = limits.erasure;
const retryMs = 5_000;
const unreadLogEveryMs = 60_000;
const rowsAskedMs = 10_000;

export function startEraser(parts: EraserParts): Eraser {
  const { bus, clock } = parts;
  const stopping = new AbortController();
  const again = (what: string) => (error: string) => log.warn({ error }, what);
  const unread = new LogThrottle(unreadLogEveryMs, clock);
  const retry = { everyMs: retryMs, stopping: stopping.signal, clock };

  async function run(): Promise<void> {
    await untilDone(() => bringKnown(parts), again('erasures cannot be compared yet'), retry);
    while (!stopping.signal.aborted) {
      for (const job of await newJobs()) {
        if (stopping.signal.aborted || !isDue(job, clock.nowMs())) continue;
        try {
          await carryOut(parts, job, stopping.signal);
        } catch (error) {
          if (!stopping.signal.aborted) log.warn({ id: job.id, error: messageOf(error) }, 'an erasure is tried again');
          // What it lacks the next ones would lack too.
          break;
        }
      }
      await clock.sleep(lookEveryMs, stopping.signal).catch((error: unknown) => ignoring(error, 'the eraser stops'));
    }
  }

  let seen = -1;
  let dueAtMs = 0;

  /** All of them when one was ordered, or some time has passed; none when NATS does not answer, which says nothing of erasures. */
  async function newJobs(): Promise<readonly ErasureJob[]> {
    try {
      const { state } = await bus.manager.streams.info(streamOfBucket('erasures'));
      if (state.last_seq === seen && clock.nowMs() < dueAtMs) return [];
      const jobs = await erasureJobs(bus);
      seen = state.last_seq;
      dueAtMs = clock.nowMs() + retryMs;
      return jobs;
    } catch (error) {
      if (stopping.signal.aborted) return [];
      const suppressed = unread.allow();
      if (suppressed !== null)
        log.warn({ error: messageOf(error), suppressed }, 'the list of erasures cannot be read now');
      return [];
    }
  }

  const running = run();
  return {
    async close() {
      stopping.abort(new Error('the eraser is closed'));
      await running;
    },
  };
}

function isDue({ receipt, atMs }: ErasureJob, nowMs: number): boolean {
  if (receipt === null) return true;
  return receipt.finishedAtMs < atMs + lookAgainMs && nowMs >= atMs + lookAgainMs;
}

/** What the database or the file knows and NATS does not, and the other way round, is carried out again. */
async function bringKnown({ bus, store, dataDir }: EraserParts): Promise<void> {
  const jobs = new Map((await erasureJobs(bus)).map((job) => [job.id, job]));
  const inDatabase = await erasuresInDatabase(store);
  const known = new Set(inDatabase.map(({ id }) => id));
  for (const erasure of [...inDatabase, ...readErasuresFile(dataDir)]) {
    if (!jobs.has(erasure.id)) await orderErasure(bus, erasure);
  }
  for (const { id, receipt } of jobs.values()) if (receipt !== null && !known.has(id)) await setReceipt(bus, id, null);
}

async function carryOut(parts: EraserParts, job: ErasureJob, stopping: AbortSignal): Promise<void> {
  const { bus, store, numbers, dataDir, clock } = parts;
  const againAtMs = job.atMs + lookAgainMs;
  const notBeforeMs = clock.nowMs() < againAtMs ? 0 : againAtMs - limits.recorder.clockSkewMsMax;
  // Before anything is removed: who restores this folder's backup while it runs still knows of it.
  addToErasuresFile(dataDir, job);
  const streams = await eraseFromStreams(parts, job);
  const webhookFile = await rewriteFile(bus, parts.publisher, clock.nowMs());
  const database = await eraseFromDatabase(store, numbers, job);
  const rows = await eraseRows(parts, job, notBeforeMs, stopping);
  const removed: Counts = { ...rows, ...streams.removed, ...database };
  const receipt = { finishedAtMs: clock.nowMs(), lookedAt: streams.lookedAt, removed, left: streams.left, webhookFile };
  const { id, accountId, by } = job;
  const detail = {
    account: accountId,
    removed,
    looked_at: streams.lookedAt,
    left: streams.left,
    webhook_file: webhookFile.result,
  };
  await noteForAudit(bus, { action: 'number.erased', target: id, detail, by }, clock);
  await setReceipt(bus, id, receipt);
  log.info({ id, removed }, 'a number was erased');
}

/** Asks the event store until it is done; it goes on while nobody asks. */
async function eraseRows({ bus, clock }: EraserParts, job: ErasureJob, notBeforeMs: number, stopping: AbortSignal) {
  const asked = JSON.stringify({ erasure: job, notBeforeMs } satisfies EraseRows);
  for (;;) {
    const request = bus.connection.request(querySubjects.eraseRows, asked, { timeout: rowsAskedMs });
    const reply = (await withDeadline('the event store', rowsAskedMs * 2, request)).json<EraseRowsReply>();
    if (reply.result === 'done') return reply.removed;
    await clock.sleep(lookEveryMs, stopping);
  }
}

// Removes a subscriber from ClickHouse: the events of every message to or from the number, their submits, the codes and
// clicks of their links. Counts of reports stay: they hold no number. Rows are rewritten part by part, and an erasure is
// done when the old parts are off the disk. The one recording node does it, one erasure at a time, and remembers it in
// the store itself: so a store that was restored from a backup knows what it lacks. Codes and clicks have no number and come
// by another stream, so the ids of the person's messages are kept (erased_messages) until the second run has looked too.
import { type Counts, type Erasure, erasureJobs, orderErasure } from '../../cluster/bus/erasures.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import type { Clock } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import type { NumberHashes } from '../../model/number-hash.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { EraseRows, EraseRowsReply } from '../contract.ts';
import { literal } from '../sql/sql-user.ts';
import { type Engine, slowRows } from '../store/engine.ts';
import { mutate } from '../store/mutate.ts';
import { tsvRow, tsvTime } from '../store/tab-separated.ts';
import { type ErasedNumbers, erasedMessageRow, erasedMessages } from './erased-numbers.ts';
import type { LackingErasures } from './lacking-erasures.ts';
import { ownRows, personMessages } from './person-messages.ts';

type RowEraserOptions = {
  readonly bus: Bus;
  readonly engine: Engine;
  /** What the recorder leaves out. */
  readonly erased: ErasedNumbers;
  /** What must be carried out before the store is read. */
  readonly lacking: LackingErasures;
  /** Beside those in NATS. */
  readonly knownHere: () => readonly Erasure[];
  readonly numbers: NumberHashes;
  /** Every record of EVENTS, or of CLICKS, up to this one is in ClickHouse. */
  readonly recordedTo: () => number;
  readonly clicksRecordedTo: () => Promise<number>;
  readonly clock: Clock;
  readonly stopping: AbortSignal;
};

/** Begins, or reports the state. */
export type RowEraser = (query: EraseRows) => Promise<EraseRowsReply>;

const tables = ['sms_events', 'sms_submits', 'link_codes', 'link_clicks'] as const;
const askEveryMs = 500;
const againMs = 5_000;

/** Resolves when the recorder leaves out what was erased; what this store lacks is erased after that. */
export async function openRowEraser(options: RowEraserOptions): Promise<RowEraser> {
  const { bus, engine, erased, lacking, knownHere, clock, stopping } = options;
  let queue: Promise<void> = Promise.resolve();
  const waiting = new Set<string>();
  const done = new Set<string>();

  function begin(erasure: Erasure, notBeforeMs: number): void {
    if (waiting.has(erasure.id)) return;
    erased.add(erasure);
    waiting.add(erasure.id);
    queue = queue.then(async () => {
      try {
        // It may have ended between the question that began it again and now.
        if (!stopping.aborted && (await removedBy(engine, erasure, notBeforeMs)) === null)
          await erase(options, erasure);
        if (stopping.aborted) return;
        done.add(erasure.id);
        lacking.carriedOut(erasure);
      } catch (error) {
        if (stopping.aborted) return;
        log.warn({ id: erasure.id, error: messageOf(error) }, 'an erasure is tried again');
        if (lacking.has(erasure)) void again(erasure);
      } finally {
        waiting.delete(erasure.id);
      }
    });
  }

  /** Others are asked for again by who ordered them; for these the answers of the store wait. */
  async function again(erasure: Erasure): Promise<void> {
    try {
      await clock.sleep(againMs, stopping);
      begin(erasure, 0);
    } catch (error) {
      ignoring(error, 'the next start carries it out');
    }
  }

  const carriedOut = await carriedOutHere(engine);
  for (const id of carriedOut.keys()) done.add(id);
  const inNats = await erasureJobs(bus);
  const known = new Map([...knownHere(), ...inNats].map((job) => [job.id, job]));
  const missing = [...known.values()].filter(({ id }) => !done.has(id));
  lacking.compared(missing);
  for (const job of known.values()) erased.add(job);
  for (const job of missing) begin(job, 0);
  // NATS was restored from a backup, or is another one: it gets them from here.
  for (const erasure of carriedOut.values()) {
    if (known.has(erasure.id)) continue;
    erased.add(erasure);
    await orderErasure(bus, erasure);
  }
  return async ({ erasure, notBeforeMs = 0 }) => {
    const removed = waiting.has(erasure.id) ? null : await removedBy(engine, erasure, notBeforeMs);
    if (removed !== null) return { result: 'done', removed };
    if (!waiting.has(erasure.id) && !done.has(erasure.id)) lacking.note(erasure);
    begin(erasure, notBeforeMs);
    return { result: 'running' };
  };
}

/** What an erasure removed; null: this store has not carried it out, or only before `notBeforeMs`. */
async function removedBy(engine: Engine, { id }: Erasure, notBeforeMs: number): Promise<Counts | null> {
  const [row] = await slowRows(
    engine,
    `SELECT removed FROM erasures FINAL
     WHERE id = {id:String} AND carried_out_at >= fromUnixTimestamp64Milli({notBeforeMs:Int64})`,
    { id, notBeforeMs: Math.floor(notBeforeMs) },
  );
  return row === undefined ? null : (JSON.parse(row[0] as string) as Counts);
}

async function carriedOutHere(engine: Engine): Promise<Map<string, Erasure>> {
  const rows = await slowRows(engine, 'SELECT id, mark FROM erasures FINAL ORDER BY id');
  return new Map(rows.map(([id, mark]) => [id as string, JSON.parse(mark as string) as Erasure]));
}

async function erase(options: RowEraserOptions, erasure: Erasure): Promise<void> {
  const { bus, engine, numbers, recordedTo, clicksRecordedTo, clock, stopping } = options;
  // What was taken before the recorder left it out is in the store, or not at all.
  await untilRecorded(streamNames.events, recordedTo);
  const known = await personMessages(engine, numbers, erasure, clock);
  // Before they are deleted: after a crash in between they are in no other table.
  const notes = known.map((message) => erasedMessageRow(erasure.hash, message));
  if (notes.length > 0) await engine.insert(erasedMessages, Buffer.from(notes.join('')));
  // The codes of a message are in CLICKS before its first event is in EVENTS.
  await untilRecorded(streamNames.clicks, clicksRecordedTo);
  const found = await slowRows(
    engine,
    `SELECT DISTINCT message_id FROM erased_messages WHERE ${ownRows(erasure)} ORDER BY 1 SETTINGS max_threads = 1`,
  );
  const ids = found.map(([id]) => id as string);
  const removed: Record<string, number> = { messages: new Set(known.map(({ messageId }) => messageId)).size };
  const change = { clock, signal: stopping };
  for (const table of tables) removed[table] = 0;
  for (let from = 0; from < ids.length; from += limits.erasure.messagesAtOnce) {
    // Ids are of our own making or a client's key of letters: quoted like every text all the same.
    const some = ids.slice(from, from + limits.erasure.messagesAtOnce);
    for (const table of tables) {
      const [row] = await slowRows(
        engine,
        `SELECT toUInt64(count()) FROM ${table} WHERE message_id IN {some:Array(String)} SETTINGS max_threads = 1`,
        { some },
      );
      const count = Number(row?.[0]);
      if (count === 0) continue;
      removed[table] = (removed[table] ?? 0) + count;
      await mutate(engine, table, `DELETE WHERE message_id IN (${some.map(literal).join(',')})`, change);
    }
  }
  await withoutOldParts(engine, clock, stopping);
  const { id, hash, listKey, place, accountId, atMs, by } = erasure;
  // Of the first run, when this is the second.
  const [before] = await slowRows(engine, 'SELECT removed FROM erasures FINAL WHERE id = {id:String}', { id });
  const counts = before === undefined ? {} : (JSON.parse(before[0] as string) as Counts);
  for (const [what, count] of Object.entries(counts)) removed[what] = (removed[what] ?? 0) + count;
  const mark = JSON.stringify({ id, hash, listKey, place, accountId, atMs, by } satisfies Erasure);
  const row = tsvRow([id, hash, accountId, tsvTime(atMs), mark, JSON.stringify(removed), tsvTime(clock.nowMs())]);
  await engine.insert('erasures (id, recipient_hash, account_id, at, mark, removed, carried_out_at)', Buffer.from(row));
  log.info({ id, removed }, 'a number was erased from ClickHouse');

  async function untilRecorded(stream: string, reached: () => number | Promise<number>): Promise<void> {
    const { state } = await bus.manager.streams.info(stream);
    const isRecorded = async () => {
      stopping.throwIfAborted();
      return state.messages === 0 || (await reached()) >= state.last_seq;
    };
    const wait = { limitMs: limits.erasure.deadlineMs, everyMs: askEveryMs };
    await until(`the records of ${stream} are in ClickHouse`, isRecorded, wait);
  }
}

/** The parts before a change stay on the disk for minutes otherwise, with all that was in them. */
async function withoutOldParts(engine: Engine, clock: Clock, stopping: AbortSignal): Promise<void> {
  const giveUpAtMs = clock.monotonicMs() + limits.retention.mutationMs;
  for (const table of tables) {
    const old = async () => {
      const [row] = await engine.rows(
        `SELECT toUInt32(count()) FROM system.parts
         WHERE database = currentDatabase() AND table = {table:String} AND NOT active`,
        { table },
      );
      return Number(row?.[0]);
    };
    if ((await old()) === 0) continue;
    await engine.command(`ALTER TABLE ${table} MODIFY SETTING old_parts_lifetime = 1`);
    try {
      while ((await old()) > 0) {
        if (clock.monotonicMs() >= giveUpAtMs) throw new Error(`old parts of ${table} stay on the disk`);
        await clock.sleep(askEveryMs, stopping);
        // There is no such partition; with every such statement ClickHouse removes old parts at once, and else in minutes.
        await engine.command(`ALTER TABLE ${table} DROP PARTITION ID 'none'`);
      }
    } finally {
      await engine.command(`ALTER TABLE ${table} RESET SETTING old_parts_lifetime`);
    }
  }
}

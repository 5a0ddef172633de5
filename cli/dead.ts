// `dead list|show|replay|drop`. Uses NATS, and for replays of messages the event store, which knows whether a carrier
// has one already: then it is not replayed, so that nobody gets it twice. Replays and deletions are audited; an
// unavailable database does not prevent them.
import { newAuditId } from '../model/ids.ts';
import type { Message } from '../model/message.ts';
import { systemClock } from '../platform/clock.ts';
import { SetupError, ignoring, messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { type EventStoreAnswer, askEventStore } from '../actors/ask-event-store.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { type DeadEntry, dropDead, listDead, readDead, replayDead } from '../cluster/bus/dead-records.ts';
import { deadHeaders } from '../cluster/bus/dead-letter.ts';
import { streamNames } from '../cluster/bus/streams.ts';
import { noteForAudit } from '../control/audit-notes.ts';
import { addAuditRecords } from '../control/store/audit-log.ts';
import { contentsOf } from './dead-contents.ts';
import { whereFrom, operatorName } from './operator-name.ts';
import { limitOf } from './options.ts';
import type { Result } from './print.ts';
import { withStore } from './tenants.ts';
import { explained, withBus } from './with-bus.ts';

const hexOctets = 64;
const streamsOfDead: readonly string[] = [
  ...Object.values(streamNames.messages),
  ...Object.values(streamNames.waiting),
  streamNames.inbound,
  streamNames.events,
];

export async function listDeadCommand(options: { stream?: string; limit?: string }): Promise<Result> {
  const from = streamOf(options.stream);
  const limit = limitOf(options.limit, 50, limits.operations.deadReadMax);
  const { entries, total } = await withBus((bus) => answered(listDead(bus, from, limit)));
  const lines = entries.map(
    ({ seq, atMs, stream, subject, reason, octets }) =>
      `${seq}  ${new Date(atMs).toISOString()}  ${stream}  ${subject}  ${octets} octets  ${reason}`,
  );
  if (total > entries.length) lines.push(`${total - entries.length} more: --limit ${total}`);
  return { json: { data: entries.map(entryJson), total }, lines: lines.length === 0 ? ['DEAD is empty'] : lines };
}

export async function showDeadCommand(text: string): Promise<Result> {
  const seq = seqOf(text);
  const record = await withBus((bus) => answered(readDead(bus, seq)));
  if (record === null) throw notFound(seq);
  const contents = contentsOf(record);
  const octets = Buffer.from(record.data.subarray(0, hexOctets)).toString('hex');
  const { reason, headers } = record;
  const others = Object.entries(headers).filter(([name]) => name !== deadHeaders.reason);
  const shown = { ...entryJson(record), headers, contents: contents?.fields ?? null };
  const lines = [
    `Record ${seq} of DEAD, from ${record.stream}, since ${new Date(record.atMs).toISOString()}`,
    `  ${reason}`,
    ...others.map(([name, value]) => `  ${name}: ${value}`),
    ...(contents === null
      ? ['This version cannot read it either. It begins with', `  ${octets}`]
      : Object.entries(contents.fields).map(([name, value]) => `  ${name.padEnd(18)} ${value}`)),
  ];
  return { json: contents === null ? { ...shown, first_octets: octets } : shown, lines };
}

type Replay = { readonly seq: number; readonly code: string; readonly detail: string; readonly entry?: DeadEntry };

type ReplayOptions = { all?: boolean; stream?: string; again?: boolean };

export async function replayDeadCommand(texts: readonly string[], options: ReplayOptions): Promise<Result> {
  const { all = false, again = false } = options;
  const from = streamOf(options.stream);
  if (all ? texts.length > 0 : texts.length === 0) {
    throw new SetupError('dead replay: expected record numbers, or --all');
  }
  if (!all && from !== null) throw new SetupError('--stream goes with --all');
  const given = texts.map(seqOf);
  const results = await withBus(async (bus) => {
    // Listed before the first replay: a record that returns to DEAD at once is not replayed for ever.
    const listed = all ? await answered(listDead(bus, from, limits.operations.deadReadMax)) : null;
    const seqs = new Set(listed === null ? given : listed.entries.map(({ seq }) => seq));
    const done: Replay[] = [];
    for (const seq of seqs) done.push(await replayOne(bus, seq, again));
    return done;
  });
  const replayed = results.flatMap(({ code, entry }) => (code === 'replayed' && entry !== undefined ? [entry] : []));
  const failure = await audit('replayed', replayed);
  const data = results.map(({ seq, code, detail, entry }) => ({
    seq,
    replayed: code === 'replayed',
    ...(code === 'replayed' ? {} : { code, detail }),
    ...(entry === undefined ? {} : { stream: entry.stream, subject: entry.subject }),
  }));
  const lines = [
    ...results.map(({ seq, code, detail, entry }) =>
      code === 'replayed' ? `${seq}  replayed: ${entry?.subject ?? ''}` : `${seq}  not replayed, ${code}: ${detail}`,
    ),
    ...(results.length === 0 ? ['DEAD is empty'] : []),
    ...(failure === null ? [] : [failure]),
  ];
  return { json: { data, audited: failure === null }, lines, exitCode: replayed.length < results.length ? 1 : 0 };
}

export async function dropDeadCommand(text: string, { yes = false }: { yes?: boolean }): Promise<Result> {
  const seq = seqOf(text);
  if (!yes) throw new SetupError(`dead drop deletes record ${seq} for good: confirm with --yes`);
  const record = await withBus(async (bus) => {
    const found = await answered(readDead(bus, seq));
    return found !== null && (await answered(dropDead(bus, seq))) ? found : null;
  });
  if (record === null) throw notFound(seq);
  const failure = await audit('dropped', [record]);
  const line = `Dropped  ${seq}  ${record.stream}  ${record.subject}`;
  return {
    json: { seq, dropped: true, audited: failure === null },
    lines: failure === null ? [line] : [line, failure],
  };
}

/** Never rejects: after a failure the earlier replays must still be printed and audited. */
async function replayOne(bus: Bus, seq: number, again: boolean): Promise<Replay> {
  try {
    return await tryReplay(bus, seq, again);
  } catch (error) {
    const detail = `NATS did not answer (${messageOf(error)}): run it again, nothing is replayed twice`;
    return { seq, code: 'no_answer', detail };
  }
}

async function tryReplay(bus: Bus, seq: number, again: boolean): Promise<Replay> {
  const record = await readDead(bus, seq);
  if (record === null) return { seq, code: 'not_found', detail: 'DEAD holds no record of that number' };
  const ended = (code: string, detail: string): Replay => ({ seq, entry: record, code, detail });
  const contents = contentsOf(record);
  if (contents === null) return ended('unreadable', 'this version cannot read it either: it would return to DEAD');
  const begun = contents.message === null ? 'no' : await wasEverBegun(bus, contents.message);
  if (begun === 'yes') {
    return ended('begun', 'a carrier has it already, or it is final: a replay could send it twice. Drop it');
  }
  if (begun === 'unclear') {
    const detail = 'the event store is unavailable, so it is unknown whether a carrier has it: run it again later';
    return ended('unclear', detail);
  }
  const replayed = await replayDead(bus, record, { again });
  return replayed.ok ? ended('replayed', '') : ended(replayed.code, replayed.detail);
}

/** Whether any carrier ever had a part of it: stricter than the carriers' own check, because an operator can wait. */
function wasEverBegun(bus: Bus, message: Message): Promise<EventStoreAnswer> {
  return askEventStore(
    bus,
    message,
    ({ submittedAtMs, history }) => submittedAtMs !== null || history.some(({ carrier }) => carrier !== null),
  );
}

/** Null, or why the audit record was not written. */
async function audit(what: 'replayed' | 'dropped', entries: readonly DeadEntry[]): Promise<string | null> {
  if (entries.length === 0) return null;
  const atMs = systemClock.nowMs();
  const records = entries.map(({ seq, stream, subject, reason }) => ({
    recordId: newAuditId(atMs),
    atMs,
    actor: 'operator',
    origin: whereFrom(),
    action: `dead_record.${what}` as const,
    target: `${streamNames.dead}/${seq}`,
    detail: { stream, subject, reason },
  }));
  try {
    await withStore((store) => addAuditRecords(store, records));
    return null;
  } catch (error) {
    ignoring(error, 'the database is unavailable: the records are published to NATS, which was reachable just now');
  }
  try {
    const by = operatorName();
    await withBus((bus) => Promise.all(records.map((record) => noteForAudit(bus, { ...record, by }))));
    return null;
  } catch (error) {
    return `Not in the audit log: ${messageOf(error)}`;
  }
}

function entryJson({ seq, atMs, stream, subject, reason, octets }: DeadEntry): Record<string, string | number> {
  return { seq, object: 'dead_record', at: new Date(atMs).toISOString(), stream, subject, reason, octets };
}

function seqOf(text: string): number {
  if (/^[1-9]\d{0,14}$/.test(text)) return Number(text);
  throw new SetupError(`found "${text}", expected the number of a record as dead list shows it`);
}

function streamOf(text: string | undefined): string | null {
  if (text === undefined) return null;
  if (streamsOfDead.includes(text)) return text;
  throw new SetupError(`--stream: found "${text}", expected one of ${streamsOfDead.join(', ')}`);
}

function notFound(seq: number): SetupError {
  return new SetupError(`dead_record_not_found: DEAD holds no record ${seq}; dead list shows what is there`);
}

const answered = <T>(work: Promise<T>) => explained(work, (error) => `NATS did not answer: ${messageOf(error)}`);

// Lists the records of DEAD, replays them to their subject, and drops them. A replay is published under the record's
// own id with its sequence in DEAD appended: new to the stream, and the same for each replay of the record. A mark in
// DEAD precedes the publish, and the record is removed only after the ack: an interrupted replay is repeated while the
// stream surely knows the id, and later only by a person.
import { JetStreamApiError, type StoredMsg } from '@nats-io/jetstream';
import { headers } from '@nats-io/transport-node';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from './connect.ts';
import { deadHeaders } from './dead-letter.ts';
import { readPresent } from './read-present.ts';
import { streamNames } from './streams.ts';
import { deadFilter, deadSubject, replayMarkSubject, secondOfWaitSubject, streamOfDeadSubject } from './subjects.ts';

export type DeadEntry = {
  /** Its sequence in DEAD. */
  readonly seq: number;
  readonly atMs: number;
  /** Where it was stored; the subject is '' when that was not recorded. */
  readonly stream: string;
  readonly subject: string;
  readonly reason: string;
  readonly octets: number;
};
export type DeadRead = DeadEntry & {
  readonly headers: Readonly<Record<string, string>>;
  readonly data: Uint8Array;
};

type DeadList = { readonly entries: readonly DeadEntry[]; readonly total: number };

const stream = streamNames.dead;
const call = <T>(work: Promise<T>) => withDeadline('DEAD', limits.operations.callTimeoutMs, work);

/** Oldest first; `total` includes those beyond the limit. `from`: only records of this stream. */
export async function listDead(bus: Bus, from: string | null, limit: number): Promise<DeadList> {
  const filter = from === null ? deadFilter : deadSubject(from);
  const entries: DeadEntry[] = [];
  const reading = { filter, headersOnly: true, recordsMax: limit, withinMs: limits.operations.callTimeoutMs };
  const { present } = await readPresent(bus, stream, reading, (record) => {
    const header = (name: string) => record.headers?.get(name) ?? '';
    entries.push({
      seq: record.seq,
      atMs: record.time.getTime(),
      stream: streamOfDeadSubject(record.subject) ?? '',
      subject: header(deadHeaders.subject),
      reason: header(deadHeaders.reason),
      octets: Number(header('Nats-Msg-Size')),
    });
  });
  return { entries, total: present };
}

/** Null when DEAD has no record of that sequence. */
export async function readDead(bus: Bus, seq: number): Promise<DeadRead | null> {
  const stored: StoredMsg | null = await call(bus.manager.streams.getMessage(stream, { seq }));
  const from = stored === null ? null : streamOfDeadSubject(stored.subject);
  if (stored === null || from === null) return null;
  const all: Record<string, string> = {};
  for (const [name, values] of stored.header) all[name] = values.at(-1) ?? '';
  return {
    seq,
    atMs: stored.time.getTime(),
    stream: from,
    subject: all[deadHeaders.subject] ?? '',
    reason: all[deadHeaders.reason] ?? '',
    octets: stored.data.length,
    headers: all,
    data: stored.data,
  };
}

/**
 * `nowhere`: its subject is unknown · `too_late`: its second in LATER is long past, and its cancels are forgotten ·
 * `unsure`: an earlier replay may have been stored · `not_taken`: the stream refused it, or did not answer.
 */
type ReplayRefusal = 'nowhere' | 'too_late' | 'unsure' | 'not_taken';
type Replayed = { readonly ok: true } | { readonly ok: false; readonly code: ReplayRefusal; readonly detail: string };

/** Half of the duplicate window: clocks differ. */
const knownForMs = limits.bus.duplicateWindowMs / 2;
/** The releaser searches this hour and the one before for overdue records; a sweep may be half a minute late. */
const laterOverdueMsMax = 59 * 60_000;

/** `again`: a person knows that an earlier replay was not stored. */
export async function replayDead(
  bus: Bus,
  record: DeadRead,
  { again = false, clock = systemClock }: { again?: boolean; clock?: Clock } = {},
): Promise<Replayed> {
  const refusal = refusalOf(record, clock.nowMs());
  if (refusal !== null) return refusal;
  const markSubject = replayMarkSubject(record.seq);
  const mark = await call(bus.manager.streams.getMessage(stream, { last_by_subj: markSubject }));
  const markedForMs = mark === null ? 0 : clock.nowMs() - mark.time.getTime();
  const isKnown = mark !== null && Math.abs(markedForMs) < knownForMs;
  if (mark !== null && !isKnown && !again) {
    const at = mark.time.toISOString();
    return no(
      'unsure',
      `it was replayed at ${at} and no answer came: check whether it arrived, then drop it or use --again`,
    );
  }
  try {
    if (!isKnown) await call(bus.jetstream.publish(markSubject));
    await call(
      bus.jetstream.publish(record.subject, record.data, {
        msgID: replayIdOf(record),
        headers: replayHeadersOf(record),
        expect: { streamName: record.stream },
      }),
    );
  } catch (error) {
    // A refusal is an answer: the record was not stored.
    if (error instanceof JetStreamApiError) await removeMark(bus, markSubject);
    return no('not_taken', messageOf(error));
  }
  await dropDead(bus, record.seq);
  await removeMark(bus, markSubject);
  return { ok: true };
}

/** False when there was no such record. */
export async function dropDead(bus: Bus, seq: number): Promise<boolean> {
  if ((await readDead(bus, seq)) === null) return false;
  return call(bus.manager.streams.deleteMessage(stream, seq, false));
}

function refusalOf({ stream: from, subject, headers: all }: DeadRead, nowMs: number): Replayed | null {
  if (subject === '') return no('nowhere', 'its original subject was not recorded');
  if (!(Object.values(streamNames.waiting) as string[]).includes(from)) return null;
  if (all[`${deadHeaders.was}${deadHeaders.subject}`] === undefined) {
    return no('nowhere', 'it has no headers that say where to publish it when it is due');
  }
  if (nowMs - secondOfWaitSubject(subject) * 1_000 < laterOverdueMsMax) return null;
  return no('too_late', 'it was due long ago, and it is no longer known whether its client canceled it');
}

/** The original id and the sequence in DEAD: a replay that returns to DEAD has another sequence. */
function replayIdOf({ seq, stream: from, headers: all }: DeadRead): string {
  const own = all[`${deadHeaders.was}Nats-Msg-Id`] ?? `dead.${from}`;
  return `${own.replace(/(\.replay\.\d+)+$/, '')}.replay.${seq}`;
}

function replayHeadersOf({ seq, headers: all }: DeadRead): ReturnType<typeof headers> {
  const own = headers();
  const prefix = `${deadHeaders.was}Heliograph-`;
  for (const [name, value] of Object.entries(all)) {
    if (name.startsWith(prefix)) own.set(name.slice(deadHeaders.was.length), value);
  }
  own.set(deadHeaders.replay, String(seq));
  return own;
}

async function removeMark(bus: Bus, subject: string): Promise<void> {
  await call(bus.manager.streams.purge(stream, { filter: subject }));
}

function no(code: ReplayRefusal, detail: string): Replayed {
  return { ok: false, code, detail };
}

// The recorded facts of an account that webhooks sent, of a time or of one event id: ends of one-time passwords, blocks
// of the guard against fraud, clicks. A page is a range of its table's key, found before its rows are read, so it costs
// the same wherever it is, and no statement reads more than a part of the account's rows. Tables of one-time passwords
// have no number: it comes from their messages, so who was erased stays erased.
import { classesOfPrograms } from '../../model/click-class.ts';
import type { Fact, OtpFact } from '../../model/fact.ts';
import type { FactEventType, WebhookEventType } from '../../model/webhook-endpoint.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { clickFactColumns, clickFactOf } from '../clicks/click-rows.ts';
import type { FactPlace, ReplayFacts, ReplayFactsReply } from '../contract.ts';
import { type FactOwner, blockFactColumns, blockFactOf, otpFactColumns, otpFactOf } from '../otp/fact-rows.ts';
import { type Cell, type Engine, type Params, shownRows } from '../store/engine.ts';
import { orNull } from '../store/event-row.ts';
import { type Range, readableRange, searchBack } from './readable-range.ts';

type Source<Kind extends Fact['kind']> = {
  readonly table: string;
  /** A DateTime64 and an id: the order of the table within an account. */
  readonly key: readonly [time: string, id: string];
  /** When the event happened, and how far from that the time of the key may be. */
  readonly at: string;
  readonly keyWithinMs: number;
  /** Of rows with one id the first one counts. */
  readonly order: string;
  readonly columns: string;
  readonly factOf: (row: readonly Cell[], owner: FactOwner) => Fact;
  /** The rows that are replayed under each type of its facts. */
  readonly replayed: { readonly [Type in FactEventType<Kind>]: string };
};

const ofPrograms = classesOfPrograms.map((each) => `'${each}'`).join(', ');

/** The clocks of the machines that start and end a one-time password. */
const clocksMs = 60_000;

const sources: { readonly [Kind in Fact['kind']]: Source<Kind> } = {
  otp: {
    table: 'otps',
    key: ['started_at', 'otp_id'],
    at: 'ended_at',
    keyWithinMs: limits.otp.ttlSecondsMax * 1_000 + clocksMs,
    order: ', version DESC',
    columns: otpFactColumns,
    factOf: otpFactOf,
    replayed: {
      'otp.verified': "status = 'verified'",
      'otp.failed': "status IN ('expired', 'max_attempts_reached', 'failed') AND reason != 'not_sent'",
    },
  },
  guard: {
    table: 'otp_guard_decisions',
    key: ['at', 'event_id'],
    at: 'at',
    keyWithinMs: 0,
    order: '',
    columns: blockFactColumns,
    factOf: blockFactOf,
    replayed: { 'otp.blocked': "what = 'block'" },
  },
  click: {
    table: 'link_clicks',
    key: ['at', 'click_id'],
    at: 'at',
    keyWithinMs: 0,
    order: '',
    columns: clickFactColumns,
    factOf: clickFactOf,
    replayed: {
      'link.clicked': `class NOT IN (${ofPrograms})`,
      'link.requested': `class IN (${ofPrograms})`,
    },
  },
};

const { replayFactsMax: pageMax, listSearchMs } = limits.queries;

export async function replayFacts(engine: Engine, query: ReplayFacts, clock: Clock): Promise<ReplayFactsReply> {
  const { accountId, livemode, kind, sinceMs, untilMs } = query;
  const { keyWithinMs, factOf } = sources[kind];
  const read = statementsOf(engine, query);
  if (read === null) return { result: 'found', facts: [], next: null, openBeforeMs: null };
  const whole = { fromMs: sinceMs - keyWithinMs, toMs: untilMs + keyWithinMs };
  let rows: readonly (readonly Cell[])[];
  let next: FactPlace | null = null;
  let openBeforeMs: number | null = null;
  if ('eventId' in query) {
    const giveUpAtMs = clock.monotonicMs() + listSearchMs;
    const searched = await searchBack(
      engine,
      { ...whole, toMs: query.beforeMs ?? whole.toMs },
      {
        statementOf: (range) => read.keys(range, null),
        async read(range) {
          const last = await read.lastOf(range, null);
          return last.place === null ? null : read.upTo(range, null, last.place);
        },
        giveUp: () => clock.monotonicMs() >= giveUpAtMs,
      },
    );
    rows = searched.found ?? [];
    ({ openBeforeMs } = searched);
  } else {
    const { after } = query;
    const left = { fromMs: after?.atMs ?? whole.fromMs, toMs: whole.toMs };
    const range = await readableRange(engine, left, 'oldest', (part) => read.keys(part, after));
    const { place, isFull } = await read.lastOf(range, after);
    rows = place === null ? [] : await read.upTo(range, after, place);
    // Everything at the end of the range comes behind this place.
    next = isFull ? place : range.toMs === whole.toMs ? null : { atMs: range.toMs, id: '' };
  }
  const found = rows.map((row) => factOf(row, { accountId, livemode }));
  const facts = kind === 'otp' ? await withNumbers(engine, found as OtpFact[], query) : found;
  return { result: 'found', facts, next, openBeforeMs };
}

/** The statements of a query over a range of its table's key. Null: none of its types has rows there. */
function statementsOf(engine: Engine, query: ReplayFacts) {
  const { accountId, livemode, kind, sinceMs, untilMs } = query;
  const { table, key, at, order, columns } = sources[kind];
  const replayed: { readonly [Type in WebhookEventType]?: string } = sources[kind].replayed;
  const wanted = query.types.flatMap((type) => replayed[type] ?? []).map((each) => `(${each})`);
  if (wanted.length === 0) return null;
  const [time, id] = key;
  const eventId = 'eventId' in query ? { eventId: query.eventId } : null;
  const where = `account_id = {accountId:String} AND livemode = {livemode:Bool} AND (${wanted.join(' OR ')})
    AND ${at} >= ${moment('sinceMs')} AND ${at} < ${moment('untilMs')}
    AND ${time} >= ${moment('fromMs')} AND ${time} < ${moment('toMs')}
    ${eventId === null ? '' : 'AND event_id = {eventId:String}'}`;
  const behind = `AND (${time} > ${moment('afterMs')} OR ${id} > {afterId:String})`;
  const rowsIn = (range: Range, after: FactPlace | null) => ({
    from: `FROM ${table} WHERE ${where} ${after === null ? '' : behind}`,
    params: {
      ...{ accountId, livemode, sinceMs, untilMs, ...eventId, ...range },
      ...(after === null ? {} : { afterMs: after.atMs, afterId: after.id }),
    },
  });
  const keys = (range: Range, after: FactPlace | null): { readonly sql: string; readonly params: Params } => {
    const { from, params } = rowsIn(range, after);
    return { sql: `SELECT toUnixTimestamp64Milli(${time}), ${id} ${from}`, params };
  };
  return {
    keys,
    /** The last key of the first page. The engine ends this read at its limit: with versions in the order it sorts all. */
    async lastOf(range: Range, after: FactPlace | null) {
      const { sql, params } = keys(range, after);
      const found = await shownRows(engine, `${sql} ORDER BY ${time}, ${id} LIMIT ${pageMax}`, params);
      const [atMs, lastId] = (found.at(-1) ?? []) as readonly [number | string, string] | [];
      const place = atMs === undefined ? null : { atMs: Number(atMs), id: lastId as string };
      return { place, isFull: found.length === pageMax };
    },
    upTo(range: Range, after: FactPlace | null, { atMs: lastMs, id: lastId }: FactPlace) {
      const { from, params } = rowsIn(range, after);
      const sql = `SELECT ${columns} ${from}
        AND ${time} <= ${moment('lastMs')} AND (${time} < ${moment('lastMs')} OR ${id} <= {lastId:String})
        ORDER BY ${time}, ${id}${order} LIMIT 1 BY ${id}`;
      return shownRows(engine, sql, { ...params, lastMs, lastId });
    },
  };
}

const moment = (name: string): string => `fromUnixTimestamp64Milli({${name}:Int64})`;

/** Each with the number and the reference of its messages; without those that have no message any more. */
async function withNumbers(
  engine: Engine,
  facts: readonly OtpFact[],
  { accountId, livemode }: FactOwner,
): Promise<readonly OtpFact[]> {
  const messageIds = facts.flatMap((fact) => fact.messageIds);
  if (messageIds.length === 0) return [];
  const rows = await shownRows(
    engine,
    `SELECT message_id, any(recipient), any(client_reference) FROM sms_events
     WHERE account_id = {accountId:String} AND livemode = {livemode:Bool} AND message_id IN {messageIds:Array(String)}
     GROUP BY message_id`,
    { accountId, livemode, messageIds },
  );
  const sent = new Map(rows.map(([messageId, to, reference]) => [messageId, [to as string, reference as string]]));
  return facts.flatMap((fact) => {
    const message = fact.messageIds.map((messageId) => sent.get(messageId)).find((each) => each !== undefined);
    const [to = '', reference = ''] = message ?? [];
    return to === '' ? [] : { ...fact, to, clientReference: orNull(reference) };
  });
}

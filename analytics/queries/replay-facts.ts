// The recorded facts of an account that webhooks sent, of a time or of one event id: ends of one-time passwords, blocks
// of the guard against fraud, clicks. A page is a range of its table's key, found before its rows are read, so it costs
// the same wherever it is. Tables of one-time passwords have no number: it comes from their messages, so who was erased
// stays erased.
import type { Fact, OtpFact } from '../../model/fact.ts';
import type { FactEventType, WebhookEventType } from '../../model/webhook-endpoint.ts';
import { limits } from '../../platform/limits.ts';
import { clickFactColumns, clickFactOf } from '../clicks/click-rows.ts';
import type { ReplayFacts, ReplayFactsReply } from '../contract.ts';
import { type FactOwner, blockFactColumns, blockFactOf, otpFactColumns, otpFactOf } from '../otp/fact-rows.ts';
import { type Cell, type Engine, type Params, shownRows } from '../store/engine.ts';
import { orNull } from '../store/event-row.ts';

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
    replayed: { 'link.clicked': "class = 'human'", 'link.requested': "class != 'human'" },
  },
};

export async function replayFacts(engine: Engine, query: ReplayFacts): Promise<ReplayFactsReply> {
  const { accountId, livemode, kind, after } = query;
  const { table, key, at, keyWithinMs, order, columns, factOf } = sources[kind];
  const replayed: { readonly [Type in WebhookEventType]?: string } = sources[kind].replayed;
  const wanted = query.types.flatMap((type) => replayed[type] ?? []).map((each) => `(${each})`);
  if (wanted.length === 0) return { result: 'found', facts: [], next: null, total: 0 };
  const [time, id] = key;
  const [which, params]: [string, Params] =
    'eventId' in query
      ? ['event_id = {eventId:String}', { eventId: query.eventId }]
      : [
          `${at} >= ${moment('sinceMs')} AND ${at} < ${moment('untilMs')}
           AND ${time} >= ${moment('keyFromMs')} AND ${time} < ${moment('keyToMs')}`,
          {
            ...{ sinceMs: query.sinceMs, untilMs: query.untilMs },
            ...{ keyFromMs: query.sinceMs - keyWithinMs, keyToMs: query.untilMs + keyWithinMs },
          },
        ];
  const own = `account_id = {accountId:String} AND livemode = {livemode:Bool}`;
  const where = `${own} AND (${wanted.join(' OR ')}) AND ${which}`;
  const read = (sql: string, more: Params = {}) =>
    shownRows(engine, `${sql} SETTINGS max_threads = 1`, { accountId, livemode, ...params, ...more });
  const [onward, place]: [string, Params] =
    after === null
      ? ['', {}]
      : [
          `AND ${time} >= ${moment('afterMs')} AND (${time} > ${moment('afterMs')} OR ${id} > {afterId:String})`,
          { afterMs: after.atMs, afterId: after.id },
        ];
  // The engine ends such a read at the limit; with the versions in the order, or one row of each id, it sorts all that follows.
  const page = limits.queries.replayFactsMax;
  const keys = await read(
    `SELECT toUnixTimestamp64Milli(${time}), ${id} FROM ${table} WHERE ${where} ${onward} ORDER BY ${time}, ${id} LIMIT ${page}`,
    place,
  );
  const [lastMs = 0, lastId = ''] = (keys.at(-1) ?? []) as readonly [number | string, string] | [];
  const rows =
    keys.length === 0
      ? []
      : await read(
          `SELECT ${columns} FROM ${table} WHERE ${where} ${onward}
           AND ${time} <= ${moment('lastMs')} AND (${time} < ${moment('lastMs')} OR ${id} <= {lastId:String})
           ORDER BY ${time}, ${id}${order} LIMIT 1 BY ${id}`,
          { ...place, lastMs: Number(lastMs), lastId },
        );
  const isFirstOfTime = after === null && !('eventId' in query);
  const counted = isFirstOfTime ? await read(`SELECT uniqCombined64(${id}) FROM ${table} WHERE ${where}`) : null;
  const found = rows.map((row) => factOf(row, { accountId, livemode }));
  return {
    result: 'found',
    facts: kind === 'otp' ? await withNumbers(engine, found as OtpFact[], query) : found,
    next: keys.length < page ? null : { atMs: Number(lastMs), id: lastId },
    total: counted === null ? null : Number(counted[0]?.[0] ?? 0),
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
     GROUP BY message_id SETTINGS max_threads = 1`,
    { accountId, livemode, messageIds },
  );
  const sent = new Map(rows.map(([messageId, to, reference]) => [messageId, [to as string, reference as string]]));
  return facts.flatMap((fact) => {
    const message = fact.messageIds.map((messageId) => sent.get(messageId)).find((each) => each !== undefined);
    const [to = '', reference = ''] = message ?? [];
    return to === '' ? [] : { ...fact, to, clientReference: orNull(reference) };
  });
}

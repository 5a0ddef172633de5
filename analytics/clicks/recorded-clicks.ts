// What ClickHouse has of the records of a batch: a record that came twice is not written or counted again, and a range that
// is repeated after a crash is counted from the rows of its first insert, by their token, because a receipt that came since
// would give a click another class.
import { type ClickClass, clickClasses } from '../../model/click-class.ts';
import { codeNumber } from '../../model/link-code.ts';
import type { Click, IssuedLinks } from '../../model/records/click-record.ts';
import { limits } from '../../platform/limits.ts';
import { type Engine, slowRows } from '../store/engine.ts';
import type { ClickReason } from './classify.ts';
import { inOneThread } from './click-rows.ts';

/** A recorded click: its class, and whether it is a row of this insert. */
type RecordedClick = {
  readonly class: ClickClass;
  readonly reasons: readonly ClickReason[];
  readonly isOfInsert: boolean;
};

/** Those of these clicks that are recorded, by id. */
export async function recordedClicks(
  engine: Engine,
  clicks: readonly Click[],
  token: string,
): Promise<ReadonlyMap<string, RecordedClick>> {
  const recorded = new Map<string, RecordedClick>();
  for (const asked of slicesOf(clicks)) {
    const times = asked.map(({ atMs }) => atMs);
    const rows = await slowRows(
      engine,
      `SELECT click_id, class, reasons, insert_token = {token:String} FROM link_clicks
       WHERE account_id IN {accountIds:Array(String)} AND click_id IN {clickIds:Array(String)}
         AND at >= fromUnixTimestamp64Milli({fromMs:Int64}) AND at <= fromUnixTimestamp64Milli({toMs:Int64})
       ${inOneThread}`,
      {
        accountIds: [...new Set(asked.map(({ accountId }) => accountId))],
        clickIds: asked.map(({ clickId }) => clickId),
        fromMs: Math.floor(Math.min(...times)),
        toMs: Math.ceil(Math.max(...times)),
        token,
      },
    );
    for (const [clickId, clickClass, reasons, isOfInsert] of rows) {
      recorded.set(clickId as string, {
        class: clickClass as ClickClass,
        reasons: reasons as readonly ClickReason[],
        isOfInsert: Number(isOfInsert) === 1,
      });
    }
  }
  return recorded;
}

/** The messages of a batch whose codes are not recorded, or not by an earlier insert. */
export type NewlyIssued = {
  /** Messages with codes to write. */
  readonly unwritten: readonly IssuedLinks[];
  /** Messages that are counted with this insert, each once. */
  readonly uncounted: readonly IssuedLinks[];
};

export async function newlyIssued(engine: Engine, issued: readonly IssuedLinks[], token: string): Promise<NewlyIssued> {
  const written = new Set<string>();
  const counted = new Set<string>();
  for (const asked of slicesOf([...new Set(issued.map(({ messageId }) => messageId))])) {
    const rows = await slowRows(
      engine,
      `SELECT message_id, code, insert_token = {token:String} FROM link_codes WHERE message_id IN {asked:Array(String)}
       ${inOneThread}`,
      { asked, token },
    );
    for (const [messageId, code, isOfInsert] of rows) {
      written.add(`${messageId as string} ${code as number}`);
      if (Number(isOfInsert) === 0) counted.add(messageId as string);
    }
  }
  const unwritten: IssuedLinks[] = [];
  const uncounted = new Map<string, IssuedLinks>();
  for (const each of issued) {
    const { messageId } = each;
    const links = each.links.filter((link) => !written.has(`${messageId} ${codeNumber(link)}`));
    for (const link of links) written.add(`${messageId} ${codeNumber(link)}`);
    if (links.length > 0) unwritten.push({ ...each, links });
    if (!counted.has(messageId) && !uncounted.has(messageId)) uncounted.set(messageId, each);
  }
  return { unwritten, uncounted: [...uncounted.values()] };
}

/** When a message was first clicked by each class, in the order of `clickClasses`, ms since the epoch; Infinity: not yet. */
export type FirstClicks = readonly number[];
export const noClicks: FirstClicks = clickClasses.map(() => Number.POSITIVE_INFINITY);

/** By message id, without the rows of this insert; a message without clicks is not in it. */
export async function firstClicksOf(
  engine: Engine,
  messageIds: readonly string[],
  token: string,
): Promise<ReadonlyMap<string, FirstClicks>> {
  const firsts = new Map<string, number[]>();
  for (const asked of slicesOf(messageIds)) {
    const rows = await slowRows(
      engine,
      `SELECT message_id, class, toUnixTimestamp64Milli(min(at)) FROM link_clicks
       WHERE message_id IN {asked:Array(String)} AND insert_token != {token:String} GROUP BY message_id, class
       ${inOneThread}`,
      { asked, token },
    );
    for (const [messageId, clickClass, atMs] of rows) {
      const of = firsts.get(messageId as string) ?? [...noClicks];
      of[clickClasses.indexOf(clickClass as ClickClass)] = Number(atMs);
      firsts.set(messageId as string, of);
    }
  }
  return firsts;
}

function* slicesOf<T>(all: readonly T[]): Generator<readonly T[]> {
  for (let from = 0; from < all.length; from += limits.clicks.lookupMax) {
    yield all.slice(from, from + limits.clicks.lookupMax);
  }
}

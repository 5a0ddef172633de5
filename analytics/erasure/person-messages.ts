// The messages of an erased number in sms_events. An erasure has the keyed hash of the number and not the number, and rows that
// were recorded before schema 008 have the number and the hash 0. The key may not be in the text of a statement
// (docs/decisions/0223-numbers-are-hashed-and-cut.md), so such numbers are hashed here: those of one place of 256, which an
// erasure names.
import type { Erasure } from '../../cluster/bus/erasures.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { AccountId, MessageId } from '../../model/ids.ts';
import type { NumberHashes } from '../../model/number-hash.ts';
import type { Clock } from '../../platform/clock.ts';
import { mapInTurns } from '../../platform/work-turn.ts';
import { literal } from '../sql/sql-user.ts';
import { type Cell, type Engine, slowRows } from '../store/engine.ts';

export type PersonMessage = Pick<DeliveryEvent, 'messageId' | 'accountId' | 'acceptedAtMs'>;

const messageColumns = 'message_id, account_id, toUnixTimestamp64Milli(accepted_at)';

/** Each once, as long as its number is not cut off or it has a hash. */
export async function personMessages(
  engine: Engine,
  numbers: NumberHashes,
  erasure: Erasure,
  clock: Clock,
): Promise<readonly PersonMessage[]> {
  const hashed = await slowRows(
    engine,
    `SELECT DISTINCT ${messageColumns} FROM sms_events WHERE ${ownRows(erasure)} SETTINGS max_threads = 1`,
  );
  const found = [...hashed, ...(await withoutHash(engine, numbers, erasure, clock))];
  return [...new Map(found.map((row) => [`${String(row[0])} ${String(row[1])}`, messageOfRow(row)])).values()];
}

/** Partition by partition: 100,000,000 messages of a month have some 400,000 in one place. */
async function withoutHash(
  engine: Engine,
  numbers: NumberHashes,
  erasure: Erasure,
  clock: Clock,
): Promise<readonly (readonly Cell[])[]> {
  // Refused requests have the hash 0 too, and are in every part: without the time all would be read.
  const old = `${until(erasure)} AND recipient_hash = 0 AND recipient_clear AND recorded_at < ${hashesFrom}`;
  const partitions = await slowRows(
    engine,
    `SELECT DISTINCT _partition_id FROM sms_events WHERE ${old} ORDER BY 1 SETTINGS max_threads = 1`,
  );
  const own: (readonly Cell[])[] = [];
  for (const [partition] of partitions) {
    const rows = await slowRows(
      engine,
      `SELECT DISTINCT ${messageColumns}, recipient FROM sms_events
       WHERE _partition_id = {partition:String} AND ${old} AND ${placeOfRecipient} = {place:UInt32}
       SETTINGS max_threads = 1`,
      { partition: partition as string, place: erasure.place },
    );
    const isOwn = await mapInTurns(rows, (row) => numbers.of(row[3] as string) === erasure.hash, clock);
    own.push(...rows.filter((_, at) => isOwn[at]));
  }
  return own;
}

/** When every recorder wrote hashes: a day after the upgrade, because one of the version before may have gone on beside it. */
const hashesFrom = '(SELECT max(applied_at) + INTERVAL 1 DAY FROM schema_versions WHERE version = 8)';

const number = 'toUInt64OrZero(substring(recipient, 2))';
/** `suppressionPlaceOf` of model/suppression.ts as SQL. */
export const placeOfRecipient =
  `bitShiftRight(bitXor(${number} % 4294967296, intDiv(${number}, 4294967296) * ${0x85eb_ca6b} % 4294967296) * ${0x9e37_79b1}` +
  ' % 4294967296, 24)';

function messageOfRow([messageId, accountId, acceptedAtMs]: readonly Cell[]): PersonMessage {
  return { messageId: messageId as MessageId, accountId: accountId as AccountId, acceptedAtMs: Number(acceptedAtMs) };
}

/** Of a table with the hash of the number. */
export function ownRows(erasure: Pick<Erasure, 'hash' | 'accountId' | 'atMs'>): string {
  return `${until(erasure)} AND recipient_hash = ${BigInt(erasure.hash)}`;
}

function until({ accountId, atMs }: Pick<Erasure, 'accountId' | 'atMs'>): string {
  const account = accountId === null ? '' : `account_id = ${literal(accountId)} AND `;
  return `${account}accepted_at <= fromUnixTimestamp64Milli(toInt64(${Math.floor(atMs)}))`;
}

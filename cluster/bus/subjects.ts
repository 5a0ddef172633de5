// The NATS subjects: built and parsed only here. Tokens never contain dots, because the configuration allows a–z, 0–9
// and hyphens in carrier names.
import { type AccountId, shardOf } from '../../model/ids.ts';
import { type Category, type Lane, laneOf } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';

/** `mt.<lane>.<carrier>.<account shard>`: a message on its way to a carrier. */
export function messageSubject(category: Category, carrier: string, accountId: AccountId | string): string {
  return `mt.${laneOf[category]}.${carrier}.${shardOf(accountId, limits.bus.accountShards)}`;
}

/** Every message of the lane of this category: one stream. */
export function laneSubject(category: Category): string {
  return laneSubjects[category];
}
const laneSubjects: Readonly<Record<Category, string>> = {
  otp: `mt.${laneOf.otp}.>`,
  transactional: `mt.${laneOf.transactional}.>`,
  promotional: `mt.${laneOf.promotional}.>`,
};

/** Where the excess of accounts that flood a lane is moved to overflow. */
export type OverflowShard = `a${number}`;
export type MessageShard = number | OverflowShard;

/** The messages of one shard in one lane for one carrier. */
export function messageFilter(lane: Lane, carrier: string, shard: MessageShard): string {
  return `mt.${lane}.${carrier}.${shard}`;
}

/**
 * The overflow shard of an account: always the same one, so that whoever looks for the copy of a record knows where it
 * must be. Accounts that share an account shard do not for that reason share it too.
 */
export function overflowShardOf(accountId: AccountId | string): OverflowShard {
  return `a${shardOf(`to overflow ${accountId}`, limits.overflow.shards)}`;
}

/** `mt.<lane>.<carrier>.a<overflow shard>`: where what an account has too much of waits for its turn. */
export function overflowSubject(category: Category, carrier: string, accountId: AccountId | string): string {
  return messageFilter(laneOf[category], carrier, overflowShardOf(accountId));
}

/** Every shard of one lane for one carrier. For counting only: consumers take one shard each. */
export function laneFilter(lane: Lane, carrier: string): string {
  return `mt.${lane}.${carrier}.*`;
}

/** The overflow shard a subject names; null for every other subject. */
export function overflowShardOfSubject(subject: string): OverflowShard | null {
  const shard = subject.split('.')[3] ?? '';
  return subject.startsWith('mt.') && shard.startsWith('a') ? (shard as OverflowShard) : null;
}

/** `ev.<carrier>.<shard>`: batches of delivery events. A message's events all share one shard. */
export function eventSubject(carrier: string, shard: number): string {
  // Refused requests went to no carrier. No carrier's name begins with an underscore.
  return `ev.${carrier === '' ? '_ingress' : carrier}.${shard}`;
}

export function eventFilter(carrier: string): string {
  return `ev.${carrier}.>`;
}

/**
 * scheduled: by a client · holds: accepted, and held by a carrier until quiet hours end · later: the system's own, short
 * waits. Each has a stream of its own, so that none of them takes the room of another.
 */
export type WaitKind = 'scheduled' | 'holds' | 'later';

/**
 * `<kind>.<hour>.<second>.<shard>`: what must wait until that second. The hour lets a releaser that was away for
 * weeks find what is overdue with one question per hour instead of one per second.
 */
export function waitSubject(kind: WaitKind, dueAtMs: number, shardKey: string): string {
  const second = Math.floor(dueAtMs / 1_000);
  return `${kind}.${hourOf(second)}.${second}.${shardOf(shardKey, limits.bus.laterShards)}`;
}

export function waitFilter(kind: WaitKind): string {
  return `${kind}.>`;
}

export function waitSecondFilter(kind: WaitKind, second: number): string {
  return `${kind}.${hourOf(second)}.${second}.*`;
}

export function waitHourFilter(kind: WaitKind, hour: number): string {
  return `${kind}.${hour}.*.*`;
}

/** `cancel.<hour>.<second>`: the cancels of messages that are due in that second, in the order they came. */
export function cancelSubject(second: number): string {
  return `cancel.${hourOf(second)}.${second}`;
}

export function cancelHourFilter(hour: number): string {
  return `cancel.${hour}.>`;
}

/** The carrier a message's subject names; null for every other subject. */
export function carrierOfSubject(subject: string): string | null {
  const [stream, , carrier] = subject.split('.');
  return stream === 'mt' && carrier !== undefined ? carrier : null;
}

/** The second a waiting record's subject is due. */
export function secondOfWaitSubject(subject: string): number {
  return Number(subject.split('.')[2]);
}

export function hourOf(second: number): number {
  return Math.floor(second / 3_600);
}

/** `mo.<carrier>`: what came from a carrier and could not be settled at once (receipts without a match, for one). */
export function inboundSubject(carrier: string): string {
  return `mo.${carrier}`;
}

/** `mo.<carrier>.in`: messages from subscribers, in the parts they came in. */
export function inboundPartSubject(carrier: string): string {
  return `mo.${carrier}.in`;
}
export const inboundPartFilter = 'mo.*.in';

/** `mo.<carrier>.decided`: what subscribers decided with a keyword, on its way to the suppression lists. */
export function decisionSubject(carrier: string): string {
  return `mo.${carrier}.decided`;
}
export const decisionFilter = 'mo.*.decided';

/** `ops.<carrier>` and `ops.<carrier>.<bind>`: what operators ordered of a carrier or of one of its binds. */
export function commandSubject(carrier: string, bind: number | null): string {
  return bind === null ? `ops.${carrier}` : `ops.${carrier}.${bind}`;
}

/** Core NATS: a command was issued, read the stream. */
export const commandsChangedSubject = 'notify.commands';

/** Core NATS: which API keys are used today. */
export const keysUsedSubject = 'notify.keys_used';

/** Beside the orders, in their stream: what else the audit log receives. */
export const auditNoteSubject = 'audit.note';
/** Core NATS: whoever serves carriers says how they are. */
export const carrierReportsSubject = 'ask.carriers';

/** `dead.<stream>`: a record of that stream nobody could read or handle. */
export function deadSubject(stream: string): string {
  return `dead.${stream}`;
}
export const deadFilter = 'dead.*';

/**
 * `<subject>.unread`: where a record that cannot be read waits while DEAD is full. No filter of a carrier, of a count,
 * of a due second or of an inbound consumer has as many tokens. Null for subjects of streams that have no such place.
 */
export function fallbackSubject(subject: string): string | null {
  const tokens = subject.split('.');
  if (fourTokens.has(tokens[0] ?? '') && tokens.length === 4) return `${subject}.unread`;
  if (tokens[0] !== 'mo' || tokens.length > 3) return null;
  return tokens.length === 3 ? `${subject}.unread` : `${subject}.receipt.unread`;
}
const fourTokens: ReadonlySet<string> = new Set(['mt', 'scheduled', 'holds', 'later'] satisfies ['mt', ...WaitKind[]]);
export const fallbackFilters: Readonly<Record<string, string>> = {
  MT_OTP: 'mt.otp.*.*.unread',
  MT_TXN: 'mt.txn.*.*.unread',
  MT_PROMO: 'mt.promo.*.*.unread',
  SCHEDULED: 'scheduled.*.*.*.unread',
  HOLDS: 'holds.*.*.*.unread',
  LATER: 'later.*.*.*.unread',
  INBOUND: 'mo.*.*.unread',
};

/** The stream a record of DEAD came from; null for the mark of a replay. */
export function streamOfDeadSubject(subject: string): string | null {
  const [dead, stream, more] = subject.split('.');
  return dead === 'dead' && stream !== undefined && more === undefined ? stream : null;
}

/** `dead.replayed.<seq>`: that record of DEAD was about to be put back. */
export function replayMarkSubject(seq: number): string {
  return `dead.replayed.${seq}`;
}

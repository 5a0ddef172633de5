// Builds and parses all NATS subjects. Tokens never contain dots: the configuration allows a–z, 0–9 and hyphens in
// carrier names.
import { type AccountId, shardOf } from '../../model/ids.ts';
import { type Category, type Lane, laneOf } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';

/** `mt.<lane>.<carrier>.<account shard>`: the queue of a message. */
export const messageSubject = (category: Category, carrier: string, accountId: AccountId | string) =>
  `mt.${laneOf[category]}.${carrier}.${shardOf(accountId, limits.bus.accountShards)}`;

/** All messages of this category's lane: one stream. */
export const laneSubject = (category: Category): string => laneSubjects[category];
const laneSubjects: Readonly<Record<Category, string>> = {
  otp: `mt.${laneOf.otp}.>`,
  transactional: `mt.${laneOf.transactional}.>`,
  promotional: `mt.${laneOf.promotional}.>`,
};

/** Where the excess of a flooding account goes. */
export type OverflowShard = `a${number}`;
export type MessageShard = number | OverflowShard;

/** The messages of one shard of a lane for one carrier. */
export const messageFilter = (lane: Lane, carrier: string, shard: MessageShard) => `mt.${lane}.${carrier}.${shard}`;

/**
 * The overflow shard of an account, always the same, so that copies of a record can be found. Accounts that share an
 * account shard usually have different ones.
 */
export const overflowShardOf = (accountId: AccountId | string): OverflowShard =>
  `a${shardOf(`to overflow ${accountId}`, limits.overflow.shards)}`;

/** `mt.<lane>.<carrier>.a<overflow shard>`: where the excess of an account waits. */
export const overflowSubject = (category: Category, carrier: string, accountId: AccountId | string): string =>
  messageFilter(laneOf[category], carrier, overflowShardOf(accountId));

/** Every shard of a lane for one carrier. For counting only: a consumer takes one shard. */
export const laneFilter = (lane: Lane, carrier: string) => `mt.${lane}.${carrier}.*`;

/** The overflow shard in a subject; null for other subjects. */
export function overflowShardOfSubject(subject: string): OverflowShard | null {
  const shard = subject.split('.')[3] ?? '';
  return subject.startsWith('mt.') && shard.startsWith('a') ? (shard as OverflowShard) : null;
}

/** `ev.<carrier>.<shard>`: batches of delivery events. All events of a message share one shard. */
export function eventSubject(carrier: string, shard: number): string {
  // Refused requests have no carrier; no carrier's name begins with an underscore.
  return `ev.${carrier === '' ? '_ingress' : carrier}.${shard}`;
}

export const eventFilter = (carrier: string) => `ev.${carrier}.>`;

/**
 * scheduled: by a client · holds: held by a carrier until quiet hours end · later: the system's own short waits. Each
 * has its own stream, so that none fills the space of another.
 */
export type WaitKind = 'scheduled' | 'holds' | 'later';

/**
 * `<kind>.<hour>.<second>.<shard>`: records that wait until that second. By hour, a releaser that was away for weeks
 * finds overdue records with one request instead of 3,600.
 */
export function waitSubject(kind: WaitKind, dueAtMs: number, shardKey: string): string {
  const second = Math.floor(dueAtMs / 1_000);
  return `${kind}.${hourOf(second)}.${second}.${shardOf(shardKey, limits.bus.laterShards)}`;
}

export const waitFilter = (kind: WaitKind) => `${kind}.>`;
export const waitSecondFilter = (kind: WaitKind, second: number) => `${kind}.${hourOf(second)}.${second}.*`;
export const waitHourFilter = (kind: WaitKind, hour: number) => `${kind}.${hour}.*.*`;

/** `cancel.<hour>.<second>`: the cancels of messages due in that second, in order. */
export const cancelSubject = (second: number) => `cancel.${hourOf(second)}.${second}`;
export const cancelHourFilter = (hour: number) => `cancel.${hour}.>`;

/** The carrier in a message's subject; null for other subjects. */
export function carrierOfSubject(subject: string): string | null {
  const [stream, , carrier] = subject.split('.');
  return stream === 'mt' && carrier !== undefined ? carrier : null;
}

/** The due second in a waiting record's subject. */
export const secondOfWaitSubject = (subject: string) => Number(subject.split('.')[2]);

export const hourOf = (second: number) => Math.floor(second / 3_600);

/** `mo.<carrier>`: what a carrier sent and could not be settled at once, such as receipts without a match. */
export const inboundSubject = (carrier: string) => `mo.${carrier}`;

/** `mo.<carrier>.in`: messages from subscribers, part by part. */
export const inboundPartSubject = (carrier: string) => `mo.${carrier}.in`;
export const inboundPartFilter = 'mo.*.in';

/** `mo.<carrier>.decided`: subscribers' STOP and START, on the way to the suppression lists. */
export const decisionSubject = (carrier: string) => `mo.${carrier}.decided`;
export const decisionFilter = 'mo.*.decided';

/** Series of codes of short links, and links that were switched off or on. */
export const linkSeriesSubject = 'links.series';
export const linkSwitchSubject = 'links.switch';
/** Codes with their messages, and requests for codes. */
export const issuedLinksSubject = 'clicks.issued';
export const clicksSubject = 'clicks.seen';

/** Events that are not about the delivery of a message (model/fact.ts), by what they are about. */
export const factSubjects = { otp: 'facts.otp', guard: 'facts.guard', click: 'facts.click' } as const;
export const factFilter = 'facts.*';

/** `ops.<carrier>` and `ops.<carrier>.<bind>`: operator commands for a carrier or one of its binds. */
export const commandSubject = (carrier: string, bind: number | null): string =>
  bind === null ? `ops.${carrier}` : `ops.${carrier}.${bind}`;

/** Core NATS: a new command is in the stream. */
export const commandsChangedSubject = 'notify.commands';

/** Core NATS: the API keys used today. */
export const keysUsedSubject = 'notify.keys_used';

/** Core NATS: codes sent and entered, and their receipts, for the guards against fraud. */
export const otpGuardSubject = 'notify.otp_guard';

/** Core NATS: which of two copies of a one-time password is delivered, for the carriers' actors. */
export const copiesDeliveredSubject = 'notify.copies_delivered';

/** Other records for the audit log, in the stream of the operator commands. */
export const auditNoteSubject = 'audit.note';
/** Core NATS: asks every node that serves carriers for their state. */
export const carrierReportsSubject = 'ask.carriers';

/** `whl.<account>.<endpoint>`: events of an endpoint that is slow, fails or is disabled, in order. */
export const parkedSubject = (accountId: string, endpointId: string) => `whl.${accountId}.${endpointId}`;
export const parkedFilter = 'whl.*.*';
/** Records of nobody, of no line, that are deleted at once (rewrite-file.ts). */
export const parkedFiller = 'whl.filler';

/** `whr.<account>.<endpoint>`: events that failed while others of their endpoint succeeded, each with its time. */
export const retrySubject = (accountId: string, endpointId: string) => `whr.${accountId}.${endpointId}`;
export const retryFilter = 'whr.*.*';

/** `wha.<account>.<endpoint>.<ok|failed>`: requests to an endpoint, and how they ended. */
export const attemptSubject = (accountId: string, endpointId: string, succeeded: boolean) =>
  `wha.${accountId}.${endpointId}.${succeeded ? 'ok' : 'failed'}`;
/** `succeeded` null: both. */
export const attemptFilter = (accountId: string, endpointId: string, succeeded: boolean | null): string =>
  succeeded === null ? `wha.${accountId}.${endpointId}.*` : attemptSubject(accountId, endpointId, succeeded);

/** `dead.<stream>`: a record of that stream that could not be read or handled. */
export const deadSubject = (stream: string) => `dead.${stream}`;
export const deadFilter = 'dead.*';

/**
 * `<subject>.unread`: where a record that cannot be handled waits while DEAD is full. No other filter has as many
 * tokens. Null for subjects of streams without such a fallback.
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

/** The stream that a record of DEAD came from; null for the mark of a replay. */
export function streamOfDeadSubject(subject: string): string | null {
  const [dead, stream, more] = subject.split('.');
  return dead === 'dead' && stream !== undefined && more === undefined ? stream : null;
}

/** `dead.replayed.<seq>`: a replay of that record of DEAD was begun. */
export const replayMarkSubject = (seq: number) => `dead.replayed.${seq}`;

// The bucket `otp_guard`: blocked prefixes of numbers and those that rules in shadow mode would have blocked, outages of
// carriers and of numbers, and each account's own destinations and safe list. Ingress threads and the management API write
// it, by compare-and-set; every ingress thread watches it. A block that has ended stays for a day, because it makes the next
// one longer; the entry of that one has it, too.
import { isDeepStrictEqual } from 'node:util';
import type { KV, KvEntry } from '@nats-io/kv';
import { jsonObjectIn } from '../../platform/json.ts';
import { limits } from '../../platform/limits.ts';
import type { CarrierOutage, NumberBlock } from '../../policy/otp-guard/contract.ts';
import { thresholds } from '../../policy/otp-guard/thresholds.ts';
import { merge, readEntry } from './bucket.ts';
import type { Bus } from './connect.ts';
import { readEntries } from './read-present.ts';
import { streamOfBucket, subjectInBucket } from './streams.ts';

/** Times in milliseconds since the epoch. */
export type StoredBlock = Omit<NumberBlock, 'durationMs'> & {
  readonly fromMs: number;
  readonly untilMs: number;
  /** Why it ended before its time; null when it did not. */
  readonly released: 'probe' | 'operator' | null;
  /** A person's reason, or why 10^6 numbers are blocked instead of 10^4; empty without one. */
  readonly note: string;
  /** Those of the prefix before it that ended within a day, the newest first, at most `earlierMax`; absent without any. */
  readonly earlier?: readonly EarlierBlock[];
};

type EarlierBlock = Omit<StoredBlock, 'accountId' | 'prefix' | 'shadow' | 'earlier'>;

/** Of a carrier, or of a block of an account's numbers (with the plus sign). */
type OutagePlace = { readonly carrier: string } | { readonly accountId: string; readonly prefix: string };
type OutageFigures = Pick<CarrierOutage, 'statistic' | 'threshold'>;

/** An outage, in which nothing is blocked, with the figure and the threshold of its begin and of its end. */
export type BegunOutage = OutagePlace &
  OutageFigures & { readonly accountIds: readonly string[]; readonly fromMs: number };
export type EndedOutage = OutagePlace & OutageFigures;
/** `end`: null while it lasts. */
export type StoredOutage = BegunOutage & { readonly end: (OutageFigures & { readonly atMs: number }) | null };

/** Of one account: prefixes with the plus sign. `destinations` null: those of the configuration. */
export type GuardLists = {
  readonly accountId: string;
  readonly destinations: readonly string[] | null;
  readonly safeList: readonly string[];
};

export type GuardEntry =
  | ({ readonly kind: 'block'; readonly block: StoredBlock | null } & BlockPlace)
  | { readonly kind: 'outage'; readonly outage: StoredOutage | null }
  | { readonly kind: 'lists'; readonly accountId: string; readonly lists: GuardLists | null };

/** `shadow`: what a rule in shadow mode would have blocked has an entry of its own. */
type BlockPlace = Pick<StoredBlock, 'accountId' | 'prefix' | 'shadow'>;

const version = 1;
const namePattern =
  /^(?:(block|shadow)\.(acc_[0-9A-Z]{26})\.([0-9]{1,15})|lists\.(acc_[0-9A-Z]{26})|(outage\.[a-z0-9-]+|unreachable\.acc_[0-9A-Z]{26}\.[0-9]{1,15}))$/;
const sweepWithinMs = 5_000;

/** An entry, or its deletion (`body` null). Null for what this version cannot read. */
export function readGuardEntry(name: string, body: Uint8Array | null): GuardEntry | null {
  const [, mode, ofBlock, digits = '', ofLists, ofOutage] = namePattern.exec(name) ?? [];
  const stored = body === null ? null : jsonObjectIn(body);
  if (body !== null && stored?.['v'] !== version) return null;
  if (ofLists !== undefined) {
    return { kind: 'lists', accountId: ofLists, lists: stored === null ? null : (stored as unknown as GuardLists) };
  }
  if (ofOutage !== undefined) return { kind: 'outage', outage: stored as StoredOutage | null };
  if (ofBlock === undefined) return null;
  const block = stored === null ? null : (stored as unknown as StoredBlock);
  // An earlier version had both under one name.
  const shadow = mode === 'shadow' || block?.shadow === true;
  return { kind: 'block', accountId: ofBlock, prefix: `+${digits}`, shadow, block };
}

/**
 * Stores the block; what is in effect then. unchanged: of a rule, one that is in effect is there · full: the account has its
 * share of them in effect; those that have ended make room. Requests at the same moment may each add one beyond it.
 */
export async function putBlock(bus: Bus, bucket: KV, block: StoredBlock): Promise<StoredBlock | 'unchanged' | 'full'> {
  let isFull = false;
  let stored = block;
  const isStored = await change(bucket, nameOfBlock(block), async (held) => {
    const before = blockIn(held);
    const isAtShare = before === null && (await count(bus, keysOf(block))) >= shareOf(block);
    isFull = isAtShare && (await forgetEnded(bus, block)) === 0;
    if (isFull) return null;
    // Each thread finds the same block by itself: the first one's is kept, and what a person orders is no rule's.
    if (block.rule !== 'operator' && before !== null && before.untilMs > block.fromMs) return null;
    const earlier = earlierOf(before, block.fromMs);
    stored = block.rule === 'operator' ? ordered(block, before) : block;
    if (earlier.length > 0) stored = { ...stored, earlier };
    return stored;
  });
  if (isFull) return 'full';
  return isStored ? stored : 'unchanged';
}

/**
 * What a person orders takes the place of the block that is there, so that no probe ends it and its note is seen; the later
 * end holds. It does not count among those of rules in a row, and does not make the guard forget them.
 */
function ordered(order: StoredBlock, before: StoredBlock | null): StoredBlock {
  if (before === null) return order;
  const { times, rule } = before;
  // What a person has released counts no more.
  if (before.untilMs <= order.fromMs) return { ...order, times: before.released === 'operator' ? 0 : times };
  const note = order.note === '' && rule === 'operator' ? before.note : order.note;
  return { ...order, times, note, untilMs: Math.max(order.untilMs, before.untilMs) };
}

/** With the block that is there, if it has ended: so the list still has it when the prefix is blocked again. */
function earlierOf(before: StoredBlock | null, nowMs: number): readonly EarlierBlock[] {
  if (before === null) return [];
  const { accountId: _, prefix: __, shadow: ___, earlier = [], ...block } = before;
  const note = block.note.slice(0, limits.otpGuard.earlierNoteCharsMax);
  const ended = block.untilMs <= nowMs ? [{ ...block, note }, ...earlier] : earlier;
  return ended.filter((each) => isRemembered(each, nowMs)).slice(0, limits.otpGuard.earlierMax);
}

const isRemembered = ({ untilMs }: EarlierBlock, nowMs: number) => untilMs + thresholds.blockRememberedMs >= nowMs;

function shareOf({ rule }: StoredBlock): number {
  const { blocksShare, ruleBlocksShare } = limits.otpGuard;
  return rule === 'operator' ? blocksShare : ruleBlocksShare;
}

/** Forgets the account's blocks that ended first: what they are remembered for is that the next one of them is longer. */
async function forgetEnded(bus: Bus, { fromMs, ...of }: StoredBlock): Promise<number> {
  const ended: (EntryPlace & { readonly untilMs: number })[] = [];
  await readBlocks(bus, keysOf(of), ({ untilMs }, place) => {
    if (untilMs <= fromMs) ended.push({ ...place, untilMs });
  });
  ended.sort((one, other) => one.untilMs - other.untilMs);
  return removeEntries(bus, ended.slice(0, limits.otpGuard.forgottenAtOnce));
}

/** Entries with such names, also of what has ended and is kept. */
async function count(bus: Bus, keys: string): Promise<number> {
  const filter = { subjects_filter: subjectInBucket('otp_guard', keys) };
  const { state } = await bus.manager.streams.info(streamOfBucket('otp_guard'), filter);
  return Object.keys(state.subjects ?? {}).length;
}

type NumbersPlace = Pick<StoredBlock, 'accountId' | 'prefix'>;

/**
 * A person ends the block of the prefix; where there is none, what a rule in shadow mode would have blocked. Every guard
 * forgets what it counted there. Null when there is neither.
 */
export async function releaseBlock(bucket: KV, place: NumbersPlace, nowMs: number): Promise<StoredBlock | null> {
  const ends = (shadow: boolean) => release(bucket, { ...place, shadow }, 'operator', nowMs, () => true);
  return (await ends(false)) ?? ends(true);
}

/** A probe was entered: ends the block that it passed, no later one, and never what a person ordered. */
export async function releaseProbed(
  bucket: KV,
  place: NumbersPlace,
  enteredAtMs: number,
  nowMs: number,
): Promise<StoredBlock | null> {
  const isPassed = ({ rule, fromMs }: StoredBlock) => rule !== 'operator' && fromMs <= enteredAtMs;
  return release(bucket, { ...place, shadow: false }, 'probe', nowMs, isPassed);
}

async function release(
  bucket: KV,
  place: BlockPlace,
  released: 'probe' | 'operator',
  nowMs: number,
  ends: (block: StoredBlock) => boolean,
): Promise<StoredBlock | null> {
  let ended: StoredBlock | null = null;
  await change(bucket, nameOfBlock(place), (held) => {
    const block = blockIn(held);
    const isEnded = block !== null && block.untilMs > nowMs && ends(block);
    ended = isEnded ? { ...block, untilMs: nowMs, released } : null;
    return ended;
  });
  return ended;
}

/**
 * Stores the begin of an outage. False when another thread has, when there was one shortly before, and when the account has
 * its share of outages of numbers. One whose end nobody stored, because every thread restarted meanwhile or no more codes
 * are sent, is over after a time.
 */
export async function storeOutage(bus: Bus, bucket: KV, outage: BegunOutage): Promise<boolean> {
  const { outageEveryMs, outageMsMax, unreachableShare } = limits.otpGuard;
  const lastsMsMax = 'prefix' in outage ? thresholds.undelivered.outageMsMax : outageMsMax;
  return change(bucket, nameOfOutage(outage), async (held) => {
    const before = outageIn(held);
    if (before !== null) {
      const isKnown = outage.fromMs - before.fromMs < (before.end === null ? lastsMsMax : outageEveryMs);
      return isKnown ? null : { ...outage, end: null };
    }
    const isFull = 'prefix' in outage && (await count(bus, `unreachable.${outage.accountId}.*`)) >= unreachableShare;
    return isFull ? null : { ...outage, end: null };
  });
}

/** Stores its end. False when it is stored already, or its begin was not. */
export async function storeOutageEnd(
  bucket: KV,
  { statistic, threshold, ...place }: EndedOutage,
  nowMs: number,
): Promise<boolean> {
  return change(bucket, nameOfOutage(place), (held) => {
    const outage = outageIn(held);
    return outage === null || outage.end !== null ? null : { ...outage, end: { atMs: nowMs, statistic, threshold } };
  });
}

export async function readLists(bucket: KV, accountId: string): Promise<GuardLists> {
  return listsIn((await readEntry(bucket, nameOfLists(accountId))).entry, accountId);
}

/**
 * Changes the lists that `changed` has only; returns the result. What would change nothing is not stored. `noted` keeps a
 * change before it is stored. Both are called again when others write at the same time.
 */
export async function changeLists(
  bucket: KV,
  accountId: string,
  changed: (before: GuardLists) => Partial<Omit<GuardLists, 'accountId'>>,
  noted: (before: GuardLists, after: GuardLists) => Promise<void> = async () => {},
): Promise<GuardLists> {
  let after = emptyLists(accountId);
  await change(bucket, nameOfLists(accountId), async (held) => {
    const before = listsIn(held, accountId);
    after = { ...before, ...changed(before) };
    if (isDeepStrictEqual(before, after)) return null;
    await noted(before, after);
    return after;
  });
  return after;
}

/** The account's blocks, also those in shadow mode and those that ended within a day, the newest first. */
export async function blocksOf(bus: Bus, accountId: string, nowMs: number): Promise<StoredBlock[]> {
  const blocks: StoredBlock[] = [];
  for (const shadow of [false, true]) {
    await readBlocks(bus, keysOf({ accountId, shadow }), ({ earlier = [], ...block }) => {
      const { prefix } = block;
      const ended = earlier.filter((each) => isRemembered(each, nowMs));
      blocks.push(block, ...ended.map((each) => ({ accountId, prefix, shadow, ...each })));
    });
  }
  return blocks.sort(newestFirst);
}

export type BlockBegin = Pick<StoredBlock, 'fromMs' | 'prefix' | 'shadow'>;

/** The order of a list of blocks, with one of its own for those of the same millisecond. */
export function newestFirst(one: BlockBegin, other: BlockBegin): number {
  if (one.fromMs !== other.fromMs) return other.fromMs - one.fromMs;
  if (one.prefix !== other.prefix) return one.prefix < other.prefix ? -1 : 1;
  return Number(one.shadow) - Number(other.shadow);
}

/** Removes blocks that are no longer remembered, and outages of numbers. Returns their number. */
export async function sweepBlocks(bus: Bus, nowMs: number): Promise<number> {
  const over: EntryPlace[] = [];
  const bounds = { recordsMax: limits.otpGuard.sweptMax, withinMs: sweepWithinMs };
  for (const keys of ['block.>', 'shadow.>', 'unreachable.>']) {
    await readEntries(bus, 'otp_guard', keys, bounds, ({ name, body, subject, seq }) => {
      const entry = readGuardEntry(name, body);
      if (entry !== null && keptToMs(entry) < nowMs) over.push({ subject, seq });
    });
  }
  return removeEntries(bus, over);
}

type EntryPlace = { readonly subject: string; readonly seq: number };

async function readBlocks(bus: Bus, keys: string, take: (block: StoredBlock, place: EntryPlace) => void) {
  const bounds = { recordsMax: limits.otpGuard.blocksShare, withinMs: sweepWithinMs };
  await readEntries(bus, 'otp_guard', keys, bounds, ({ name, body, subject, seq }) => {
    const entry = readGuardEntry(name, body);
    if (entry?.kind === 'block' && entry.block !== null) take(entry.block, { subject, seq });
  });
}

async function removeEntries(bus: Bus, entries: readonly EntryPlace[]): Promise<number> {
  for (const { subject, seq } of entries) {
    // Up to this record: a block stored since then stays.
    await bus.manager.streams.purge(streamOfBucket('otp_guard'), { filter: subject, seq: seq + 1 });
  }
  return entries.length;
}

function keptToMs(entry: GuardEntry): number {
  if (entry.kind === 'block' && entry.block !== null) return entry.block.untilMs + thresholds.blockRememberedMs;
  if (entry.kind === 'outage' && entry.outage !== null) return entry.outage.fromMs + limits.otpGuard.unreachableKeptMs;
  return Number.POSITIVE_INFINITY;
}

/** Whether this call stored what `change` made of the entry. */
async function change(
  bucket: KV,
  name: string,
  change: (held: KvEntry | null) => object | null | Promise<object | null>,
): Promise<boolean> {
  let stored = false;
  const text = async (held: KvEntry | null) => {
    const value = await change(held);
    stored = value !== null;
    return value === null ? null : JSON.stringify({ v: version, ...value });
  };
  const done = await merge(bucket, name, text, limits.otpGuard.mergeTriesMax);
  if (done === 'conflict') throw new Error('others write the same entry of the guard again and again');
  return stored;
}

const nameOfBlock = ({ accountId, prefix, shadow }: BlockPlace) =>
  `${shadow ? 'shadow' : 'block'}.${accountId}.${prefix.slice(1)}`;
const keysOf = ({ accountId, shadow }: Pick<StoredBlock, 'accountId' | 'shadow'>) =>
  `${shadow ? 'shadow' : 'block'}.${accountId}.*`;
const nameOfOutage = (place: OutagePlace) =>
  'prefix' in place ? `unreachable.${place.accountId}.${place.prefix.slice(1)}` : `outage.${place.carrier}`;
const nameOfLists = (accountId: string) => `lists.${accountId}`;
const emptyLists = (accountId: string): GuardLists => ({ accountId, destinations: null, safeList: [] });

/** Under the name of a block an earlier version may have stored one of a rule in shadow mode: it is none. */
function blockIn(held: KvEntry | null): StoredBlock | null {
  const entry = held === null ? null : readGuardEntry(held.key, held.value);
  const isNone = entry?.kind !== 'block' || (entry.shadow && held?.key.startsWith('block.'));
  return isNone ? null : entry.block;
}

function outageIn(held: KvEntry | null): StoredOutage | null {
  const entry = held === null ? null : readGuardEntry(held.key, held.value);
  return entry?.kind === 'outage' ? entry.outage : null;
}

function listsIn(held: KvEntry | null, accountId: string): GuardLists {
  const entry = held === null ? null : readGuardEntry(held.key, held.value);
  return entry?.kind === 'lists' && entry.lists !== null ? entry.lists : emptyLists(accountId);
}

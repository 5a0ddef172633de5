// What people change in the guard against fraud with one-time passwords, for the management API and the command line: each is an
// entry of the bucket `otp_guard` and a record of the audit log, which goes over the bus. No database is needed.
import { openBucket } from '../cluster/bus/ensure.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { type GuardLists, type StoredBlock, changeLists, releaseBlock } from '../cluster/bus/otp-guard-bucket.ts';
import { shortenedPrefix } from '../model/e164.ts';
import { limits } from '../platform/limits.ts';
import { noteForAudit } from './audit-notes.ts';
import type { Actor } from './store/store.ts';

type Lists = Omit<GuardLists, 'accountId'>;

/** Returns what is in effect within a second. `changed`: as in `changeLists`. */
export async function changeGuardLists(
  bus: Bus,
  accountId: string,
  changed: (before: Lists) => Partial<Lists>,
  by: Actor,
): Promise<GuardLists> {
  const { before, after } = await changeLists(await openBucket(bus, 'otp_guard'), accountId, changed);
  const detail = { from: sizesOf(before), to: sizesOf(after) };
  await noteForAudit(bus, { action: 'otp_guard.changed', target: accountId, detail, by });
  return after;
}

type Place = Pick<StoredBlock, 'accountId' | 'prefix'>;

/** Null when no block of the prefix is in effect. */
export async function releaseGuardBlock(bus: Bus, place: Place, by: Actor, nowMs: number): Promise<StoredBlock | null> {
  const ended = await releaseBlock(await openBucket(bus, 'otp_guard'), place, nowMs);
  if (ended === null) return null;
  const target = `${place.accountId} ${shortenedPrefix(place.prefix)}`;
  await noteForAudit(bus, { action: 'otp_guard.released', target, detail: { rule: ended.rule }, by });
  return ended;
}

/** Whole numbers are not for the audit log, and lists only begin there. */
const sizesOf = ({ destinations, safeList }: Lists) => ({
  destinations: destinations?.slice(0, limits.auditLog.listedMax) ?? null,
  safe_list: safeList.length,
});

export const guardListsJson = ({ destinations, safeList }: Lists) => ({
  object: 'otp_guard',
  destinations,
  safe_list: safeList,
});

export function guardBlockJson(block: StoredBlock, nowMs: number) {
  const { prefix, rule, statistic, threshold, times, shadow, fromMs, untilMs, released, note } = block;
  return {
    object: 'otp_block',
    ...{ prefix, rule, statistic, threshold, times, shadow },
    in_effect: nowMs < untilMs,
    blocked_at: new Date(fromMs).toISOString(),
    until: new Date(untilMs).toISOString(),
    ...{ released, note },
  };
}

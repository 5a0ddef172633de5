// What people change in the guard against fraud with one-time passwords, for the management API and the command line: each
// is an entry of the bucket `otp_guard` and a record of the audit log, which goes over the bus. No database is needed.
import { isDeepStrictEqual } from 'node:util';
import { openBucket } from '../cluster/bus/ensure.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { type GuardLists, type StoredBlock, changeLists, releaseBlock } from '../cluster/bus/otp-guard-bucket.ts';
import { shortenedPrefix } from '../model/e164.ts';
import { shownFigure } from '../policy/otp-guard/shown-figure.ts';
import { noteForAudit } from './audit-notes.ts';
import { listChange } from './store/list-change.ts';
import type { Actor } from './store/store.ts';

type Lists = Omit<GuardLists, 'accountId'>;

/**
 * Returns what is in effect within a second. `changed`: as in `changeLists`; what it lists twice is there once. The record
 * of the audit log comes first: were the change stored and its record lost, a repeat would change nothing and leave none.
 */
export async function changeGuardLists(
  bus: Bus,
  accountId: string,
  changed: (before: Lists) => Partial<Lists>,
  by: Actor,
): Promise<GuardLists> {
  let notedDetail: object | null = null;
  const noted = async (before: Lists, after: Lists) => {
    const detail = changesOf(before, after);
    // Another order of the same entries changes nothing. Others may have written meanwhile.
    if (Object.keys(detail).length === 0 || isDeepStrictEqual(detail, notedDetail)) return;
    await noteForAudit(bus, { action: 'otp_guard.changed', target: accountId, detail, by });
    notedDetail = detail;
  };
  return changeLists(await openBucket(bus, 'otp_guard'), accountId, (before) => onceEach(changed(before)), noted);
}

function onceEach({ destinations, safeList }: Partial<Lists>): Partial<Lists> {
  return {
    ...(destinations !== undefined && { destinations: destinations && [...new Set(destinations)] }),
    ...(safeList !== undefined && { safeList: [...new Set(safeList)] }),
  };
}

/** What is different. Whole numbers are not for the audit log, so entries are shortened; null: the operator's list. */
function changesOf(before: Lists, after: Lists) {
  const safeList = listChange(before.safeList, after.safeList, shortenedPrefix);
  const [was, is] = [before.destinations, after.destinations];
  const destinations = {
    ...listChange(was ?? [], is ?? [], shortenedPrefix),
    ...{ from: was?.length ?? null, to: is?.length ?? null },
  };
  return {
    ...(isChange(destinations) && { destinations }),
    ...(isChange(safeList) && { safe_list: safeList }),
  };
}

type Change = Pick<ReturnType<typeof listChange>, 'added' | 'removed'> & Readonly<Record<'from' | 'to', number | null>>;

const isChange = ({ added, removed, from, to }: Change) =>
  added.length + removed.length > 0 || (from === null) !== (to === null);

type Place = Pick<StoredBlock, 'accountId' | 'prefix'>;

/** Null when no block of the prefix is in effect. */
export async function releaseGuardBlock(bus: Bus, place: Place, by: Actor, nowMs: number): Promise<StoredBlock | null> {
  const ended = await releaseBlock(await openBucket(bus, 'otp_guard'), place, nowMs);
  if (ended === null) return null;
  const target = `${place.accountId} ${shortenedPrefix(place.prefix)}`;
  await noteForAudit(bus, { action: 'otp_guard.released', target, detail: { rule: ended.rule }, by });
  return ended;
}

export const guardListsJson = ({ destinations, safeList }: Lists) => ({
  object: 'otp_guard',
  destinations,
  safe_list: safeList,
});

export function guardBlockJson(block: StoredBlock, nowMs: number) {
  const { prefix, rule, statistic, threshold, times, shadow, fromMs, untilMs, released, note } = block;
  return {
    object: 'otp_block',
    ...{ prefix, rule, statistic: shownFigure(statistic), threshold: shownFigure(threshold), times, shadow },
    in_effect: nowMs < untilMs,
    blocked_at: new Date(fromMs).toISOString(),
    until: new Date(untilMs).toISOString(),
    ...{ released, note },
  };
}

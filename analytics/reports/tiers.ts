// Which rows of the counts a report reads: those of the smallest tier that has every column it needs. Tiers are made by
// analytics/schema/006-counts.sql and 016-click-tiers.sql from the tables that the recorder writes; a table without tiers is
// read itself, by half hours.

/** Rows of this table that fulfil all of these conditions, of which a report's own is one unless they all fulfil it. */
export type Rows = { readonly table: string; readonly conditions: readonly string[] };

/** Where a report finds its half hours and its blocks of six hours; without blocks it reads half hours only. */
export type RowsRead = { readonly halfHours: Rows; readonly blocks: Rows | null };

type Tier = {
  readonly name: string;
  readonly columns: readonly string[];
  /** A condition that all its rows fulfil: it serves reports that ask for just that. */
  readonly only?: string;
};

type Tiers = { readonly table: string; readonly halfHours: readonly Tier[]; readonly blocks: readonly Tier[] };

const sums = ['slot', 'category', 'carrier', 'messages', 'segments_submitted', 'resent'];
const times = ['slot', 'stage', 'bucket', 'messages'];

const clicks = ['slot', 'category', 'carrier', 'sender', 'what', 'classes', 'counts'];

/** A refused request has no segments. */
export const notRefused = "status != 'refused'";

const segments = { columns: [...sums, 'sender', 'encoding', 'segments'], only: notRefused };
/** Of the clicks alone, with their signs. */
export const onlyClicks = "what = 'clicks'";
const signs = { columns: [...clicks, 'reasons'], only: onlyClicks };
const bySender = { columns: [...sums, 'status', 'error', 'sender'] };

/** By the table that the recorder writes; the smallest first. */
export const tiersOf: Readonly<Record<'message_counts' | 'latency_counts' | 'click_counts', Tiers>> = {
  message_counts: {
    table: 'message_tiers',
    halfHours: [
      { name: 'segments', ...segments },
      { name: 'outcomes', columns: [...sums, 'status', 'error'] },
      { name: 'outcomes_by_sender', ...bySender },
    ],
    blocks: [
      { name: 'segments_6h', ...segments },
      { name: 'outcomes_6h', ...bySender },
    ],
  },
  latency_counts: {
    table: 'latency_tiers',
    halfHours: [
      { name: 'times', columns: times },
      { name: 'times_by_category', columns: [...times, 'category'] },
      { name: 'times_by_carrier', columns: [...times, 'carrier'] },
    ],
    blocks: [{ name: 'times_6h', columns: [...times, 'category', 'carrier'] }],
  },
  click_counts: {
    table: 'click_tiers',
    halfHours: [
      { name: 'clicks', columns: [...clicks, 'bucket'] },
      { name: 'reasons', ...signs },
    ],
    blocks: [
      { name: 'clicks_6h', columns: [...clicks, 'bucket'] },
      { name: 'reasons_6h', ...signs },
    ],
  },
};

/** `where`: the report's own condition, '' for none; `columns`: all that it reads. */
export function rowsRead(table: string, where: string, columns: readonly string[]): RowsRead {
  const own = where === '' ? [] : [`(${where})`];
  const all = (name: string): Rows => ({ table: name, conditions: own });
  if (!(table in tiersOf)) return { halfHours: all(table), blocks: null };
  const { table: ofTiers, halfHours, blocks } = tiersOf[table as keyof typeof tiersOf];
  const smallest = (tiers: readonly Tier[]): Rows | null => {
    const tier = tiers.find(
      ({ only = where, columns: has }) => only === where && columns.every((name) => has.includes(name)),
    );
    if (tier === undefined) return null;
    return { table: ofTiers, conditions: [`tier = '${tier.name}'`, ...(tier.only === undefined ? own : [])] };
  };
  return { halfHours: smallest(halfHours) ?? all(table), blocks: smallest(blocks) };
}

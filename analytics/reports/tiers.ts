// Which rows of the counts a report reads: those of the smallest tier that has every column it needs. Tiers are made by
// analytics/schema/006-counts.sql from the tables that the recorder writes; a table without tiers is read itself, with one
// of the same name and `_6h` behind it that adds up six hours.

/** Rows of this table under this condition; '' for all. */
export type Rows = { readonly table: string; readonly condition: string };

/** Where a report finds its half hours and its blocks of six hours (null: nowhere), and what is left of its own condition. */
export type RowsRead = { readonly halfHours: Rows; readonly blocks: Rows | null; readonly where: string };

type Tier = {
  readonly name: string;
  readonly columns: readonly string[];
  /** A condition that all its rows fulfil: it serves reports that ask for just that. */
  readonly only?: string;
};

type Tiers = { readonly table: string; readonly tiers: readonly Tier[] };

const sums = ['slot', 'category', 'carrier', 'messages', 'segments_submitted', 'resent'];
const times = ['slot', 'stage', 'bucket', 'messages'];

/** What rows of `segments` leave out: a refused request has none. */
export const notRefused = "status != 'refused'";

/** By the table that the recorder writes; the smallest first. */
export const tiersOf: Readonly<Record<string, Tiers>> = {
  message_counts: {
    table: 'message_tiers',
    tiers: [
      { name: 'segments', columns: [...sums, 'sender', 'encoding', 'segments'], only: notRefused },
      { name: 'outcomes', columns: [...sums, 'status', 'error'] },
      { name: 'outcomes_by_sender', columns: [...sums, 'status', 'error', 'sender'] },
    ],
  },
  latency_counts: {
    table: 'latency_tiers',
    tiers: [
      { name: 'times', columns: times },
      { name: 'times_by_category', columns: [...times, 'category'] },
      { name: 'times_by_carrier', columns: [...times, 'carrier'] },
      { name: 'times_by_category_carrier', columns: [...times, 'category', 'carrier'] },
    ],
  },
};

/** `columns`: all that a report reads. Without a tier that has them the table itself is read, by half hours. */
export function rowsRead(table: string, where: string, columns: readonly string[]): RowsRead {
  const of = tiersOf[table];
  if (of === undefined) return { halfHours: all(table), blocks: all(`${table}_6h`), where };
  const tier = of.tiers.find(
    ({ only, columns: has }) => (only ?? where) === where && columns.every((name) => has.includes(name)),
  );
  if (tier === undefined) return { halfHours: all(table), blocks: null, where };
  const rows = (name: string): Rows => ({ table: of.table, condition: `tier = '${name}'` });
  return { halfHours: rows(tier.name), blocks: rows(`${tier.name}_6h`), where: tier.only === undefined ? where : '' };
}

const all = (table: string): Rows => ({ table, condition: '' });

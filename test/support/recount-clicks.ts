// The counts of clicks against the rows they were made from: link_codes and link_clicks are read back and counted here,
// for every choice of classes; the tiers of reports must say the same.
import { expect } from 'vitest';
import { bucketGrowth } from '../../analytics/latency-buckets.ts';
import { type Condition, tiersOf } from '../../analytics/reports/tiers.ts';

type Rows = (sql: string) => Promise<unknown[][]>;
type Counts = Map<string, number>;

const classBits: Readonly<Record<string, number>> = { human: 1, preview: 2, scanner: 4, unknown: 8 };
const keys = [
  ...['account_id', 'livemode', 'slot', 'category', 'carrier', 'sender', 'campaign_id', 'variant_id'],
  ...['what', 'classes', 'reasons', 'bucket'],
];
/** Of every tier. */
const notOfReports = ['account_id', 'livemode'];
const owner =
  'account_id, livemode, toUnixTimestamp(accepted_at), category, carrier, sender, campaign_id, variant_id, message_id, toUnixTimestamp64Milli(due_at)';

/** Resolves with the sums of messages, clicks and first clicks of people when all counts are exact; fails otherwise. */
export async function expectExactClicks(rows: Rows): Promise<{ messages: number; clicks: number; human: number }> {
  const expected = recount(
    await rows(`SELECT ${owner} FROM link_codes`),
    await rows(
      `SELECT ${owner}, class, arrayStringConcat(reasons, ','), toUnixTimestamp64Milli(at) FROM link_clicks ORDER BY at`,
    ),
  );
  expect(await counted(rows, keys, 'click_counts')).toEqual(expected);
  const { halfHours, blocks } = tiersOf.click_counts;
  for (const { table, name, columns, only } of [...halfHours, ...blocks]) {
    const kept = keys.map((key) => notOfReports.includes(key) || columns.includes(key));
    const has = keys.filter((_, at) => kept[at]);
    const found = await counted(rows, has, `${table} WHERE tier = '${name}'`);
    expect(found).toEqual(inTier(expected, kept, only, name.endsWith('_6h') ? 21_600 : 1_800));
  }
  const sumOf = (what: string, classes: number | null) =>
    [...expected]
      .filter(([key]) => JSON.parse(key)[8] === what && (classes === null || JSON.parse(key)[9] === classes))
      .reduce((sum, [, count]) => sum + count, 0);
  return { messages: sumOf('messages', null), clicks: sumOf('clicks', null), human: sumOf('first_click', 1) };
}

/** What these rows add up to. */
async function counted(rows: Rows, columns: readonly string[], from: string): Promise<Counts> {
  const read = columns.map((name) => (name === 'slot' ? 'toUnixTimestamp(slot)' : name)).join(', ');
  const found = await rows(`SELECT ${read}, toInt32(sum(counts)) AS total FROM ${from} GROUP BY ALL HAVING total != 0`);
  return new Map(found.map((row) => [JSON.stringify(row.slice(0, -1)), Number(row.at(-1))]));
}

/** By `keys`. */
function recount(codes: readonly unknown[][], clicks: readonly unknown[][]): Counts {
  const counts: Counts = new Map();
  const messages = new Set<unknown>();
  for (const code of codes) {
    if (messages.has(code[8])) continue;
    messages.add(code[8]);
    add(counts, [...ownerOf(code), 'messages', 0, '', 0]);
  }
  const firsts = new Set<string>();
  // In the order of their times: the first one of a choice is the first click.
  for (const click of clicks) {
    const [messageId, dueMs, clickClass, reasons, atMs] = click.slice(8) as [string, number, string, string, number];
    const bit = classBits[clickClass] ?? 0;
    add(counts, [...ownerOf(click), 'clicks', bit, reasons, 0]);
    for (let choice = 1; choice <= 15 && messageId !== ''; choice += 1) {
      if ((choice & bit) === 0 || firsts.has(`${messageId} ${choice}`)) continue;
      firsts.add(`${messageId} ${choice}`);
      const ms = Number(atMs) - Number(dueMs);
      const bucket = ms < 1 ? 0 : 1 + Math.floor(Math.log(ms) / Math.log(bucketGrowth));
      add(counts, [...ownerOf(click), 'first_click', choice, '', bucket]);
    }
  }
  return counts;
}

/** By the condition that all rows of a tier fulfil. */
const fulfils: Readonly<Partial<Record<Condition, (cells: readonly unknown[]) => boolean>>> = {
  onlyClicks: (cells) => cells[keys.indexOf('what')] === 'clicks',
  ofCampaigns: (cells) => cells[keys.indexOf('campaign_id')] !== '',
};

/** Without the columns that are not `kept`; what fulfils `only`. */
function inTier(counts: Counts, kept: readonly boolean[], only: readonly Condition[], slotS: number): Counts {
  const summed: Counts = new Map();
  for (const [key, count] of counts) {
    const cells = JSON.parse(key) as unknown[];
    cells[2] = slotOf(cells[2], slotS);
    if (only.every((each) => fulfils[each]?.(cells))) {
      add(
        summed,
        cells.filter((_, at) => kept[at]),
        count,
      );
    }
  }
  return summed;
}

const slotOf = (second: unknown, slotS: number) => Math.floor(Number(second) / slotS) * slotS;

/** With the half hour in the place of the time of acceptance. */
const ownerOf = (row: readonly unknown[]) => [...row.slice(0, 2), slotOf(row[2], 1_800), ...row.slice(3, 8)];

function add(counts: Counts, cells: readonly unknown[], count = 1): void {
  const key = JSON.stringify(cells);
  counts.set(key, (counts.get(key) ?? 0) + count);
}

// The counts of clicks against the rows they were made from: link_codes and link_clicks are read back and counted here,
// for every choice of classes, and both tiers must say the same.
import { expect } from 'vitest';
import { bucketGrowth } from '../../analytics/latency-buckets.ts';

type Rows = (sql: string) => Promise<unknown[][]>;
type Counts = Map<string, number>;

const classBits: Readonly<Record<string, number>> = { human: 1, preview: 2, scanner: 4, unknown: 8 };
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
  for (const [tier, slotS] of [['', 1_800] as const, ['_6h', 21_600] as const]) {
    const found = await rows(
      `SELECT account_id, livemode, toUnixTimestamp(slot), category, carrier, sender, campaign_id, variant_id, what, classes,
         reasons, bucket, toInt32(sum(counts)) AS total
       FROM click_counts${tier} GROUP BY ALL HAVING total != 0`,
    );
    const counts: Counts = new Map(found.map((row) => [JSON.stringify(row.slice(0, -1)), Number(row.at(-1))]));
    expect(counts).toEqual(inTier(expected, slotS));
  }
  const sumOf = (what: string, classes: number | null) =>
    [...expected]
      .filter(([key]) => JSON.parse(key)[8] === what && (classes === null || JSON.parse(key)[9] === classes))
      .reduce((sum, [, count]) => sum + count, 0);
  return { messages: sumOf('messages', null), clicks: sumOf('clicks', null), human: sumOf('first_click', 1) };
}

/** By what click_counts is grouped by, with the time of acceptance in the place of the slot. */
function recount(codes: readonly unknown[][], clicks: readonly unknown[][]): Counts {
  const counts: Counts = new Map();
  const messages = new Set<unknown>();
  for (const code of codes) {
    if (messages.has(code[8])) continue;
    messages.add(code[8]);
    add(counts, [...code.slice(0, 8), 'messages', 0, '', 0]);
  }
  const firsts = new Set<string>();
  // In the order of their times: the first one of a choice is the first click.
  for (const click of clicks) {
    const [messageId, dueMs, clickClass, reasons, atMs] = click.slice(8) as [string, number, string, string, number];
    const bit = classBits[clickClass] ?? 0;
    add(counts, [...click.slice(0, 8), 'clicks', bit, reasons, 0]);
    for (let choice = 1; choice <= 15 && messageId !== ''; choice += 1) {
      if ((choice & bit) === 0 || firsts.has(`${messageId} ${choice}`)) continue;
      firsts.add(`${messageId} ${choice}`);
      const ms = Number(atMs) - Number(dueMs);
      const bucket = ms < 1 ? 0 : 1 + Math.floor(Math.log(ms) / Math.log(bucketGrowth));
      add(counts, [...click.slice(0, 8), 'first_click', choice, '', bucket]);
    }
  }
  return counts;
}

function inTier(counts: Counts, slotS: number): Counts {
  const summed: Counts = new Map();
  for (const [key, count] of counts) {
    const cells = JSON.parse(key) as unknown[];
    cells[2] = Math.floor(Number(cells[2]) / slotS) * slotS;
    add(summed, cells, count);
  }
  return summed;
}

function add(counts: Counts, cells: readonly unknown[], count = 1): void {
  const key = JSON.stringify(cells);
  counts.set(key, (counts.get(key) ?? 0) + count);
}

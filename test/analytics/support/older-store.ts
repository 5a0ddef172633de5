// An event store as an older version left it, with counts of clicks over some days, and what its tiers must add up to.
import type { Cell, Engine } from '../../../analytics/store/engine.ts';
import { schemaFiles } from '../../../analytics/store/schema.ts';
import { seededRandom } from '../../../platform/random.ts';

/** The last version without tiers of clicks. */
export const olderVersion = 15;
export const newerVersions = schemaFiles().flatMap(({ version }) => (version > olderVersion ? [version] : []));
export const olderFiles = schemaFiles().slice(0, olderVersion);
/** Tables of sums that an upgrade from it fills from the counts. */
const filled = ['click_tiers', 'campaign_click_tiers'] as const;

const fromS = Date.UTC(2026, 9, 23) / 1_000;

/** Counts of clicks in the first six hours of two days, with and without a campaign. */
export async function insertClickCounts(engine: Engine, rows: number): Promise<void> {
  const random = seededRandom(16);
  const one = <T>(list: readonly T[]): T => list[Math.floor(random.unit() * list.length)] as T;
  const lines = Array.from({ length: rows }, () => {
    const what = one(['messages', 'clicks', 'first_click']);
    const slot = fromS + one([0, 86_400]) + Math.floor(random.unit() * 12) * 1_800;
    const place = [one(['transactional', 'promotional']), one(['A', "O'Neil"]), one(['alpha', 'beta'])];
    const counted = [
      what === 'messages' ? 0 : one([1, 2, 4, 8]),
      what === 'clicks' ? one(['', 'head', 'bot,head']) : '',
    ];
    const bucket = what === 'first_click' ? Math.floor(random.unit() * 90) : 0;
    const campaign = one([
      ['', ''],
      ['cmp_1', 'a'],
    ]);
    return ['acc_1', one([1, 0]), slot, ...place, ...campaign, what, ...counted, bucket, one([1, 2, 3])].join('\t');
  });
  await engine.insert(
    'click_counts (account_id, livemode, slot, category, sender, carrier, campaign_id, variant_id, what, classes, reasons, bucket, counts)',
    Buffer.from(`${lines.join('\n')}\n`),
  );
}

/** Of each filled table, what its rows add up to. */
export async function sumsOf({ rows }: Pick<Engine, 'rows'>): Promise<readonly Cell[][][]> {
  const sums = (table: string) =>
    rows(`SELECT * EXCEPT counts, toInt32(sum(counts)) AS n FROM ${table} GROUP BY ALL HAVING n != 0 ORDER BY ALL`);
  const all: Cell[][][] = [];
  for (const table of filled) all.push(await sums(table));
  return all;
}

/** As it was before the upgrade. */
export async function backToOlder(engine: Engine): Promise<void> {
  for (const each of ['click_tiers', 'campaign_click_tiers', 'campaign_message_tiers']) {
    await engine.command(`DROP TABLE IF EXISTS ${each}_feed SYNC`);
    await engine.command(`DROP TABLE IF EXISTS ${each} SYNC`);
  }
  await engine.command('TRUNCATE TABLE schema_fills');
  await engine.command('TRUNCATE TABLE schema_versions');
  const versions = olderFiles.map(({ version, name }) => `${version}\t${name}\n`);
  await engine.insert('schema_versions (version, name)', Buffer.from(versions.join('')));
}

/** What each tier of clicks adds up to, and what it must. */
export async function totalsOf(
  rows: (sql: string) => Promise<unknown[][]>,
): Promise<{ found: unknown; expected: unknown }> {
  const totals = async (sql: string) => new Map((await rows(sql)).map(([tier, total]) => [tier, total]));
  const found = await totals(
    `SELECT tier, toInt32(sum(counts)) FROM click_tiers GROUP BY tier
     UNION ALL SELECT concat('of campaigns ', tier), toInt32(sum(counts)) FROM campaign_click_tiers GROUP BY tier ORDER BY 1`,
  );
  const ofCampaigns = [
    'clicks',
    'clicks_6h',
    'clicks_by_time',
    'clicks_by_time_6h',
    'reasons',
    'reasons_6h',
    'reasons_by_carrier',
  ];
  const sum = (condition: string) => `toInt32(sumIf(counts, ${condition}))`;
  const [[all, clicks, ofEachCampaign, clicksOfCampaigns] = []] = await rows(
    `SELECT toInt32(sum(counts)), ${sum("what = 'clicks'")}, ${sum("campaign_id != ''")}, ${sum("campaign_id != '' AND what = 'clicks'")}
     FROM click_counts`,
  );
  const expected = new Map<unknown, unknown>([
    ...['clicks', 'clicks_6h'].map((tier) => [tier, all] as const),
    ...['reasons', 'reasons_6h'].map((tier) => [tier, clicks] as const),
    ...ofCampaigns.map(
      (tier) => [`of campaigns ${tier}`, tier.startsWith('reasons') ? clicksOfCampaigns : ofEachCampaign] as const,
    ),
  ]);
  return { found, expected };
}

// A report reads the tiers of the counts: whatever it is grouped and filtered by, it says what the counts themselves say.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { reports } from '../../analytics/reports/catalogue.ts';
import { type Report, type ReportQuery, reportFormats } from '../../analytics/reports/report.ts';
import { numberColumns, statementOf } from '../../analytics/reports/statement.ts';
import { conditions, sourcesOf, tiersOf } from '../../analytics/reports/tiers.ts';
import { slowRows } from '../../analytics/store/engine.ts';
import { applySchema } from '../../analytics/store/schema.ts';
import { seededRandom } from '../../platform/random.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';

const fromMs = Date.UTC(2026, 9, 23);
const random = seededRandom(203);
const one = <T>(list: readonly T[]): T => list[Math.floor(random.unit() * list.length)] as T;
const slots = Array.from({ length: 5 * 48 }, (_, at) => fromMs / 1_000 + at * 1_800);
const campaigns = [
  ['', ''],
  ['cmp_1', 'a'],
  ['cmp_1', 'b'],
  ['cmp_2', ''],
  ['cmp_2', 'a'],
] as const;

let events: EventStore;

beforeAll(async () => {
  events = await startEventStore();
  const messages = Array.from({ length: 4_000 }, () => {
    const status = one(['delivered', 'delivered', 'submitted', 'unknown', 'undelivered', 'refused', 'canceled']);
    const error = one(['', 'no_route', 'receipt_expired:000']);
    const place = [one(['otp', 'promotional']), one(['A', 'B', "O'Neil"]), one(['gsm7', 'ucs2']), one(['1', '2'])];
    const campaign = one(campaigns);
    const where = [
      'acc_1',
      one(['1', '1', '0']),
      one(slots),
      ...place,
      ...campaign,
      one(['alpha', 'beta']),
      status,
      error,
    ];
    // Counts that are taken back, too.
    return [...where, one(['1', '3', '-1']), status === 'refused' ? '0' : one(['2', '-2']), one(['0', '1'])].join('\t');
  });
  const times = Array.from({ length: 3_000 }, () => {
    const stage = one(['accepted_to_submitted', 'accepted_to_delivered']);
    const where = ['acc_1', one(['1', '0']), one(slots), one(['otp', 'promotional']), one(['alpha', 'beta']), stage];
    return [...where, Math.floor(random.unit() * 90), one(['1', '2', '5'])].join('\t');
  });
  const insert = (into: string, rows: readonly string[]) =>
    events.engine.insert(into, Buffer.from(`${rows.join('\n')}\n`));
  await insert(
    'message_counts (account_id, livemode, slot, category, sender, encoding, segments, campaign_id, variant_id, carrier, status, ' +
      'error, messages, segments_submitted, resent)',
    messages,
  );
  await insert('latency_counts (account_id, livemode, slot, category, carrier, stage, bucket, messages)', times);
  const clicked = Array.from({ length: 4_000 }, () => {
    const [what, classes, reasons, bucket] = one([
      ['messages', 0, '', 0],
      ['clicks', one([1, 2, 4, 8]), one(['', 'head', 'bot,head']), 0],
      ['first_click', 1 + Math.floor(random.unit() * 15), '', Math.floor(random.unit() * 90)],
    ] as const);
    const place = [one(['transactional', 'promotional']), one(['A', 'B', "O'Neil"]), one(['alpha', 'beta'])];
    const where = ['acc_1', one(['1', '1', '0']), one(slots), ...place, ...one(campaigns)];
    return [...where, what, classes, reasons, bucket, one(what === 'first_click' ? ['1', '2'] : ['1', '3', '-1'])].join(
      '\t',
    );
  });
  await insert(
    'click_counts (account_id, livemode, slot, category, sender, carrier, campaign_id, variant_id, what, classes, reasons, bucket, counts)',
    clicked,
  );
  for (const table of Object.keys(tiersOf)) {
    await events.engine.command(`CREATE VIEW plain_${table} AS SELECT * FROM ${table}`);
  }
});
afterAll(() => events?.stop());

const ofTiers = reports.filter(({ table }) => table in tiersOf);

/** All that a report may be grouped by, with some of its filters. */
function queriesOf(report: Report): readonly ReportQuery[] {
  // The order of two only changes the order of the columns: each pair is asked for in one order, some in the other.
  const pairs = report.groupBy.flatMap((first, at) => [
    [first],
    ...report.groupBy.slice(at + 1).map((second) => (at % 2 === 0 ? [first, second] : [second, first])),
  ]);
  const groupings = [[], ...pairs].filter((groupBy) => !(groupBy.includes('hour') && groupBy.includes('day')));
  const values = {
    carrier: 'beta',
    category: report.table === 'click_counts' ? 'promotional' : 'otp',
    sender: "O'Neil",
    campaign: 'cmp_1',
    variant: 'b',
  } as const;
  const filters = report.filters.map((name) => ({ [name]: values[name as keyof typeof values] }));
  return groupings.flatMap((groupBy, at) =>
    // Each filter with some of the groupings.
    [{}, filters[at % filters.length]].map((filter = {}) => ({
      ...{
        report: report.name,
        accountId: 'acc_1',
        livemode: true,
        groupBy,
        filters: filter,
        format: reportFormats[0],
      },
      // Clocks in Berlin go back on the 25th.
      ...{ fromMs: fromMs + 5 * 3_600_000, toMs: fromMs + 4.5 * 86_400_000 },
      ...(report.choice === undefined
        ? {}
        : { chosen: report.choice.values.filter((_, at) => at === 0 || one([true, false])) }),
      timeZone: one(['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'America/St_Johns']),
    })),
  );
}

/** The same over the counts themselves. */
const plain = (report: Report): Report => ({
  ...report,
  table: `plain_${report.table}`,
  ...(report.beside && { beside: { ...report.beside, table: `plain_${report.beside.table}` } }),
});

async function answered(report: Report, query: ReportQuery): Promise<unknown> {
  const { sql, params } = statementOf(report, query);
  // A busy machine may take longer than a report may: what is asked here is what it says.
  const patient = sql.replace(/max_execution_time = [\d.]+/, 'max_execution_time = 60');
  return JSON.parse((await events.engine.octets(patient, 'JSONEachRow', params, 60_000, 'system')).toString());
}

test.each(ofTiers)('the report $name says the same from its tiers', async (report) => {
  const queries = queriesOf(report);
  expect(queries.length).toBeGreaterThan(15);
  for (const query of queries) {
    const said = await answered(report, query);
    expect(said).toEqual(await answered(plain(report), query));
    expect(JSON.stringify(said).length).toBeGreaterThan(50);
  }
});

test.each(['delivery', 'campaigns'])(
  'the report %s says the same from its tiers whatever time is asked for',
  async (name) => {
    const report = ofTiers.find((each) => each.name === name) as Report;
    const [whole] = queriesOf(report);
    const hour = 3_600_000;
    const at = (hours: number) => fromMs + hours * hour;
    const times = [
      // Two half hours around whole blocks, and two blocks around one that a day of the zone cuts.
      { fromMs: at(5.5), toMs: at(24.5), timeZone: 'UTC', groupBy: [] },
      { fromMs: at(12), toMs: at(30), timeZone: 'Asia/Kolkata', groupBy: ['day'] },
      { fromMs: at(17.5), toMs: at(24.5), timeZone: 'Asia/Yangon', groupBy: ['category'] },
      ...Array.from({ length: 60 }, () => {
        const begin = Math.floor(random.unit() * 100) / 2;
        const end = begin + 0.5 + Math.floor(random.unit() * 120) / 2;
        const timeZone = one(['UTC', 'Europe/Berlin', 'Asia/Kolkata', 'Asia/Yangon', 'America/St_Johns']);
        return {
          fromMs: at(begin),
          toMs: at(end),
          timeZone,
          groupBy: one<ReportQuery['groupBy']>([[], ['day'], ['hour'], ['carrier', 'day']]),
        };
      }),
    ] as const;
    for (const time of times) {
      const query = { ...(whole as ReportQuery), ...time };
      expect(await answered(report, query)).toEqual(await answered(plain(report), query));
    }
  },
);

test('columns that one of two tables does not have are 0 where they are numbers', async () => {
  for (const table of Object.keys(tiersOf)) {
    const columns = (await slowRows(events.engine, `DESCRIBE ${table}`)) as [string, string][];
    for (const [name, type] of columns) {
      if (['account_id', 'livemode', 'slot'].includes(name)) continue;
      expect([table, name, numberColumns.has(name)]).toEqual([table, name, /^U?Int\d+$/.test(type)]);
    }
  }
});

test('every report reads tiers and blocks, but latency by carrier and category at once', () => {
  for (const report of reports.filter(({ computed }) => computed === undefined)) {
    const tables = [report.table, ...(report.beside === undefined ? [] : [report.beside.table])];
    for (const query of queriesOf(report)) {
      const { groupBy, filters } = query;
      const asked: readonly string[] = [...groupBy, ...Object.keys(filters)];
      const isOfCounts = report.name === 'latency' && asked.includes('carrier') && asked.includes('category');
      const { sql } = statementOf(report, query);
      const ofCounts = tables.filter((table) => sql.includes(`FROM ${table} WHERE`));
      expect([report.name, groupBy, filters, ofCounts]).toEqual([
        report.name,
        groupBy,
        filters,
        isOfCounts ? tables : [],
      ]);
      expect([report.name, asked, sql.match(/tier = '\w+_6h'/g)?.length]).toEqual([report.name, asked, tables.length]);
    }
  }
});

test('variants of the same name are apart by their campaigns', async () => {
  const delivery = ofTiers.find(({ name }) => name === 'delivery') as Report;
  const [whole] = queriesOf(delivery);
  const query: ReportQuery = { ...(whole as ReportQuery), groupBy: ['campaign', 'variant'] };
  const rows = (await answered(delivery, query)) as readonly Readonly<Record<string, unknown>>[];
  expect(rows.map(({ campaign, variant }) => [campaign, variant])).toEqual([
    ['cmp_1', 'a'],
    ['cmp_1', 'b'],
    ['cmp_2', ''],
    ['cmp_2', 'a'],
  ]);
});

test('the tiers of clicks are filled from the counts of an older store, and once when the step is repeated', async () => {
  const { engine } = events;
  const tiers = () =>
    slowRows(
      engine,
      'SELECT * EXCEPT counts, toInt32(sum(counts)) AS n FROM click_tiers GROUP BY ALL HAVING n != 0 ORDER BY ALL',
    );
  const fed = await tiers();
  expect(fed.length).toBeGreaterThan(1_000);
  const repeat = async () => {
    await engine.command('DELETE FROM schema_versions WHERE version = 16');
    expect(await applySchema(engine)).toEqual([16]); // a later file stays applied
    expect(await tiers()).toEqual(fed);
  };
  await repeat();
  for (const each of ['click_tiers_feed', 'click_tiers']) await engine.command(`DROP TABLE ${each} SYNC`);
  await repeat();
});

test('tiers of campaigns stay as they are when their step is repeated', async () => {
  const { engine } = events;
  const sums = () =>
    slowRows(
      engine,
      `SELECT tier, toInt32(sum(messages)) FROM campaign_message_tiers GROUP BY tier
       UNION ALL SELECT concat('of ', tier), toInt32(sum(counts)) FROM campaign_click_tiers GROUP BY tier ORDER BY 1`,
    );
  const before = await sums();
  expect(before.length).toBe(13);
  await engine.command('DELETE FROM schema_versions WHERE version = 18');
  expect(await applySchema(engine)).toEqual([18]);
  expect(await sums()).toEqual(before);
});

test('the smallest tier that has every column is read, and the counts themselves where none has', () => {
  expect(sourcesOf('message_counts', [], ['slot', 'status', 'messages'])).toEqual({
    halfHours: { table: 'message_tiers', conditions: ["tier = 'outcomes'"] },
    blocks: { table: 'message_tiers', conditions: ["tier = 'outcomes_6h'"] },
  });
  expect(sourcesOf('message_counts', ['notRefused'], ['sender', 'messages']).halfHours.conditions).toEqual([
    "tier = 'segments'",
  ]);
  expect(sourcesOf('message_counts', ['notRefused', 'ofCampaigns'], ['campaign_id', 'messages']).halfHours).toEqual({
    table: 'campaign_message_tiers',
    conditions: ["tier = 'segments'"],
  });
  expect(sourcesOf('message_counts', ['notRefused', 'ofCampaigns'], ['variant_id', 'status'])).toEqual({
    halfHours: { table: 'campaign_message_tiers', conditions: ["tier = 'outcomes'", conditions.notRefused] },
    blocks: { table: 'campaign_message_tiers', conditions: ["tier = 'outcomes_6h'", conditions.notRefused] },
  });
  expect(sourcesOf('message_counts', ['withError', 'ofCampaigns'], ['campaign_id', 'error']).halfHours).toEqual({
    table: 'campaign_message_tiers',
    conditions: ["tier = 'errors'"],
  });
  expect(sourcesOf('message_counts', ['ofCampaigns'], ['campaign_id', 'encoding'])).toEqual({
    halfHours: { table: 'message_counts', conditions: [conditions.ofCampaigns] },
    blocks: null,
  });
  expect(sourcesOf('latency_counts', [], ['carrier', 'category', 'bucket']).halfHours.table).toBe('latency_counts');
  expect(sourcesOf('click_counts', ['onlyClicks'], ['reasons', 'slot']).halfHours).toEqual({
    table: 'click_tiers',
    conditions: ["tier = 'reasons'"],
  });
  expect(sourcesOf('click_counts', ['onlyClicks', 'ofCampaigns'], ['reasons', 'campaign_id']).halfHours).toEqual({
    table: 'campaign_click_tiers',
    conditions: ["tier = 'reasons'"],
  });
  expect(sourcesOf('click_counts', ['onlyClicks', 'ofCampaigns'], ['reasons', 'campaign_id', 'carrier'])).toEqual({
    halfHours: { table: 'campaign_click_tiers', conditions: ["tier = 'reasons_by_carrier'"] },
    blocks: { table: 'campaign_click_tiers', conditions: ["tier = 'reasons_6h'"] },
  });
  expect(sourcesOf('click_counts', [], ['reasons'])).toEqual({
    halfHours: { table: 'click_counts', conditions: [] },
    blocks: null,
  });
  expect(sourcesOf('other', [], [])).toEqual({ halfHours: { table: 'other', conditions: [] }, blocks: null });
});

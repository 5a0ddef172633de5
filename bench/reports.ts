// How long reports take over generated counts of many messages of one account, asked four at a time: every report over 30
// days by the groupings that read most, in zones whose days begin at a whole and at a half hour. ClickHouse generates the
// counts in the tables that reports read.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { reports } from '../analytics/reports/catalogue.ts';
import type { Dimension, ReportQuery } from '../analytics/reports/report.ts';
import { statementOf } from '../analytics/reports/statement.ts';
import { type Engine, openEngine } from '../analytics/store/engine.ts';
import { applySchema } from '../analytics/store/schema.ts';
import { systemClock } from '../platform/clock.ts';
import type { Bench, BenchOptions } from './harness/bench.ts';
import type { BenchResult } from './harness/report.ts';

export const bench: Bench = {
  about: 'reports over 30 days of generated counts, four at a time',
  secondsDefault: 30,
  takes: ['count'],
  run,
};

const days = 30;
const fromMs = Date.UTC(2026, 9, 1);
/** Rows of each half hour: 5 carriers × 3 categories × 5 statuses × 13 senders × 2 encodings, and some of two segments. */
const placesEach = 2_000;
/** 5 carriers × 3 categories × 3 stages × 40 buckets. */
const bucketsEach = 1_800;
const askedAtOnce = 4;
const fillLimitMs = 300_000;
const askLimitMs = 60_000;

const groupings: readonly (readonly Dimension[])[] = [
  [],
  ['day'],
  ['day', 'carrier'],
  ['carrier', 'category'],
  ['hour'],
];
const zones = ['Asia/Kolkata', 'Europe/Berlin', 'UTC'];

async function run({ seconds, count = 100_000_000 }: BenchOptions): Promise<BenchResult> {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-bench-'));
  const engine = openEngine({ clickhouseUrl: null, dataDir });
  try {
    await applySchema(engine);
    await fill(engine, count);
    const queries = queriesOf();
    const tookMs: number[] = [];
    let next = 0;
    const beganMs = systemClock.monotonicMs();
    const cpuBefore = process.cpuUsage();
    const askInTurn = async () => {
      while (systemClock.monotonicMs() - beganMs < seconds * 1_000 || next < queries.length) {
        const query = queries[next % queries.length] as ReportQuery;
        next += 1;
        const askedMs = systemClock.monotonicMs();
        await ask(engine, query);
        tookMs.push(systemClock.monotonicMs() - askedMs);
      }
    };
    await Promise.all(Array.from({ length: askedAtOnce }, askInTurn));
    const { user, system } = process.cpuUsage(cpuBefore);
    tookMs.sort((one, other) => one - other);
    const quantile = (share: number) =>
      tookMs[Math.min(tookMs.length - 1, Math.floor(tookMs.length * share))] ?? Number.NaN;
    const [rows] = await engine.rows(
      'SELECT toUInt32(count()), (SELECT toUInt32(count()) FROM message_counts_6h) FROM message_counts',
    );
    return {
      load: `${count} messages in ${days} days, ${tookMs.length} reports, ${askedAtOnce} at a time`,
      figures: {
        rows_of_half_hours: Number(rows?.[0]),
        rows_of_six_hours: Number(rows?.[1]),
        report_p50_ms: quantile(0.5),
        report_p99_ms: quantile(0.99),
        report_max_ms: tookMs.at(-1) ?? Number.NaN,
        cpu_per_report_ms: (user + system) / 1_000 / tookMs.length,
      },
      targets: [{ figure: 'report_p99_ms', op: '<=', bound: 300 }],
    };
  } finally {
    await engine.close();
    rmSync(dataDir, { recursive: true, force: true });
  }
}

function queriesOf(): readonly ReportQuery[] {
  return reports.flatMap((report) =>
    groupings.flatMap((groupBy) =>
      zones.map((timeZone): ReportQuery => {
        const toMs = fromMs + days * 86_400_000;
        const filters = {};
        return {
          report: report.name,
          accountId: 'acc_1',
          livemode: true,
          fromMs,
          toMs,
          timeZone,
          groupBy,
          filters,
          format: 'json',
        };
      }),
    ),
  );
}

async function ask(engine: Engine, query: ReportQuery): Promise<void> {
  const report = reports.find(({ name }) => name === query.report);
  if (report === undefined) throw new Error(query.report);
  const { sql, params } = statementOf(report, query);
  await engine.octets(sql, 'JSONEachRow', params, askLimitMs, 'background');
}

/** A day at a time, as parts grow while they are recorded; then one merge, as months have it. */
async function fill(engine: Engine, count: number): Promise<void> {
  const slots = days * 48;
  const each = Math.max(1, Math.round(count / (slots * placesEach)));
  const list = (names: readonly string[]) => `[${names.map((name) => `'${name}'`).join(', ')}]`;
  const carriers = list(['alpha', 'beta', 'gamma', 'delta', 'epsilon']);
  const categories = list(['otp', 'transactional', 'promotional']);
  const statuses = list(['delivered', 'delivered', 'undelivered', 'unknown', 'expired']);
  const errors = list(['', '', 'receipt_undelivered:001', 'no_receipt', 'receipt_expired:000']);
  const stages = list(['accepted_to_submitted', 'submitted_to_delivered', 'accepted_to_delivered']);
  for (let day = 0; day < days; day += 1) {
    const slot = (places: number) =>
      `fromUnixTimestamp(${fromMs / 1_000 + day * 86_400} + intDiv(number, ${places}) * 1800) AS slot`;
    await engine.command(
      `INSERT INTO message_counts (account_id, livemode, slot, category, carrier, status, error, sender, encoding, segments, messages, segments_submitted)
       SELECT 'acc_1', true, ${slot(placesEach)}, ${categories}[p % 3 + 1], ${carriers}[intDiv(p, 3) % 5 + 1], ${statuses}[intDiv(p, 15) % 5 + 1],
         ${errors}[intDiv(p, 15) % 5 + 1], concat('SENDER', toString(intDiv(p, 75) % 13)), ['gsm7', 'ucs2'][intDiv(p, 975) % 2 + 1],
         1 + intDiv(p, 1950), ${each}, ${each}
       FROM (SELECT number, number % ${placesEach} AS p FROM numbers(${48 * placesEach}))`,
      fillLimitMs,
    );
    await engine.command(
      `INSERT INTO latency_counts (account_id, livemode, slot, category, carrier, stage, bucket, messages)
       SELECT 'acc_1', true, ${slot(bucketsEach)}, ${categories}[p % 3 + 1], ${carriers}[intDiv(p, 3) % 5 + 1], ${stages}[intDiv(p, 15) % 3 + 1],
         100 + intDiv(p, 45), ${each}
       FROM (SELECT number, number % ${bucketsEach} AS p FROM numbers(${48 * bucketsEach}))`,
      fillLimitMs,
    );
  }
  for (const table of ['message_counts', 'message_counts_6h', 'latency_counts', 'latency_counts_6h']) {
    await engine.command(`OPTIMIZE TABLE ${table} FINAL`, fillLimitMs);
  }
}

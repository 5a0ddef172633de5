// How long reports take over generated counts of many messages of one account, asked four at a time: every report over 30
// days by the groupings that read most, in zones whose days begin at a whole and at a half hour. Then what they take from
// others: how fast the recorder works off a backlog and how soon a status look-up is answered, without reports and with.
import { RecordedEvents } from '../analytics/queries/recorded-events.ts';
import { reports } from '../analytics/reports/catalogue.ts';
import type { Dimension, ReportQuery } from '../analytics/reports/report.ts';
import { statementOf } from '../analytics/reports/statement.ts';
import type { Engine } from '../analytics/store/engine.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { Publisher } from '../cluster/bus/publisher.ts';
import { systemClock } from '../platform/clock.ts';
import { contextOf } from '../test/analytics/support/events.ts';
import { type TestBus, startBus } from '../test/support/bus.ts';
import { type Bench, type BenchOptions, withStarted } from './harness/bench.ts';
import { publishLives, recordBacklog, rowsPerMessage, withEngine } from './harness/event-store.ts';
import { quantile } from './harness/latency-figures.ts';
import type { BenchResult } from './harness/report.ts';
import { askedAccount, days, fillCounts, fromMs } from './load/report-counts.ts';

export const bench: Bench = {
  about: 'reports over 30 days of generated counts, four at a time; recorder and status look-ups beside them',
  secondsDefault: 30,
  takes: ['count'],
  run,
};

const askedAtOnce = 4;
const askLimitMs = 60_000;
const lookUpEveryMs = 20;
const backlogMessages = 60_000;

/** Of each report, as far as it has them. */
const groupings: readonly (readonly Dimension[])[] = [
  [],
  ['day'],
  ['day', 'carrier'],
  ['carrier', 'category'],
  ['hour'],
  ['hour', 'category'],
  ['hour', 'carrier'],
  ['day', 'sender'],
  ['hour', 'sender'],
];
/** 720 hours × 12 senders × 8 errors: more rows than a report has. */
const tooLarge: ReadonlySet<string> = new Set(['errors hour sender']);
const zones = ['Asia/Kolkata', 'Europe/Berlin', 'UTC'];

async function run({ seconds, count = 100_000_000 }: BenchOptions): Promise<BenchResult> {
  return withStarted(startBus('bench'), (bus) => withEngine((engine) => measure(bus, engine, seconds, count)));
}

async function measure({ bus }: TestBus, engine: Engine, seconds: number, count: number): Promise<BenchResult> {
  await fillCounts(engine, count);
  const beganMs = systemClock.monotonicMs();
  const cpuBefore = process.cpuUsage();
  const queries = queriesOf();
  const alone = await asked(
    engine,
    queries,
    (turns) => systemClock.monotonicMs() - beganMs < seconds * 1_000 || turns < queries.length,
  );
  const { user, system } = process.cpuUsage(cpuBefore);
  const [rows] = await engine.rows(
    'SELECT toUInt32(count()), (SELECT toUInt32(count()) FROM message_tiers) FROM message_counts',
  );
  const slowest = alone.reduce((one, other) => (one.tookMs > other.tookMs ? one : other));
  const took = alone.map(({ tookMs }) => tookMs);
  const without = await recordedBeside(bus, engine, null);
  const beside = await recordedBeside(bus, engine, queries);
  return {
    load:
      `${count} messages in ${days} days, ${alone.length} reports, ${askedAtOnce} at a time (slowest: ${slowest.name}); ` +
      `then a backlog of ${backlogMessages} messages, without reports and with`,
    figures: {
      rows_of_counts: Number(rows?.[0]),
      rows_of_tiers: Number(rows?.[1]),
      report_p50_ms: quantile(took, 0.5),
      report_p99_ms: quantile(took, 0.99),
      report_max_ms: quantile(took, 1),
      cpu_per_report_ms: (user + system) / 1_000 / alone.length,
      recorded_events_per_s_without: without.eventsPerS,
      recorded_events_per_s_with: beside.eventsPerS,
      status_p99_ms_without: quantile(without.lookUpsMs, 0.99),
      status_p99_ms_with: quantile(beside.lookUpsMs, 0.99),
      reports_per_s_beside: beside.reportsPerS,
      not_recorded: without.missing + beside.missing,
    },
    targets: [
      { figure: 'report_p99_ms', op: '<=', bound: 300 },
      // What 5,000 messages a second need.
      { figure: 'recorded_events_per_s_with', op: '>=', bound: 15_000 },
      { figure: 'status_p99_ms_with', op: '<=', bound: 250 },
      { figure: 'not_recorded', op: '==', bound: 0 },
    ],
  };
}

type Asked = { readonly name: string; readonly tookMs: number };

/** In turn, four at a time, while `isMore(turns)`. */
async function asked(
  engine: Engine,
  queries: readonly ReportQuery[],
  isMore: (turns: number) => boolean,
): Promise<readonly Asked[]> {
  const answered: Asked[] = [];
  let turns = 0;
  const askInTurn = async () => {
    while (isMore(turns)) {
      const query = queries[turns % queries.length] as ReportQuery;
      turns += 1;
      const askedMs = systemClock.monotonicMs();
      await ask(engine, query);
      const name = `${query.report} by ${query.groupBy.join(', ') || 'nothing'} in ${query.timeZone}`;
      answered.push({ name, tookMs: systemClock.monotonicMs() - askedMs });
    }
  };
  await Promise.all(Array.from({ length: askedAtOnce }, askInTurn));
  return answered;
}

function queriesOf(): readonly ReportQuery[] {
  const toMs = fromMs + days * 86_400_000;
  const query = { accountId: askedAccount, livemode: true, fromMs, toMs, filters: {}, format: 'json' } as const;
  return reports.flatMap((report) =>
    groupings
      .filter((groupBy) => groupBy.every((each) => report.groupBy.includes(each)))
      .filter((groupBy) => !tooLarge.has(`${report.name} ${groupBy.join(' ')}`))
      .flatMap((groupBy) => zones.map((timeZone) => ({ ...query, report: report.name, timeZone, groupBy }))),
  );
}

async function ask(engine: Engine, query: ReportQuery): Promise<void> {
  const report = reports.find(({ name }) => name === query.report);
  if (report === undefined) throw new Error(query.report);
  const { sql, params } = statementOf(report, query);
  await engine.octets(sql, 'JSONEachRow', params, askLimitMs, 'background');
}

type Beside = {
  readonly eventsPerS: number;
  readonly lookUpsMs: readonly number[];
  readonly reportsPerS: number;
  readonly missing: number;
};

/** The recorder works off a backlog while status look-ups are asked, and reports if there are `queries`. */
async function recordedBeside(bus: Bus, engine: Engine, queries: readonly ReportQuery[] | null): Promise<Beside> {
  const publisher = new Publisher(bus);
  const ids = await publishLives(publisher, backlogMessages);
  const recorded = new RecordedEvents(engine);
  const { accountId } = contextOf();
  let isDone = false;
  const recording = recordBacklog(bus, engine, publisher);
  const reporting = queries === null ? Promise.resolve([]) : asked(engine, queries, () => !isDone);
  const looking = lookUps(
    ids,
    (messageId) => recorded.of({ accountId, messageId }),
    () => isDone,
  );
  const { recorder, tookS } = await recording;
  isDone = true;
  const [lookUpsMs, made] = await Promise.all([looking, reporting]);
  await recorder.stop(5_000);
  publisher.close();
  const [row] = await engine.rows('SELECT toUInt32(count()) FROM sms_events WHERE message_id >= {first:String}', {
    first: ids.toSorted()[0] ?? '',
  });
  return {
    eventsPerS: (backlogMessages * rowsPerMessage) / tookS,
    lookUpsMs,
    reportsPerS: made.length / tookS,
    missing: backlogMessages * rowsPerMessage - Number(row?.[0]),
  };
}

/** One every `lookUpEveryMs`, whether or not the one before it is answered. */
async function lookUps(
  ids: readonly string[],
  look: (messageId: string) => Promise<unknown>,
  isDone: () => boolean,
): Promise<readonly number[]> {
  const pending: Promise<number>[] = [];
  const timed = async (messageId: string) => {
    const askedMs = systemClock.monotonicMs();
    await look(messageId);
    return systemClock.monotonicMs() - askedMs;
  };
  while (!isDone()) {
    pending.push(timed(ids[(pending.length * 37) % ids.length] as string));
    await systemClock.sleep(lookUpEveryMs);
  }
  return Promise.all(pending);
}

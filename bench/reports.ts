// How long reports take over generated tables of many messages of one account: every report by the groupings that read
// most, in zones whose days begin at a whole and at a half hour. Those over counts are asked for 30 days, four at a time;
// those that read every one-time password for as many days as they can answer, one at a time. Then what they take from
// others, without reports and with: how soon the events of 5,000 messages a second are recorded and a status look-up is
// answered; and the same while the recorder works off a backlog as fast as it can.
import { monitorEventLoopDelay } from 'node:perf_hooks';
import { RecordedEvents } from '../analytics/queries/recorded-events.ts';
import { reports } from '../analytics/reports/catalogue.ts';
import type { ReportQuery } from '../analytics/reports/report.ts';
import { statementOf } from '../analytics/reports/statement.ts';
import { type Recorder, startRecorder } from '../analytics/recorder/recorder.ts';
import type { Engine } from '../analytics/store/engine.ts';
import type { Bus } from '../cluster/bus/connect.ts';
import { Publisher } from '../cluster/bus/publisher.ts';
import { systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { ignoring, messageOf } from '../platform/errors.ts';
import { contextOf } from '../test/analytics/support/events.ts';
import { type TestBus, startBus } from '../test/support/bus.ts';
import { type Bench, type BenchOptions, withStarted } from './harness/bench.ts';
import {
  livesOf,
  livesPerRecord,
  publishLives,
  publishRecord,
  recordBacklog,
  rowsPerMessage,
  withEngine,
} from './harness/event-store.ts';
import { quantile } from './harness/latency-figures.ts';
import type { BenchResult } from './harness/report.ts';
import { days, fillCounts } from './load/report-counts.ts';
import { nameOf, queriesOf, readsRows, reportOf } from './load/report-queries.ts';
import { fillClicks, fillOtps } from './load/report-rows.ts';

export const bench: Bench<'seconds' | 'count'> = {
  about: 'reports over 30 days of generated tables; recorder and status look-ups beside them',
  takes: 'the time to fill the tables and about three times --seconds',
  options: {
    seconds: {
      about: 'seconds of reports four at a time, and of reports one at a time; each is asked once at least',
      default: 30,
    },
    count: { about: 'messages in the tables', default: 100_000_000 },
  },
  targets: () => [
    { figure: 'report_p99_ms', op: '<=', bound: 300 },
    { figure: 'reports_too_slow', op: '==', bound: 0 },
    { figure: 'steady_recorded_after_ms_with', op: '<=', bound: 2_000 },
    { figure: 'steady_status_p99_ms_with', op: '<=', bound: 250 },
    // What 5,000 messages a second need.
    { figure: 'recorded_events_per_s_with', op: '>=', bound: 15_000 },
    { figure: 'status_p99_ms_with', op: '<=', bound: 250 },
    { figure: 'not_recorded', op: '==', bound: 0 },
  ],
  run,
};

const askedAtOnce = 4;
/** As many one-time passwords as a report reads in the time that it has (docs/reports.md). */
const otpsMax = 300_000;
const askLimitMs = 60_000;
const lookUpEveryMs = 20;
const backlogMessages = 60_000;
const steadyPerS = 5_000;
const steadyS = 10;

async function run({ seconds, count }: BenchOptions<'seconds' | 'count'>): Promise<BenchResult> {
  return withStarted(startBus('bench'), (bus) => withEngine((engine) => measure(bus, engine, seconds, count)));
}

async function measure({ bus }: TestBus, engine: Engine, seconds: number, count: number): Promise<BenchResult> {
  await fillCounts(engine, count);
  await fillClicks(engine, count);
  const otpsADay = await fillOtps(engine, count);
  const otpDays = Math.max(1, Math.min(days, Math.floor(otpsMax / otpsADay)));
  const queries = queriesOf(otpDays);
  const [ofCounts, ofRows] = [queries.filter((query) => !readsRows(query)), queries.filter(readsRows)];
  const measured = async (asking: readonly ReportQuery[], atOnce: number) => {
    const beganMs = systemClock.monotonicMs();
    const isMore = (turns: number) => systemClock.monotonicMs() - beganMs < seconds * 1_000 || turns < asking.length;
    return asked(engine, asking, atOnce, isMore);
  };
  const cpuBefore = process.cpuUsage();
  const alone = await measured(ofCounts, askedAtOnce);
  const { user, system } = process.cpuUsage(cpuBefore);
  const ofOtps = await measured(ofRows, 1);
  const [rows] = await engine.rows(
    'SELECT toUInt32(count()), (SELECT toUInt32(count()) FROM message_tiers) FROM message_counts',
  );
  const slowest = alone.reduce((one, other) => (one.tookMs > other.tookMs ? one : other));
  const took = alone.map(({ tookMs }) => tookMs);
  const steadyWithout = await recordedSteadily(bus, engine, null);
  const steadyBeside = await recordedSteadily(bus, engine, queries);
  const without = await recordedBeside(bus, engine, null);
  const beside = await recordedBeside(bus, engine, queries);
  return {
    load:
      `${count} messages in ${days} days, ${alone.length} reports, ${askedAtOnce} at a time (slowest: ${slowest.name}); ` +
      `${ofOtps.length} reports over the ${otpsADay * otpDays} one-time passwords of ${otpDays} days, one at a time; ` +
      `then ${steadyPerS} messages a second for ${steadyS} s, and a backlog of ${backlogMessages} messages, ` +
      'each without reports and with',
    figures: {
      rows_of_counts: Number(rows?.[0]),
      rows_of_tiers: Number(rows?.[1]),
      report_p50_ms: quantile(took, 0.5),
      report_p99_ms: quantile(took, 0.99),
      report_max_ms: quantile(took, 1),
      ...p99OfEach([...alone, ...ofOtps]),
      reports_too_slow: tooSlow(alone),
      otp_reports_too_slow: tooSlow(ofOtps),
      cpu_per_report_ms: (user + system) / 1_000 / alone.length,
      steady_recorded_after_ms_without: steadyWithout.recordedAfterMs,
      steady_recorded_after_ms_with: steadyBeside.recordedAfterMs,
      steady_status_p99_ms_without: quantile(steadyWithout.lookUpsMs, 0.99),
      steady_status_p99_ms_with: quantile(steadyBeside.lookUpsMs, 0.99),
      steady_turn_p99_ms_with: steadyBeside.turnP99Ms,
      steady_reports_per_s: steadyBeside.reportsPerS,
      recorded_events_per_s_without: without.eventsPerS,
      recorded_events_per_s_with: beside.eventsPerS,
      status_p99_ms_without: quantile(without.lookUpsMs, 0.99),
      status_p99_ms_with: quantile(beside.lookUpsMs, 0.99),
      turn_p99_ms_without: without.turnP99Ms,
      turn_p99_ms_with: beside.turnP99Ms,
      reports_per_s_beside: beside.reportsPerS,
      not_recorded: steadyWithout.missing + steadyBeside.missing + without.missing + beside.missing,
    },
  };
}

/** `isAnswered`: false when it took longer than a report may: a client gets 503 for it. */
type Asked = {
  readonly report: string;
  readonly name: string;
  readonly tookMs: number;
  readonly isAnswered: boolean;
};

const tooSlow = (all: readonly Asked[]) => all.filter(({ isAnswered }) => !isAnswered).length;

function p99OfEach(all: readonly Asked[]): Record<string, number> {
  const took = (name: string) => all.filter(({ report }) => report === name).map(({ tookMs }) => tookMs);
  return Object.fromEntries(
    reports.map(({ name }) => [`${name.replaceAll('-', '_')}_p99_ms`, quantile(took(name), 0.99)]),
  );
}

/** In turn, so many at a time, while `isMore(turns)`. */
async function asked(
  engine: Engine,
  queries: readonly ReportQuery[],
  atOnce: number,
  isMore: (turns: number) => boolean,
): Promise<readonly Asked[]> {
  const answered: Asked[] = [];
  let turns = 0;
  const askInTurn = async () => {
    while (isMore(turns)) {
      const query = queries[turns % queries.length] as ReportQuery;
      turns += 1;
      const askedMs = systemClock.monotonicMs();
      const isAnswered = await ask(engine, query);
      const name = nameOf(query);
      answered.push({ report: query.report, name, tookMs: systemClock.monotonicMs() - askedMs, isAnswered });
    }
  };
  await Promise.all(Array.from({ length: atOnce }, askInTurn));
  return answered;
}

/** Resolves with false when it took longer than a report may. */
async function ask(engine: Engine, query: ReportQuery): Promise<boolean> {
  const { sql, params } = statementOf(reportOf(query), query);
  return engine.octets(sql, 'JSONEachRow', params, askLimitMs, 'background').then(
    () => true,
    (error: unknown) => {
      if (messageOf(error).includes('TIMEOUT_EXCEEDED')) return false;
      throw error;
    },
  );
}

type Beside = {
  readonly lookUpsMs: readonly number[];
  /** How long a turn of the process's event loop took. */
  readonly turnP99Ms: number;
  readonly reportsPerS: number;
  readonly missing: number;
};

/** The recorder keeps up with new messages. `recordedAfterMs`: from the last event to all of them recorded. */
async function recordedSteadily(
  bus: Bus,
  engine: Engine,
  queries: readonly ReportQuery[] | null,
): Promise<Beside & { readonly recordedAfterMs: number }> {
  const publisher = new Publisher(bus);
  // Made before, so that the load takes little of the process that is measured.
  const lives = [...livesOf(steadyPerS * steadyS)];
  const recorder = await startRecorder({ bus, engine, publisher });
  const known: string[] = [];
  let recordedAfterMs = Number.NaN;
  const measured = await askBeside(engine, queries, known, async () => {
    const beganMs = systemClock.monotonicMs();
    const published: Promise<void>[] = [];
    for (const { messageIds, record } of lives) {
      const dueMs = beganMs + (published.length * livesPerRecord * 1_000) / steadyPerS;
      const waitMs = dueMs - systemClock.monotonicMs();
      if (waitMs > 0) await systemClock.sleep(waitMs);
      published.push(publishRecord(publisher, record));
      known.push(...messageIds);
    }
    await Promise.all(published);
    const lastMs = systemClock.monotonicMs();
    const { state } = await bus.manager.streams.info('EVENTS');
    const options = { limitMs: askLimitMs, everyMs: 20 };
    await until('the last events are recorded', () => recorder.recordedTo >= state.last_seq, options);
    recordedAfterMs = systemClock.monotonicMs() - lastMs;
    return recorder;
  });
  publisher.close();
  return { ...measured, recordedAfterMs };
}

/** The recorder works off a backlog. */
async function recordedBeside(
  bus: Bus,
  engine: Engine,
  queries: readonly ReportQuery[] | null,
): Promise<Beside & { readonly eventsPerS: number }> {
  const publisher = new Publisher(bus);
  const ids = await publishLives(publisher, backlogMessages);
  let eventsPerS = Number.NaN;
  const measured = await askBeside(engine, queries, ids, async () => {
    const { recorder, tookS } = await recordBacklog(bus, engine, publisher);
    eventsPerS = (backlogMessages * rowsPerMessage) / tookS;
    return recorder;
  });
  publisher.close();
  return { ...measured, eventsPerS };
}

/** Status look-ups of the messages that are known by then, and reports if there are `queries`, while `record` records. */
async function askBeside(
  engine: Engine,
  queries: readonly ReportQuery[] | null,
  known: readonly string[],
  record: () => Promise<Recorder>,
): Promise<Beside> {
  const recorded = new RecordedEvents(engine);
  const { accountId } = contextOf();
  const turns = monitorEventLoopDelay({ resolution: 1 });
  const beganMs = systemClock.monotonicMs();
  turns.enable();
  let isDone = false;
  const recording = record();
  const reporting = queries === null ? Promise.resolve([]) : asked(engine, queries, askedAtOnce, () => !isDone);
  const looking = lookUps(
    known,
    (messageId) => recorded.of({ accountId, messageId }),
    () => isDone,
  );
  // Awaited below, as above.
  for (const each of [looking, reporting])
    each.catch((error: unknown) => ignoring(error, 'the bench fails with it below'));
  const recorder = await recording.finally(() => {
    isDone = true;
  });
  turns.disable();
  const tookS = (systemClock.monotonicMs() - beganMs) / 1_000;
  const [lookUpsMs, made] = await Promise.all([looking, reporting]);
  await recorder.stop(5_000);
  const [row] = await engine.rows('SELECT toUInt32(count()) FROM sms_events WHERE message_id >= {first:String}', {
    first: known.toSorted()[0] ?? '',
  });
  return {
    lookUpsMs,
    turnP99Ms: turns.percentile(99) / 1e6,
    reportsPerS: made.length / tookS,
    missing: known.length * rowsPerMessage - Number(row?.[0]),
  };
}

/** One every `lookUpEveryMs`, whether or not the one before it is answered. */
async function lookUps(
  known: readonly string[],
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
    const messageId = known[(pending.length * 37) % known.length];
    if (messageId !== undefined) {
      const looked = timed(messageId);
      // Awaited below: a failure until then must not end the process.
      looked.catch((error: unknown) => ignoring(error, 'the bench fails with it when it awaits it'));
      pending.push(looked);
    }
    await systemClock.sleep(lookUpEveryMs);
  }
  return Promise.all(pending).catch((error: unknown) => {
    throw new Error(`a status look-up failed beside the recorder: ${messageOf(error)}`, { cause: error });
  });
}

// Summaries of one-time passwords: whatever happened, when, how late and how often, a report says the same with them as from
// the rows; what changes later is read from the rows at once, and summarized again.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { otpColumns, otpRow } from '../../analytics/otp/fact-rows.ts';
import { ChangedTimes, type LateChanges, lateChangesOver } from '../../analytics/otp/late-changes.ts';
import { startSummarizer } from '../../analytics/otp/summarizer.ts';
import { otp, otpTrust } from '../../analytics/reports/otp.ts';
import { type Filter, type Report, type ReportQuery, nothingSummarized } from '../../analytics/reports/report.ts';
import { type Statement, sizeOf, summarizedStatement } from '../../analytics/reports/statement.ts';
import { keepRowsFor } from '../../analytics/store/retention.ts';
import { tsvRow, tsvTime } from '../../analytics/store/tab-separated.ts';
import { retentionDefault } from '../../config/retention-schema.ts';
import type { OtpFact } from '../../model/fact.ts';
import type { MessageId, OtpId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { seededRandom } from '../../platform/random.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { askPatiently, patient, reportRows } from '../support/report-rows.ts';
import { patienceMs, until } from '../support/until.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';

const minuteMs = 60_000;
const halfHourMs = 30 * minuteMs;
const dayMs = 48 * halfHourMs;
/** A half hour some days ago. */
const fromMs = Math.floor(systemClock.nowMs() / halfHourMs) * halfHourMs - 3 * dayMs;
const toMs = fromMs + dayMs / 4;

let store: EventStore;
let clock: ManualClock;
let late: LateChanges;
let summarizer: ReturnType<typeof startSummarizer>;
let nth = 0;

/** As a process that has just started. */
function begin(historyDays = retentionDefault.historyDays): void {
  summarizer?.stop();
  late = lateChangesOver(store.engine, historyDays, clock);
  summarizer = startSummarizer({ engine: store.engine, late, recorderLateMs: () => 0, historyDays, clock });
}

beforeEach(async () => {
  const started = await startEventStore();
  store = { ...started, engine: patient(started.engine) };
  clock = new ManualClock(toMs);
  begin();
});
afterEach(async () => {
  summarizer.stop();
  await store.stop();
});

const accounts = ['acc_1', "acc_'2"];
type Happened = { readonly kind: string; readonly hop: number; readonly carrier: string; readonly atMs: number };
type Message = { readonly id: string; readonly acceptedAtMs: number; readonly happened: readonly Happened[] };
type Otp = { readonly fact: OtpFact; readonly messages: readonly Message[] };

const random = seededRandom(253);
const one = <T>(list: readonly T[]): T => list[Math.floor(random.unit() * list.length)] as T;

/** Of any fate: resent, hedged to another carrier, entered late or never, and the second of two versions that are stored. */
function anyOtp(startMs: number, accountId = one(accounts), livemode = random.unit() < 0.9): Otp {
  nth += 1;
  const [status, reason] = one([
    ...[1, 2, 3, 4].map(() => ['verified', null] as const),
    ...[['expired', 'expired'] as const, ['expired', 'delivery_failed'] as const, ['canceled', null] as const],
    ...[['failed', 'max_attempts_reached'] as const, ['failed', 'locked'] as const, ['failed', 'not_sent'] as const],
    ['pending', null] as const,
  ]);
  const messages = Array.from({ length: one([1, 1, 1, 2, 3]) }, (_, resend): Message => {
    const acceptedAtMs = startMs + resend * 4 * minuteMs;
    const on = (hop: number, kind: string) => ({ kind, hop, carrier: one(['alpha', 'beta']), atMs: acceptedAtMs + 9 });
    const ends = [[], ['delivered'], ['delivered'], ['undelivered'], ['expired']];
    const hops = one([[0], [0], [0], [0, 1]]);
    const happened =
      random.unit() < 0.1 ? [] : hops.flatMap((hop) => ['submitted', ...one(ends)].map((kind) => on(hop, kind)));
    return { id: `sms_${nth}_${resend}`, acceptedAtMs, happened };
  });
  const tookMs = Math.floor(10 ** (random.unit() * 5.7));
  const fact = {
    ...{
      kind: 'otp',
      eventId: '',
      atMs: startMs,
      accountId,
      livemode,
      version: 2,
      id: `otp_${nth}` as OtpId,
      status,
      reason,
    },
    ...{ to: `+88017${one(['12', '13', '19'])}${one(['11', '22'])}123456`, purpose: one(['default', 'login']) },
    ...{
      language: one(['en', 'bn', null]),
      ownCode: random.unit() < 0.2,
      sender: one(['HELIO', "O'Neil"]),
      attempts: 1,
    },
    ...{
      clientReference: null,
      createdAtMs: startMs,
      expiresAtMs: startMs + 5 * minuteMs,
      endedAtMs: startMs + tookMs,
    },
    messageIds: messages.map(({ id }) => id as MessageId),
  } as unknown as OtpFact;
  return { fact, messages };
}

/** Entered after a second, with one message that a carrier took. */
function entered(startMs: number): Otp {
  const { fact } = anyOtp(startMs, 'acc_1', true);
  const message = { id: `sms_${nth}_0`, acceptedAtMs: startMs };
  const taken = { kind: 'submitted', hop: 0, carrier: 'alpha', atMs: startMs + 9 };
  const ended = {
    status: 'verified',
    reason: null,
    endedAtMs: startMs + 1_000,
    messageIds: [message.id as MessageId],
  } as const;
  return { fact: { ...fact, ...ended }, messages: [{ ...message, happened: [taken] }] };
}

/** As the recorders do: rows first, then the note. */
async function record(otps: readonly Otp[], part: 'otps' | 'messages' | 'all' = 'all'): Promise<void> {
  const changed = new ChangedTimes();
  const messages: string[] = [];
  for (const { fact, messages: sent } of otps) {
    const { accountId, livemode } = fact;
    if (part !== 'messages') changed.ofOtp(accountId, livemode, fact.createdAtMs);
    for (const { id, acceptedAtMs, happened } of part === 'otps' ? [] : sent) {
      changed.ofMessage(accountId, livemode, acceptedAtMs);
      for (const { kind, hop, carrier, atMs } of happened) {
        messages.push(tsvRow([accountId, livemode, tsvTime(acceptedAtMs), id, kind, hop, carrier, tsvTime(atMs)]));
      }
    }
  }
  const insert = (into: string, rows: readonly string[]) =>
    rows.length === 0 ? Promise.resolve() : store.engine.insert(into, Buffer.from(rows.join('')));
  if (part !== 'messages')
    await insert(
      `otps (${otpColumns})`,
      otps.map(({ fact }) => otpRow(fact)),
    );
  await insert('otp_messages (account_id, livemode, accepted_at, message_id, kind, hop, carrier, at)', messages);
  await late.note(changed);
}

const fromRows = ({ summarized: _summarized, ...report }: Report): Report => report;
const day = { accountId: 'acc_1', fromMs, toMs };
const said = (report: Report, query: Partial<ReportQuery> = {}) =>
  reportRows(store.engine, report, { ...day, ...query });
const started = async (query: Partial<ReportQuery> = {}) => (await said(otp, query)).at(0)?.['started'] ?? 0;

/** A busy machine may take longer than the product waits. */
async function answered(statement: Statement | null): Promise<string> {
  const { sql = '', params = {} } = statement ?? {};
  return askPatiently(store.engine, { sql, params });
}

/** What a report of the six hours would read from summaries. */
async function summarized(query: Partial<ReportQuery> = {}) {
  const rest = { report: 'otp', livemode: true, timeZone: 'UTC', groupBy: [], filters: {}, format: 'json' } as const;
  const statement = summarizedStatement(otp, { ...rest, ...day, ...query });
  return otp.summarized?.read(await answered(statement));
}

/** As from the rows, for random times and groupings. */
async function expectSame(queries: number): Promise<void> {
  for (let at = 0; at < queries; at += 1) {
    const report = one([otp, otpTrust]);
    const groupBy = [one(report.groupBy), one(report.groupBy)].filter(
      (each, place, all) => all.indexOf(each) === place,
    );
    const isTwice = groupBy.includes('hour') && groupBy.includes('day');
    const filter: Filter | null = one([null, ...report.filters]);
    const values = { carrier: 'beta', sender: "O'Neil", prefix: '+880171211', language: 'bn', purpose: 'login' };
    const begin = fromMs + Math.floor(random.unit() * 10) * halfHourMs;
    const query: Partial<ReportQuery> = {
      groupBy: isTwice ? ['hour'] : groupBy.slice(0, one([0, 1, 2, 2])),
      filters: filter === null ? {} : { [filter]: values[filter as keyof typeof values] },
      ...(at % 3 === 0 ? {} : { fromMs: begin, toMs: begin + (1 + Math.floor(random.unit() * 8)) * halfHourMs }),
      ...{ accountId: one(accounts), livemode: random.unit() < 0.9 },
      timeZone: one(['UTC', 'Asia/Kolkata', 'America/St_Johns', 'Europe/Berlin']),
    };
    expect(await said(report, query), JSON.stringify(query)).toEqual(await said(fromRows(report), query));
  }
}

test('a report says the same from summaries as from the rows, whatever happened, and however late and often', async () => {
  const otps = Array.from({ length: 1_500 }, () => anyOtp(fromMs + Math.floor(random.unit() * (toMs - fromMs))));
  const [inTime, afterwards] = [otps.slice(0, 1_000), otps.slice(1_000)];
  await record(inTime);
  // Of some an earlier version is there as well.
  await record(
    inTime
      .slice(0, 200)
      .map(({ fact }) => ({ fact: { ...fact, version: 1, status: 'pending' } as OtpFact, messages: [] })),
  );
  await summarizer.run();
  expect((await summarized())?.toMs).toBe(toMs - 20 * minuteMs);
  expect((await summarized())?.changedMs).toEqual([]);
  expect(await started()).toBeGreaterThan(300);
  await expectSame(20);
  clock.advance(60 * minuteMs);
  await summarizer.run();
  await expectSame(8);
  // New ones, late messages of some, and what was recorded before once more.
  for (const some of [afterwards.slice(0, 300), afterwards.slice(300), inTime.slice(0, 100)]) {
    await record(some, 'otps');
    await record(some.slice(0, 150), 'messages');
    await expectSame(6);
    await summarizer.run();
    await expectSame(6);
  }
  await store.engine.command('OPTIMIZE TABLE otp_summaries FINAL');
  await store.engine.command('OPTIMIZE TABLE otp_late_changes FINAL');
  expect((await summarized())?.changedMs).toEqual([]);
  await expectSame(12);
}, 240_000);

test('a late change is read from the rows at once, and is summarized by the next process when this one could not', async () => {
  const first = entered(fromMs);
  await record([first]);
  await summarizer.run();
  const before = await said(otp, { groupBy: ['hour'] });
  // Rows that can be read, but are not noted yet: the report is as of before.
  const receipt = { kind: 'delivered', hop: 0, carrier: 'gamma', atMs: toMs };
  const submitted = { ...receipt, kind: 'submitted', hop: 1 };
  const [message] = first.messages as [Message];
  const changed = { ...first, messages: [{ ...message, happened: [submitted, receipt] }] };
  await record([changed], 'messages');
  expect((await summarized())?.changedMs).toContain(fromMs);
  const after = await said(otp, { groupBy: ['hour'] });
  expect(after).not.toEqual(before);
  expect(await said(otp, { groupBy: ['carrier'] })).toMatchObject([{ carrier: 'gamma', delivered: 1 }]);
  begin();
  await summarizer.run();
  expect((await summarized())?.changedMs).toEqual([]);
  expect(await said(otp, { groupBy: ['hour'] })).toEqual(after);
});

test('what is recorded while its time is summarized is not in the summary, and is read from the rows', async () => {
  await record([entered(fromMs)]);
  const { engine } = store;
  // Rows and note come after the rows were read, and before the summary is written.
  const octets: typeof engine.octets = async (...asked) => {
    const answer = await engine.octets(...asked);
    await record([entered(fromMs)]);
    return answer;
  };
  const racing = startSummarizer({
    ...{ engine: { ...engine, octets }, late, recorderLateMs: () => 0, historyDays: 400, clock },
  });
  await racing.run();
  racing.stop();
  const left = await engine.rows(
    'SELECT toUInt32(sum(arraySum(groups.otps))) FROM otp_summaries FINAL WHERE NOT by_prefix',
  );
  const inSummaries = Number(left[0]?.[0]);
  const inRows = Number((await engine.rows('SELECT toUInt32(count()) FROM otps FINAL'))[0]?.[0]);
  expect(inSummaries).toBeLessThan(inRows);
  expect((await summarized())?.changedMs).toContain(fromMs);
  expect(await started()).toBe(inRows);
});

test('a time with late changes and nothing started gets a summary without groups', async () => {
  await record([entered(fromMs + 5 * minuteMs)]);
  await summarizer.run();
  const withdrawn = entered(fromMs + 45 * minuteMs);
  await record([{ ...withdrawn, fact: { ...withdrawn.fact, reason: 'not_sent' } as unknown as OtpFact }]);
  expect((await summarized())?.changedMs.length).toBeGreaterThan(0);
  await summarizer.run();
  expect((await summarized())?.changedMs).toEqual([]);
});

test('a report counts against its limit only what it reads from the rows', async () => {
  const count = limits.reports.readRowsMax + 1_000;
  await store.engine.command(
    `INSERT INTO otps (account_id, livemode, started_at, otp_id, version, status, message_ids, ended_at)
     SELECT 'acc_1', true, fromUnixTimestamp64Milli(toInt64(${fromMs} + number % 6 * 600000), 'UTC') AS started, leftPad(toString(number), 26, '0'), 1,
       'verified', [leftPad(toString(number), 26, '0')], started + 5 FROM numbers(${count})`,
    patienceMs,
  );
  const ofDay = {
    report: 'otp',
    livemode: true,
    timeZone: 'UTC',
    groupBy: [],
    filters: {},
    format: 'json',
    ...day,
  } as const;
  const size = async () => {
    return JSON.parse(await answered(sizeOf(otp, ofDay, (await summarized()) ?? nothingSummarized))) as unknown;
  };
  expect(await size()).toEqual({ n: count, groups: 0 });
  await summarizer.run();
  expect(await size()).toEqual({ n: 0, groups: 6 });
  expect(await said(otp)).toMatchObject([{ started: count, verified: count, messages: count, verified_p50_ms: 4_983 }]);
}, 240_000);

test('nothing is summarized before its time, nor while the recorder is late', async () => {
  await record([entered(fromMs), entered(toMs - 1)]);
  // What is recorded at once costs no insert.
  const noted = 'SELECT toUInt32(max(ten_minutes)) FROM otp_late_changes';
  expect(await store.engine.rows(noted)).toEqual([[fromMs / 1_000]]);
  const waiting = startSummarizer({
    ...{
      engine: store.engine,
      late,
      recorderLateMs: () => limits.otpSummaries.recorderLateMs + 1,
      historyDays: 400,
      clock,
    },
  });
  await waiting.run();
  waiting.stop();
  expect((await summarized())?.toMs).toBe(0);
  clock.advance(limits.otpSummaries.settleMs - 1);
  await summarizer.run();
  expect((await summarized())?.toMs).toBe(toMs - 10 * minuteMs);
  clock.advance(1);
  await summarizer.run();
  expect((await summarized())?.toMs).toBe(toMs);
});

test('a time whose rows expire keeps its summary, and goes with its rows', async () => {
  await record([entered(fromMs + minuteMs)]);
  await summarizer.run();
  expect(await started()).toBe(1);
  // Its rows are gone, and a receipt comes: there is nothing left to compute it from.
  await store.engine.command('TRUNCATE TABLE otps');
  clock.advance(2 * dayMs);
  begin(2);
  await record([entered(fromMs + minuteMs)], 'messages');
  await summarizer.run();
  expect((await summarized())?.changedMs).toEqual([]);
  expect(await started()).toBe(1);
  await keepRowsFor(store.engine, { ...retentionDefault, historyDays: 1 });
  const old = 'FROM otp_summaries WHERE ten_minutes < now() - INTERVAL 1 DAY';
  await until('it is gone', async () => (await store.engine.rows(`SELECT toUInt32(count()) ${old}`))[0]?.[0] === 0);
});

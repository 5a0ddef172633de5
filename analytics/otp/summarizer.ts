// Summarizes one-time passwords whose time is over, ten minutes of starts at a time, so that reports need not read each of
// them (docs/decisions/0253-summaries-of-one-time-passwords.md). It goes through time in order, and computes again what
// changed later. A summary includes the changes that were noted before its rows were read: late-changes.ts notes a change
// when its rows can be read, so none is missed. Two nodes that summarize the same do no harm. It never computes what
// expires.
import type { Cancel, Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type Range, changedTimesSql, groupColumns, tenMinutesSql } from '../reports/otp-summaries.ts';
import { eachOtp } from '../reports/otp-rows.ts';
import type { Cell, Engine, Params } from '../store/engine.ts';
import { tsvRow } from '../store/tab-separated.ts';
import { type LateChanges, type OtpTime, keptFromMs } from './late-changes.ts';

type SummarizerOptions = {
  readonly engine: Engine;
  readonly late: LateChanges;
  /** How late the recorder is: what it has not recorded would be computed again. */
  readonly recorderLateMs: () => number;
  readonly historyDays: number;
  readonly clock: Clock;
};

type Summarizer = {
  /** Resolves when nothing is left to summarize, or when it has worked long enough for once. */
  run(): Promise<void>;
  stop(): void;
};

/** Accounts with one-time passwords, or late changes, of the same ten minutes. */
type Share = {
  readonly fromMs: number;
  readonly livemode: boolean;
  readonly accounts: readonly string[];
};

const bounds = limits.otpSummaries;
const { spanMs } = bounds;

export function startSummarizer({ engine, late, recorderLateMs, historyDays, clock }: SummarizerOptions): Summarizer {
  let running = false;
  let stopped = false;
  /** All before it is summarized; null: not read yet. */
  let doneToMs: number | null = null;
  /** Times that lack a change, by their key. */
  const changed = new Map<string, OtpTime>();
  /** When all are looked through again, monotonic; and up to where that is to be done, from the newest on. */
  let scanAtMs = Number.NEGATIVE_INFINITY;
  let scanToMs: number | null = null;
  /** The times that could not be summarized in their turn. */
  const failed = new Set<string>();

  async function run(): Promise<void> {
    const beganMs = clock.monotonicMs();
    const hasTime = (ms: number) => () =>
      !stopped && clock.monotonicMs() - beganMs < ms && recorderLateMs() <= bounds.recorderLateMs;
    try {
      await changedAgain(hasTime(bounds.workMsMax / 2));
    } finally {
      await onward(hasTime(bounds.workMsMax));
    }
  }

  async function changedAgain(hasTime: () => boolean): Promise<void> {
    if (!hasTime()) return;
    const range = { fromMs: keptFromMs(historyDays, clock), toMs: await summarizedTo() };
    const { times, isAll } = late.taken();
    if (!isAll) scanAtMs = Number.NEGATIVE_INFINITY;
    try {
      if (times.length > 0) add(await changedTimes(engine, range, times));
    } catch (error) {
      // They are found when all are looked through.
      scanAtMs = Number.NEGATIVE_INFINITY;
      throw error;
    }
    await lookThrough(range, hasTime);
    // How many each has is not known here: one account at a time.
    for (const share of inShares([...changed.values()].map((time) => ({ ...time, otps: bounds.otpsAtOnceMax })))) {
      if (!hasTime()) return;
      for (const accountId of share.accounts) changed.delete(keyOf({ ...share, accountId }));
      await summarize(engine, share).catch((error: unknown) => {
        // It is found when all are looked through again; until then reports read its rows.
        log.warn({ error: messageOf(error), ...share }, 'late changes of one-time passwords could not be summarized');
      });
    }
  }

  /** Part of all times with late changes, as far as there is time and room. */
  async function lookThrough(range: Range, hasTime: () => boolean): Promise<void> {
    const isDue = scanToMs === null && clock.monotonicMs() >= scanAtMs;
    if (scanToMs === null && !isDue) return;
    // Without late changes nothing is to be looked through, which is most of the time that a young store keeps.
    const noted = await notedRange(engine);
    const firstMs = Math.max(range.fromMs, noted.fromMs);
    if (isDue) scanToMs = Math.min(range.toMs, noted.toMs);
    while (scanToMs !== null && scanToMs > firstMs) {
      if (changed.size >= bounds.lateAtOnceMax || !hasTime()) return;
      const fromMs = Math.max(firstMs, scanToMs - bounds.scanSpanMs);
      const found = await changedTimes(engine, { fromMs, toMs: scanToMs }, null);
      add(found);
      // More of this part are found when these are summarized.
      if (found.length === bounds.lateAtOnceMax) return;
      scanToMs = fromMs;
    }
    scanToMs = null;
    scanAtMs = clock.monotonicMs() + bounds.scanEveryMs;
  }

  function add(times: readonly OtpTime[]): void {
    for (const time of times) changed.set(keyOf(time), time);
  }

  async function onward(hasTime: () => boolean): Promise<void> {
    const endMs = endOfOver();
    for (let atMs = await summarizedTo(); atMs < endMs && hasTime(); ) {
      const [fromMs, toMs] = [atMs, Math.min(endMs, atMs + bounds.windowMs)];
      // Before anything of it is read: what changes from now on is noted, whatever the clock says.
      late.summarizing(toMs);
      try {
        for (const share of inShares(await startedTimes(engine, fromMs, toMs))) {
          // Ten minutes are summarized as a whole, so that it gets on however long they take.
          const isNext = share.fromMs > atMs;
          atMs = share.fromMs;
          if (isNext && !hasTime()) return;
          await summarizeOrNote(share);
        }
        atMs = toMs;
      } finally {
        if (atMs > fromMs) await engine.insert('otp_summarized (summarized_to)', Buffer.from(tsvRow([atMs / 1_000])));
        doneToMs = atMs;
      }
    }
  }

  /**
   * What cannot be summarized twice is left as one that lacks a change: reports read its rows, and no other account waits.
   */
  async function summarizeOrNote(share: Share): Promise<void> {
    const times = share.accounts.map((accountId) => ({ ...share, accountId }));
    const key = times.map(keyOf).join(' ');
    try {
      await summarize(engine, share);
    } catch (error) {
      if (!failed.has(key)) {
        failed.add(key);
        throw error;
      }
      log.warn({ error: messageOf(error), ...share }, 'one-time passwords could not be summarized, reports read them');
      await late.noteAll(times);
    }
    failed.delete(key);
  }

  /** The end of the last ten minutes that are over for long enough. */
  const endOfOver = () => Math.floor((clock.nowMs() - bounds.settleMs) / spanMs) * spanMs;

  async function summarizedTo(): Promise<number> {
    if (doneToMs === null) {
      doneToMs = (await readSummarizedTo(engine)) ?? endOfOver();
      // Whatever the clock of an earlier process said.
      late.summarizing(doneToMs);
    }
    return Math.max(doneToMs, keptFromMs(historyDays, clock));
  }

  function begin(): void {
    if (running || stopped) return;
    running = true;
    run()
      .catch((error: unknown) => {
        if (!stopped) log.warn({ error: messageOf(error) }, 'one-time passwords could not be summarized, trying again');
      })
      .finally(() => {
        running = false;
      });
  }

  const cancel: Cancel = clock.every(bounds.everyMs, begin);
  return {
    run,
    stop() {
      stopped = true;
      cancel();
    },
  };
}

const keyOf = ({ accountId, livemode, fromMs }: OtpTime): string => `${accountId} ${livemode} ${fromMs}`;

const settings = (ms: number) =>
  `SETTINGS max_threads = 1, max_execution_time = ${ms / 1_000}, max_memory_usage = ${limits.reports.memoryBytesMax}`;

/** Look-ups of messages wait for it. */
function ask(engine: Engine, sql: string, params: Params = {}): Promise<Cell[][]> {
  return engine.rows(`${sql} ${settings(bounds.askMsMax)}`, params, bounds.answerMsMax, 'background');
}

/** In a store without summaries: from where its first one-time password was started; null without any. */
async function readSummarizedTo(engine: Engine): Promise<number | null> {
  const [row] = await ask(
    engine,
    `SELECT toUnixTimestamp(max(summarized_to)), (SELECT toUnixTimestamp(${tenMinutesSql('min(started_at)')}) FROM otps) FROM otp_summarized`,
  );
  const [to, first] = (row ?? []).map(Number);
  return (to || first || 0) * 1_000 || null;
}

/**
 * From the first to the last late change of all, of whatever account: ClickHouse knows both without reading rows. An empty
 * range: none.
 */
async function notedRange(engine: Engine): Promise<Range> {
  const [row] = await ask(
    engine,
    'SELECT toUnixTimestamp(min(ten_minutes)), toUnixTimestamp(max(ten_minutes)), count() > 0 FROM otp_late_changes',
  );
  const [firstS = 0, lastS = 0, hasAny = 0] = (row ?? []).map(Number);
  return hasAny === 0 ? { fromMs: 0, toMs: 0 } : { fromMs: firstS * 1_000, toMs: lastS * 1_000 + spanMs };
}

type Started = OtpTime & { readonly otps: number };

/** Where something was started, or a late change was noted. */
async function startedTimes(engine: Engine, fromMs: number, toMs: number): Promise<readonly Started[]> {
  const rows = await ask(
    engine,
    `SELECT account_id, livemode, toUnixTimestamp(ten_minutes), toUInt32(sum(n)) FROM (
       SELECT account_id, livemode, ${tenMinutesSql('started_at')} AS ten_minutes, count() AS n FROM otps
       WHERE started_at >= fromUnixTimestamp64Milli({fromMs:Int64}) AND started_at < fromUnixTimestamp64Milli({toMs:Int64})
       GROUP BY account_id, livemode, ten_minutes
       UNION ALL
       SELECT account_id, livemode, ten_minutes, 0 FROM otp_late_changes
       WHERE ten_minutes >= ${fromMs / 1_000} AND ten_minutes < ${toMs / 1_000}
     )
     GROUP BY account_id, livemode, ten_minutes ORDER BY ten_minutes, livemode`,
    { fromMs, toMs },
  );
  return rows.map((row) => ({ ...otpTimeOf(row), otps: Number(row[3]) }));
}

/** Of `noted`, or of all, those whose summary lacks a change. */
async function changedTimes(
  engine: Engine,
  { fromMs, toMs }: Range,
  noted: readonly OtpTime[] | null,
): Promise<readonly OtpTime[]> {
  const starts = [...new Set(noted?.map((time) => time.fromMs / 1_000))];
  const accounts = [...new Set(noted?.map(({ accountId }) => accountId))];
  const inRange = `ten_minutes >= ${fromMs / 1_000} AND ten_minutes < ${toMs / 1_000}`;
  const which =
    noted === null
      ? inRange
      : `${inRange} AND ten_minutes IN (${starts.join(', ')}) AND account_id IN {accounts:Array(String)}`;
  const rows = await ask(
    engine,
    `SELECT account_id, livemode, toUnixTimestamp(ten_minutes) FROM (${changedTimesSql(which)})
     ORDER BY ten_minutes DESC, livemode LIMIT ${bounds.lateAtOnceMax}`,
    { accounts },
  );
  return rows.map(otpTimeOf);
}

const otpTimeOf = ([accountId, livemode, fromS]: readonly Cell[]): OtpTime => ({
  accountId: accountId as string,
  livemode: livemode as boolean,
  fromMs: Number(fromS) * 1_000,
});

/** What one statement each summarizes, in the same order. */
function inShares(times: readonly Started[]): readonly Share[] {
  const shares: Share[] = [];
  let accounts: string[] = [];
  let otps = 0;
  let last: Started | null = null;
  for (const time of times) {
    const isSame = last?.fromMs === time.fromMs && last.livemode === time.livemode;
    otps += time.otps;
    if (!isSame || otps > bounds.otpsAtOnceMax || accounts.length === bounds.accountsAtOnceMax) {
      accounts = [];
      otps = time.otps;
      shares.push({ fromMs: time.fromMs, livemode: time.livemode, accounts });
    }
    accounts.push(time.accountId);
    last = time;
  }
  return shares;
}

/** Computes the summaries of these accounts and writes them. */
async function summarize(engine: Engine, { fromMs, livemode, accounts }: Share): Promise<void> {
  // Before the rows: a summary may include more changes than it says, never fewer.
  const changes = await ask(
    engine,
    `SELECT account_id, toUInt32(sum(changes)) FROM otp_late_changes
     WHERE ten_minutes = ${fromMs / 1_000} AND livemode = {livemode:Bool} AND account_id IN {accounts:Array(String)} GROUP BY account_id`,
    { livemode, accounts },
  );
  const noted = new Map(changes.map(([accountId, count]) => [accountId as string, Number(count)]));
  const included = accounts.map((accountId) => noted.get(accountId) ?? 0);
  const rows = await engine.octets(
    summarySql(fromMs, included),
    'TabSeparated',
    { livemode, accounts },
    bounds.answerMsMax,
    'background',
  );
  await engine.insert(`otp_summaries (${summaryColumns})`, rows);
}

const summaryColumns = `account_id, livemode, by_prefix, ten_minutes, late_changes, ${groupColumns.map((name) => `groups.${name}`).join(', ')}`;

const keys = groupColumns.slice(0, groupColumns.indexOf('otps'));

/**
 * One row for each account with all of its groups, and one with those by prefix; without groups where nothing was started.
 */
function summarySql(fromMs: number, included: readonly number[]): string {
  const ofShare = 'account_id IN {accounts:Array(String)} AND livemode = {livemode:Bool}';
  const each = eachOtp(ofShare, [{ fromMs, toMs: fromMs + spanMs }], 'true');
  const grouped = keys.map((name) =>
    name === 'prefix' ? "if(by_prefix, e.prefix, '') AS prefix" : `e.${name} AS ${name}`,
  );
  return `
  SELECT account_id, {livemode:Bool}, by_prefix, toDateTime(${fromMs / 1_000}, 'UTC'),
    transform(account_id, {accounts:Array(String)}, [${included.join(', ')}]::Array(UInt64), toUInt64(0)),
    ${groupColumns.map((name) => `all_${name}`).join(', ')}
  FROM (SELECT arrayJoin({accounts:Array(String)}) AS account_id, arrayJoin([false, true]) AS by_prefix) AS asked
  LEFT JOIN (
    SELECT account AS account_id, by_prefix, ${groupColumns.map((name) => `groupArray(${name}) AS all_${name}`).join(', ')}
    FROM (
      SELECT account, by_prefix, ${grouped.join(', ')}, count() AS otps, sum(e.sends) AS sends,
        sumMapIf([e.took_bucket], [toUInt32(1)], e.is_verified) AS took, took.1 AS took_buckets, took.2 AS took_counts
      FROM (${each}) AS e ARRAY JOIN [false, true] AS by_prefix
      GROUP BY account, by_prefix, ${keys.join(', ')}
      ORDER BY account, by_prefix, ${keys.join(', ')}
    )
    GROUP BY account, by_prefix
  ) AS summarized USING (account_id, by_prefix)
  ${settings(bounds.statementMsMax)}`;
}

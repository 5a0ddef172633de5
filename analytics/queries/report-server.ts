// Runs reports and slices of exports, and holds their answers until they are fetched in parts, so that the process that passes one on to a
// client holds one part at a time. A report waits for other reports only, takes one thread, and is bounded in time,
// rows and memory; the number of reports held is bounded, with a share for each account.
import type { Bus } from '../../cluster/bus/connect.ts';
import { type Cancel, type Clock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { secretBytes } from '../../platform/random.ts';
import type { SharedBound } from '../../platform/shared-bound.ts';
import { type ReportPart, type RunReport, type RunReportReply, reportPartSubject } from '../contract.ts';
import { reportOf } from '../reports/catalogue.ts';
import { type Report, type ReportQuery, type Summarized, nothingSummarized } from '../reports/report.ts';
import { sizeOf, statementOf, summarizedStatement } from '../reports/statement.ts';
import { type Ask, type ExportSlice, exportSlice } from '../sql/export-slice.ts';
import { nativeFormats, publicTable } from '../sql/public-tables.ts';
import { type Engine, hasTooManyRows } from '../store/engine.ts';
import { unavailable } from './up-to-date.ts';

export type ReportServer = {
  run(query: RunReport): Promise<RunReportReply>;
  /** Drops what is held. */
  stop(): void;
};

type Held = { readonly octets: Buffer; readonly drop: () => void; cancel: Cancel };

const { reports: bounds } = limits;

export function serveReports(bus: Bus, engine: Engine, places: SharedBound, clock: Clock): ReportServer {
  const held = new Map<string, Held>();
  const subject = reportPartSubject(secretBytes(9).toString('base64url'));
  const parts = bus.connection.subscribe(subject, {
    callback(_error, msg) {
      msg.respond(partOf(msg.json<ReportPart>()));
    },
  });

  function partOf({ id, part }: ReportPart): Uint8Array {
    const report = held.get(id);
    if (report === undefined) return nothing;
    const from = part * bounds.partBytes;
    const octets = report.octets.subarray(from, from + bounds.partBytes);
    if (from + bounds.partBytes >= report.octets.length) report.drop();
    else hold(report);
    return octets;
  }

  /** From now on, until the next part is asked for. */
  function hold(report: Held): void {
    report.cancel();
    report.cancel = clock.after(bounds.heldMs, report.drop);
  }

  return {
    async run(query) {
      const read = readerOf(query);
      if (read === null) return unavailable('away', 'this node has no such report or table');
      const { accountId } = query;
      const taken = places.take(accountId);
      if (taken !== 'taken') return { result: 'no_place', why: taken };
      const endMs = clock.monotonicMs() + bounds.deadlineMs;
      // Who waits for a report goes before an export, which asks again and again.
      const turn = 'table' in query ? 'background' : 'account';
      const ask: Ask = ({ sql, params }, format) =>
        engine.octets(sql, format, params, Math.max(1, endMs - clock.monotonicMs()), turn);
      let found: ExportSlice | 'too_large';
      try {
        found = await read(ask);
      } catch (error) {
        const hasTooMany = hasTooManyRows(error);
        const isLate = clock.monotonicMs() > endMs - bounds.statementMsMax;
        const tooMuch = hasTooMany || isLate ? null : await tooMuchRead(query, ask);
        places.giveBack(accountId);
        if (hasTooMany) return { result: 'too_large' };
        if (tooMuch !== null) return { result: 'too_large', read: tooMuch };
        log.warn({ report: nameOf(query), error: messageOf(error) }, 'a report could not be made');
        return unavailable('away', 'the event store could not answer in time');
      }
      if (found === 'too_large') {
        places.giveBack(accountId);
        return { result: 'too_large' };
      }
      const { octets, ...rest } = found;
      const id = secretBytes(12).toString('base64url');
      const drop = () => {
        if (!held.delete(id)) return;
        entry.cancel();
        places.giveBack(accountId);
      };
      const entry: Held = { octets, drop, cancel: () => {} };
      held.set(id, entry);
      hold(entry);
      if (octets.length === 0) drop();
      return { result: 'found', subject, id, parts: Math.ceil(octets.length / bounds.partBytes), ...rest };
    },
    stop() {
      try {
        parts.unsubscribe();
      } catch (error) {
        ignoring(error, 'the connection is gone and its subscriptions with it');
      }
      for (const { drop } of held.values()) drop();
    },
  };
}

function readerOf(query: RunReport): ((ask: Ask) => Promise<ExportSlice | 'too_large'>) | null {
  if ('table' in query) {
    const table = publicTable(query.table);
    return table === undefined ? null : (ask) => exportSlice(ask, table, query);
  }
  const report = reportOf(query.report);
  if (report === undefined) return null;
  return async (ask) => {
    const statement = statementOf(report, query, await summarizedFor(report, query, ask));
    return { octets: await ask(statement, nativeFormats[query.format]) };
  };
}

/** What the report reads from summaries. */
async function summarizedFor(report: Report, query: ReportQuery, ask: Ask): Promise<Summarized> {
  const statement = summarizedStatement(report, query);
  if (statement === null) return nothingSummarized;
  const answer = (await ask(statement, nativeFormats.json)).toString();
  return report.summarized?.read(answer) ?? nothingSummarized;
}

/** What a report that did not end in time had to read, when it was too much. */
async function tooMuchRead(query: RunReport, ask: Ask): Promise<string | null> {
  if ('table' in query) return null;
  const report = reportOf(query.report);
  if (report?.size === undefined) return null;
  const { of, max } = report.size;
  try {
    const counting = sizeOf(report, query, await summarizedFor(report, query, ask));
    if (counting === null) return null;
    type Counted = { readonly n: number; readonly groups: number };
    const { n, groups } = JSON.parse((await ask(counting, nativeFormats.json)).toString()) as Counted;
    // Of both together no more can be read.
    const [ofRows, ofGroups] = [n / max, groups / bounds.readGroupsMax];
    if (ofRows + ofGroups <= 1) return null;
    return ofRows >= ofGroups ? `${n} ${of}` : `${groups} groups of ${of}`;
  } catch (error) {
    ignoring(error, 'the report failed before');
    return null;
  }
}

const nameOf = (query: RunReport): string => ('table' in query ? `export of ${query.table}` : query.report);

const nothing = new Uint8Array(0);

// Runs reports and holds their answers until they are fetched in parts, so that the process that passes one on to a
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
import { type Statement, statementOf } from '../reports/statement.ts';
import { exportStatement } from '../sql/export-statement.ts';
import { nativeFormats } from '../sql/public-tables.ts';
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
      const statement = statementFor(query);
      if (statement === null) return unavailable('away', 'this node has no such report or table');
      const { accountId } = query;
      const taken = places.take(accountId);
      if (taken !== 'taken') return { result: 'no_place', why: taken };
      const { sql, params } = statement;
      let octets: Buffer;
      try {
        octets = await engine.octets(sql, nativeFormats[query.format], params, bounds.deadlineMs, 'background');
      } catch (error) {
        places.giveBack(accountId);
        if (hasTooManyRows(error)) return { result: 'too_large' };
        log.warn({ report: nameOf(query), error: messageOf(error) }, 'a report could not be made');
        return unavailable('away', 'the event store could not answer in time');
      }
      const id = secretBytes(12).toString('base64url');
      const drop = () => {
        if (!held.delete(id)) return;
        entry.cancel();
        places.giveBack(accountId);
      };
      const entry: Held = { octets, drop, cancel: () => {} };
      held.set(id, entry);
      hold(entry);
      return { result: 'found', subject, id, parts: Math.max(1, Math.ceil(octets.length / bounds.partBytes)) };
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

function statementFor(query: RunReport): Statement | null {
  if ('table' in query) return exportStatement(query);
  const report = reportOf(query.report);
  return report === undefined ? null : statementOf(report, query);
}

const nameOf = (query: RunReport): string => ('table' in query ? `export of ${query.table}` : query.report);

const nothing = new Uint8Array(0);

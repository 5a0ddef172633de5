// Asks every thread that serves carriers for a report over core NATS. Nothing is durable; no answer means that no
// thread serves a carrier.
import type { Msg, Subscription } from '@nats-io/transport-node';
import { bindStates } from '../../model/carrier-state.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { Bus } from '../bus/connect.ts';
import { carrierReportsSubject } from '../bus/subjects.ts';
import type { BindReport, CarrierReport, CarriersReport } from './contract.ts';

/** Answers each request with `report`, until the subscription ends. */
export function answerForCarriers(bus: Bus, thread: string, report: () => readonly CarrierReport[]): Subscription {
  return bus.connection.subscribe(carrierReportsSubject, {
    callback: (error, question) => {
      if (error !== null) return ignoring(error, 'requests for carrier reports cannot be received at the moment');
      question.respond(JSON.stringify({ v: 1, thread, carriers: report() } satisfies CarriersReport));
    },
  });
}

/** One entry per carrier and thread that serves it. Empty without answers. */
export async function askForCarriers(bus: Bus): Promise<CarrierReport[]> {
  const { reportsWithinMs, reportsStallMs, reportsMax } = limits.operations;
  const reports: CarrierReport[] = [];
  try {
    const answers = await bus.connection.requestMany(carrierReportsSubject, '', {
      strategy: 'stall',
      maxWait: reportsWithinMs,
      stall: reportsStallMs,
      maxMessages: reportsMax,
    });
    for await (const answer of answers) reports.push(...readReport(answer));
  } catch (error) {
    ignoring(error, 'no thread answers for carriers');
  }
  return reports;
}

function readReport(answer: Msg): readonly CarrierReport[] {
  try {
    const read = answer.json<Partial<CarriersReport>>();
    return read.v === 1 && Array.isArray(read.carriers) ? read.carriers : [];
  } catch (error) {
    ignoring(error, 'a carrier report cannot be read');
    return [];
  }
}

const rankOf = ({ state }: BindReport) => {
  const at = (bindStates as readonly string[]).indexOf(state);
  return at === -1 ? bindStates.length : at;
};

/** One report per bind: when several nodes report it, the one with the most relevant state. */
export function mergedBinds(reports: readonly CarrierReport[]): BindReport[] {
  const best = new Map<number, BindReport>();
  for (const bind of reports.flatMap((report) => report.binds)) {
    const before = best.get(bind.bind);
    if (before === undefined || rankOf(bind) < rankOf(before)) best.set(bind.bind, bind);
  }
  return [...best.values()].sort((one, other) => one.bind - other.bind);
}

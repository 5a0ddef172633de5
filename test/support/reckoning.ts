// The reckoning after a run: every promised message against what the far ends took, what the API tells and what
// ClickHouse holds. It finds; what a fault may excuse is for the test to say.
import { isTerminal } from '../../model/status.ts';
import type { MessageStatus } from '../../model/status.ts';
import { until } from '../../platform/deadline.ts';
import type { FarEnds } from './far-ends.ts';
import type { RecordedMessages } from './recorded-messages.ts';
import type { SmsClient, SmsView } from './sms-client.ts';
import type { Promised } from './traffic.ts';

export type Reckoning = {
  /** How many messages are in which status, by the API. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Promised and not in the API's list; two messages for one key would be in `strangers`. */
  readonly missing: readonly string[];
  readonly strangers: readonly string[];
  /** No terminal status, or more than one that is not `unknown`. */
  readonly open: readonly string[];
  readonly endedTwice: readonly string[];
  /** At the far ends: never, and more than once. */
  readonly neverSubmitted: readonly string[];
  readonly submittedTwice: readonly string[];
  /** `unknown` although the carrier took it, and settled otherwise although it did not. */
  readonly unsettled: readonly string[];
  readonly inventedEnds: readonly string[];
};

/** What a run without an excuse comes to. */
export const nothingWrong = {
  missing: [],
  strangers: [],
  open: [],
  endedTwice: [],
  neverSubmitted: [],
  submittedTwice: [],
  unsettled: [],
  inventedEnds: [],
} as const;

export function reckon(promised: readonly Promised[], farEnds: FarEnds, views: readonly SmsView[]): Reckoning {
  const byId = new Map(views.map((view) => [view.id, view]));
  const keys = new Set(promised.map((each) => each.nonce));
  const ids = new Set(promised.map((each) => each.id));
  const counts = new Map(promised.map((each) => [each.nonce, farEnds.countOf(each.nonce)]));
  const nonces = (test: (each: Promised, view: SmsView | undefined, count: number) => boolean) =>
    promised.filter((each) => test(each, byId.get(each.id), counts.get(each.nonce) ?? 0)).map((each) => each.nonce);
  const statuses: Record<string, number> = {};
  for (const { id } of promised) {
    const status = byId.get(id)?.status ?? 'missing';
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return {
    statuses,
    missing: nonces((_, view) => view === undefined),
    strangers: views
      .filter((view) => keys.has(view.client_reference ?? '') && !ids.has(view.id))
      .map((view) => view.id),
    open: nonces((_, view) => view !== undefined && !isEnded(view)),
    endedTwice: nonces((_, view) => view !== undefined && endsOf(view) > 1),
    neverSubmitted: nonces((_each, _view, count) => count === 0),
    submittedTwice: nonces((_each, _view, count) => count > 1),
    unsettled: nonces((_, view, count) => view?.status === 'unknown' && count > 0),
    inventedEnds: nonces((_, view, count) => view !== undefined && count === 0 && view.status === 'delivered'),
  };
}

/** Waits until every promised message has a terminal status and, where the carrier took it, not `unknown`. */
export async function settledReckoning(
  client: SmsClient,
  farEnds: FarEnds,
  promised: readonly Promised[],
  limitMs = 30_000,
): Promise<Reckoning> {
  let last: Reckoning | null = null;
  const look = async () => {
    last = reckon(promised, farEnds, await client.list());
    return last.open.length + last.missing.length + last.unsettled.length === 0;
  };
  // What is not settled by then is for the test to see, with names.
  await until('every message settled', look, { limitMs, everyMs: 500 }).catch(() => false);
  return last as unknown as Reckoning;
}

/** The same messages as ClickHouse has them: status by message, rows once, hourly counts exact. */
export function expectRecorded(recorded: RecordedMessages, promised: readonly Promised[], reckoning: Reckoning) {
  const statuses: Record<string, number> = {};
  for (const { id } of promised) {
    const status = recorded.messages.get(id)?.status ?? 'missing';
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  return {
    actual: { statuses, repeatedRows: recorded.repeatedRows, hourly: recorded.countedHourly },
    expected: { statuses: reckoning.statuses, repeatedRows: 0, hourly: recorded.rowsTotal },
  };
}

function isEnded(view: SmsView): boolean {
  return isTerminal(view.status as MessageStatus);
}

/** Terminal entries of a history; an `unknown` that was settled later is none. */
function endsOf(view: SmsView): number {
  return view.history.filter(({ status }) => isTerminal(status as MessageStatus) && status !== 'unknown').length;
}

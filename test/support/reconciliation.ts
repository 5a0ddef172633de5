// The reconciliation after a run: every accepted message against what the SMSC peers received, what the API reports and
// what ClickHouse contains. The test decides which deviations a fault may excuse.
import { type MessageStatus, isTerminal } from '../../model/status.ts';
import { DeadlineExceeded } from '../../platform/deadline.ts';
import { patienceMs, until } from './until.ts';
import { ignoring } from '../../platform/errors.ts';
import type { SmscPeers } from './smsc-peers.ts';
import type { RecordedMessages } from './recorded-messages.ts';
import type { SmsClient, SmsView } from './sms-client.ts';
import type { Promised } from './traffic.ts';

/**
 * A receipt for a submit that is not in memory is parked for 5 s and then for 30 s; by then the record was redelivered
 * (ack_wait 10 s), is `unknown`, and the receipt settles it.
 */
export const lateSettlementMs = 50_000;

const namesMax = 5;

/** Lists hold nonces (or ids), the first few of them: one name is enough to search the logs for. */
export type Reconciliation = {
  /** How many messages are in which status, by the API. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Accepted and not in the API's list. */
  readonly missing: readonly string[];
  /** Messages of the API's list with an accepted message's reference and another id: a second message for one key. */
  readonly foreigners: readonly string[];
  /** No terminal status yet. */
  readonly open: readonly string[];
  /** More than one terminal status, `unknown` not counted. */
  readonly endedTwice: readonly string[];
  /** Never accepted by its carrier, and neither `unknown` nor `rejected`. */
  readonly lost: readonly string[];
  /** More than once at its carrier. */
  readonly submittedTwice: readonly string[];
  /** Still `unknown` although the carrier accepted all of it. */
  readonly unsettled: readonly string[];
};

/** The expected result of a run. */
export const assertClean = {
  missing: [],
  foreigners: [],
  open: [],
  endedTwice: [],
  lost: [],
  submittedTwice: [],
  unsettled: [],
} as const;

export function reconcile(
  promised: readonly Promised[],
  smscPeers: SmscPeers,
  views: readonly SmsView[],
): Reconciliation {
  const byId = new Map(views.map((view) => [view.id, view]));
  const references = new Set(promised.map((each) => each.nonce));
  const ids = new Set(promised.map((each) => each.id));
  const statuses: Record<string, number> = {};
  const found = { missing: [], foreigners: [], open: [], endedTwice: [], lost: [], submittedTwice: [], unsettled: [] };
  const put = (list: string[], name: string, isSo: boolean) => {
    if (isSo && list.length < namesMax) list.push(name);
  };
  for (const each of promised) {
    const { id, nonce } = each;
    const view = byId.get(id);
    const status = view?.status ?? 'missing';
    const count = smscPeers.countOf(nonce);
    statuses[status] = (statuses[status] ?? 0) + 1;
    put(found.missing, nonce, view === undefined);
    put(found.open, nonce, view !== undefined && !isTerminal(view.status as MessageStatus));
    put(found.endedTwice, nonce, view !== undefined && endsOf(view) > 1);
    put(found.lost, nonce, count === 0 && status !== 'unknown' && status !== 'rejected');
    put(found.submittedTwice, nonce, count > 1);
    put(found.unsettled, nonce, status === 'unknown' && smscPeers.hasWhole(each.carrier, each.body.to));
  }
  for (const view of views) {
    put(found.foreigners, view.id, references.has(view.client_reference ?? '') && !ids.has(view.id));
  }
  return { statuses, ...found };
}

/**
 * Waits until every accepted message has a terminal status and, where the carrier accepted it, not `unknown`. The list
 * of thousands of messages costs the system seconds of work: it is read when the newest one that was not settled is.
 */
export async function settledReconciliation(
  { client, smscPeers }: { readonly client: SmsClient; readonly smscPeers: SmscPeers },
  promised: readonly Promised[],
  limitMs = patienceMs,
): Promise<Reconciliation> {
  let last: Reconciliation | null = null;
  let waitsFor = promised.at(-1);
  const look = async () => {
    const views = await client.list();
    last = reconcile(promised, smscPeers, views);
    const byId = new Map(views.map((view) => [view.id, view]));
    waitsFor = promised.findLast((each) => !isSettled(each, smscPeers, byId.get(each.id)));
    return waitsFor === undefined;
  };
  const lookOrWait = async () => {
    if (waitsFor !== undefined) {
      const { status, json } = await client.call('GET', `/v1/sms/${waitsFor.id}`);
      if (status !== 200 || !isSettled(waitsFor, smscPeers, json as unknown as SmsView)) return false;
    }
    return look();
  };
  try {
    await until('every message settled', lookOrWait, { limitMs, everyMs: 250 });
  } catch (error) {
    if (!(error instanceof DeadlineExceeded)) throw error;
    ignoring(error, 'what is not settled by now is for the test to see, by name');
    await look();
  }
  return last as unknown as Reconciliation;
}

/** None of the deviations of a reconciliation that pass with time. */
function isSettled(each: Promised, smscPeers: SmscPeers, view: SmsView | undefined): boolean {
  if (view === undefined || !isTerminal(view.status as MessageStatus)) return false;
  if (view.status === 'unknown') return !smscPeers.hasWhole(each.carrier, each.body.to);
  return view.status === 'rejected' || smscPeers.countOf(each.nonce) > 0;
}

/** Messages of which a carrier got more than it should have: a segment twice, or another text. */
export function garbledAt(smscPeers: SmscPeers, promised: readonly Promised[], delivered: (each: Promised) => boolean) {
  const taken = Map.groupBy(
    Object.values(smscPeers.carriers).flatMap((simulator) => simulator.messages()),
    (message) => message.destination,
  );
  const isGarbled = (each: Promised) => {
    const copies = taken.get(each.body.to.slice(1)) ?? [];
    return copies.length > 1 || (delivered(each) && copies[0]?.text !== each.body.message);
  };
  return promised.filter(isGarbled).slice(0, namesMax);
}

/** The same messages as ClickHouse has them: status by message, rows once, and what reports count. */
export function expectRecorded(
  recorded: RecordedMessages,
  promised: readonly Promised[],
  reconciliation: Reconciliation,
) {
  const statuses: Record<string, number> = {};
  for (const { id } of promised) {
    const status = recorded.messages.get(id)?.status ?? 'missing';
    statuses[status] = (statuses[status] ?? 0) + 1;
  }
  const wereUnknown = promised.filter(({ id }) =>
    recorded.messages.get(id)?.history.some(({ status }) => status === 'unknown'),
  ).length;
  return {
    /** Also those that a receipt settled afterwards. */
    wereUnknown,
    actual: { statuses, repeatedRows: recorded.repeatedRows },
    expected: { statuses: reconciliation.statuses, repeatedRows: 0 },
  };
}

/** Terminal entries of a history; an `unknown` that was settled later is none. */
function endsOf(view: SmsView): number {
  return view.history.filter(({ status }) => isTerminal(status as MessageStatus) && status !== 'unknown').length;
}

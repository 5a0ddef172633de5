// When messages were delivered, as of everything that EVENTS holds: a receipt that came before a click must not be missed
// because it is not in ClickHouse yet. A message that was delivered stays so: a preview and the tap after it ask once. Of a
// carrier that sends no receipts (it has none, or `registered_delivery` asks for none) a missing one says nothing.
import { type MessageState, foldEvents } from '../../model/fold.ts';
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { RotatingMap } from '../../platform/rotating-map.ts';
import { type RecordedEvents, eventsOfMany } from '../queries/recorded-events.ts';
import type { UpToDate } from '../queries/up-to-date.ts';
import type { Unflushed } from '../recorder/batch.ts';
import { type Engine, slowRows } from '../store/engine.ts';
import { type CodeOwner, inOneThread } from './click-rows.ts';

const { deliveredHeldMs, deliveredHeldMax, receiptSendersHeld, receiptsAskedEveryMs } = limits.clicks;
const weekMs = 604_800_000;

type Sources = {
  readonly engine: Engine;
  readonly recorded: RecordedEvents;
  readonly unflushed: Unflushed;
  readonly upToDate: UpToDate;
  readonly clock: Clock;
};

/** When a message was delivered, in ms since the epoch; null: its receipt is to come. A message without one to come is missing. */
export type Receipts = ReadonlyMap<string, number | null>;

/** By message id; rejects while it is not known. */
export function receiptsOver({ engine, recorded, unflushed, upToDate, clock }: Sources) {
  const held = new RotatingMap<string, number>(deliveredHeldMs, deliveredHeldMax / 2, clock);
  const sendsReceipts = receiptSenders({ engine, unflushed, clock });
  return async (messages: readonly CodeOwner[]): Promise<Receipts> => {
    const receipts = new Map<string, number | null>();
    const open = new Map<string, CodeOwner>();
    for (const message of messages) {
      const atMs = held.get(message.messageId);
      if (atMs === undefined) open.set(message.messageId, message);
      else receipts.set(message.messageId, atMs);
    }
    const unknown = [...open.values()];
    for (let from = 0; from < unknown.length; from += limits.queries.messagesPerReadMax) {
      const asked = unknown.slice(from, from + limits.queries.messagesPerReadMax);
      const answer = await upToDate.surely(() => eventsOfMany(recorded, unflushed, asked));
      if (answer.result !== 'sure') throw new Error(`receipts are not known: ${answer.detail}`);
      // Of a message without events they have expired, and its receipt with them.
      for (const state of answer.value.map(foldEvents)) {
        if (state === null || !(await hasReceipt(state, sendsReceipts))) continue;
        receipts.set(state.first.messageId, state.deliveredAtMs);
        if (state.deliveredAtMs !== null) held.set(state.first.messageId, state.deliveredAtMs);
      }
    }
    return receipts;
  };
}

type SendsReceipts = (carrier: string, aroundMs: number) => Promise<boolean>;

/** It has come or is to come. */
async function hasReceipt(state: MessageState, sendsReceipts: SendsReceipts): Promise<boolean> {
  // What no carrier has taken yet can be opened by nobody who got it.
  if (state.deliveredAtMs !== null || state.submittedAtMs === null) return true;
  return sendsReceipts(state.carrier ?? '', state.acceptedAtMs);
}

/** Whether a carrier has delivered, by its receipts, messages that were accepted in the week of that time, or in one beside it. */
function receiptSenders({ engine, unflushed, clock }: Pick<Sources, 'engine' | 'unflushed' | 'clock'>): SendsReceipts {
  const known = new Map<string, { readonly sends: boolean; readonly askAtMs: number }>();

  function isHeld(carrier: string): boolean {
    for (const { messageId } of unflushed.messages()) {
      if (unflushed.eventsOf(messageId).some((event) => event.kind === 'delivered' && event.carrier === carrier)) {
        return true;
      }
    }
    return false;
  }

  async function isCounted(carrier: string, week: number): Promise<boolean> {
    const rows = await slowRows(
      engine,
      `SELECT 1 FROM latency_counts WHERE carrier = {carrier:String} AND stage = 'submitted_to_delivered'
         AND slot >= {fromS:UInt32} AND slot < {toS:UInt32} LIMIT 1
       ${inOneThread}`,
      { carrier, fromS: ((week - 1) * weekMs) / 1_000, toS: ((week + 2) * weekMs) / 1_000 },
    );
    return rows.length > 0;
  }

  return async (carrier, aroundMs) => {
    const week = Math.max(1, Math.floor(aroundMs / weekMs));
    const key = `${week} ${carrier}`;
    const before = known.get(key);
    if (before !== undefined && clock.monotonicMs() < before.askAtMs) return before.sends;
    const sends = isHeld(carrier) || (await isCounted(carrier, week));
    if (known.size >= receiptSendersHeld) known.clear();
    known.set(key, { sends, askAtMs: clock.monotonicMs() + receiptsAskedEveryMs });
    return sends;
  };
}

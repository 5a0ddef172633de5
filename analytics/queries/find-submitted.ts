// Finds the submit that a receipt is about, for a carrier actor that no longer holds it. Carriers' ids are short and
// repeat, so id and recipient must both match, and the newest submit counts; so nothing is found while events wait to
// be recorded. The table sms_submits serves it: one or two granules are read of each part that has the id. After an
// outage many receipts arrive at once and are looked up in batches; those that would wait too long are refused, and the
// actor parks them and asks again.
import { canonical } from '../../model/carrier-message-id.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { FindSubmitted, FindSubmittedReply } from '../contract.ts';
import type { Engine } from '../store/engine.ts';
import { eventOfSubmit, submitColumns } from '../store/submit-row.ts';
import { submitsKeptMs } from '../store/retention.ts';
import { batchLoader } from './batch-loader.ts';
import type { Unflushed } from '../recorder/batch.ts';
import type { UpToDate } from './up-to-date.ts';

type SubmittedSearch = (query: FindSubmitted) => Promise<FindSubmittedReply>;

export function submittedSearch(
  engine: Engine,
  unflushed: Unflushed,
  upToDate: UpToDate,
  clock: Clock = systemClock,
): SubmittedSearch {
  const newest = batchLoader<FindSubmitted, DeliveryEvent | null>(
    limits.queries.submitsPerReadMax,
    async (queries) => {
      const byRecipient = new Map<string, DeliveryEvent[]>();
      for (const { recipients } of queries) for (const each of recipients) byRecipient.set(each, []);
      for (const { recipient, messageId } of unflushed.messages()) {
        byRecipient.get(recipient)?.unshift(...unflushed.eventsOf(messageId).toReversed());
      }
      for (const event of await recordedFor(queries)) byRecipient.get(event.recipient)?.push(event);
      return queries.map((query) => likeliest(byRecipient, query));
    },
    null,
    clock,
  );

  return async (query) => {
    const looked = await upToDate.surely(() => newest(query));
    if (looked.result === 'unavailable') return looked;
    const { value: submitted, recordedTo } = looked;
    return submitted === null ? { result: 'none', recordedTo } : { result: 'found', recordedTo, submitted };
  };

  /** The newest submit of each carrier, id and recipient, newest first. */
  async function recordedFor(queries: readonly FindSubmitted[]): Promise<DeliveryEvent[]> {
    const carriers = [...new Set(queries.map(({ carrier }) => carrier))];
    const ids = [...new Set(queries.flatMap(({ carrierMessageIds }) => carrierMessageIds))];
    const recipients = [...new Set(queries.flatMap((each) => each.recipients))];
    const rows = await engine.rows(
      `SELECT ${submitColumns} FROM sms_submits
       WHERE carrier IN {carriers:Array(String)} AND submit_key IN {ids:Array(String)}
         AND recipient IN {recipients:Array(String)} AND at > fromUnixTimestamp64Milli({sinceMs:Int64})
       ORDER BY at DESC LIMIT 1 BY carrier, submit_key, recipient
       SETTINGS max_threads = 1, optimize_move_to_prewhere = 0, merge_tree_coarse_index_granularity = 4`,
      { carriers, ids, recipients, sinceMs: clock.nowMs() - submitsKeptMs },
    );
    return rows.map(eventOfSubmit);
  }
}

/** The match of the first id that has one: the id as written takes precedence over another reading, however new. */
function likeliest(
  byRecipient: ReadonlyMap<string, readonly DeliveryEvent[]>,
  { carrier, recipients, carrierMessageIds }: FindSubmitted,
): DeliveryEvent | null {
  for (const id of carrierMessageIds) {
    for (const recipient of recipients) {
      const found = byRecipient.get(recipient)?.find((event) => isSubmitOf(event, carrier, id));
      if (found !== undefined) return found;
    }
  }
  return null;
}

function isSubmitOf(event: DeliveryEvent, carrier: string, id: string): boolean {
  return (
    event.kind === 'submitted' &&
    event.carrier === carrier &&
    event.carrierMessageId !== null &&
    canonical(event.carrierMessageId) === id
  );
}

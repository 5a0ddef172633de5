// Answers "which submit is this receipt about?" for a carrier actor whose memory does not reach back to it. Carriers'
// ids are short and come again, so the recipient decides first and the id only among his messages; the newest submit
// counts, and so nothing is found either while events wait to be recorded. After an outage receipts come in floods:
// they are looked up together.
import { canonical } from '../../model/carrier-message-id.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { FindSubmitted, FindSubmittedReply } from '../contract.ts';
import type { Engine } from '../store/engine.ts';
import { eventColumns, eventOfRow } from '../store/event-row.ts';
import { together } from './together.ts';
import type { Unflushed } from './unflushed.ts';
import type { UpToDate } from './up-to-date.ts';

/** A carrier reports within the validity, and what it reports may then wait for this store. */
const lookBackMs =
  limits.message.validitySecondsMax * 1_000 + limits.message.receiptGraceMs + limits.carrier.parkedReceiptAgeMsMax;

export type SubmittedSearch = (question: FindSubmitted) => Promise<FindSubmittedReply>;

export function submittedSearch(
  engine: Engine,
  unflushed: Unflushed,
  upToDate: UpToDate,
  clock: Clock = systemClock,
): SubmittedSearch {
  const newest = together<FindSubmitted, DeliveryEvent | null>(limits.queries.messagesPerReadMax, async (questions) => {
    const byRecipient = new Map<string, DeliveryEvent[]>();
    for (const { recipients } of questions) for (const each of recipients) byRecipient.set(each, []);
    for (const { recipient, messageId } of unflushed.messages()) {
      byRecipient.get(recipient)?.unshift(...unflushed.eventsOf(messageId).toReversed());
    }
    for (const event of await recordedFor([...byRecipient.keys()])) byRecipient.get(event.recipient)?.push(event);
    return questions.map((question) => likeliest(byRecipient, question));
  });

  return async (question) => {
    const looked = await upToDate.surely(() => newest(question));
    if (looked.result === 'unavailable') return looked;
    const { value: submitted, recordedTo } = looked;
    return submitted === null ? { result: 'none', recordedTo } : { result: 'found', recordedTo, submitted };
  };

  /** The newest submits to each of them, newest first. */
  async function recordedFor(recipients: readonly string[]): Promise<DeliveryEvent[]> {
    const rows = await engine.rows(
      `SELECT ${eventColumns} FROM sms_events
       WHERE recipient IN {recipients:Array(String)} AND kind = 'submitted'
         AND accepted_at > fromUnixTimestamp64Milli({sinceMs:Int64})
       ORDER BY at DESC LIMIT ${limits.queries.submitsOfRecipientMax} BY recipient`,
      { recipients, sinceMs: clock.nowMs() - lookBackMs },
    );
    return rows.map(eventOfRow);
  }
}

/** By the first id that fits any: the id as it is written goes before another reading of it, however new that is. */
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

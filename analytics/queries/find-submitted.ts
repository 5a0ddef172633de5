// Answers "which submit is this receipt about?" for a carrier actor whose memory does not reach back to it. Carriers'
// ids are short and come again, so the recipient decides first and the id only among his messages.
import { canonical } from '../../model/carrier-message-id.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import type { FindSubmitted, FindSubmittedReply } from '../contract.ts';
import type { Engine } from '../store/engine.ts';
import { eventColumns, eventOfRow } from '../store/event-row.ts';
import type { Unflushed } from './unflushed.ts';

/** A carrier's validity ends after days; a receipt that comes later than this settles nothing any more. */
const lookBackMs = limits.message.validitySecondsMax * 1_000 + 2 * 86_400_000;

export async function findSubmitted(
  engine: Engine,
  unflushed: Unflushed,
  question: FindSubmitted,
  clock: Clock = systemClock,
): Promise<FindSubmittedReply> {
  const { carrier, recipient, carrierMessageIds } = question;
  const fits = (event: DeliveryEvent) =>
    event.kind === 'submitted' &&
    event.carrier === carrier &&
    event.recipient === recipient &&
    event.carrierMessageId !== null &&
    carrierMessageIds.includes(canonical(event.carrierMessageId));

  for (const { messageId, recipient: heldFor } of unflushed.messages()) {
    const held = heldFor === recipient ? unflushed.eventsOf(messageId).findLast(fits) : undefined;
    if (held !== undefined) return { submitted: held };
  }
  const rows = await engine.rows(
    `SELECT ${eventColumns} FROM sms_events
     WHERE recipient = {recipient:String} AND carrier = {carrier:String} AND kind = 'submitted'
       AND accepted_at > fromUnixTimestamp64Milli({sinceMs:Int64})
     ORDER BY at DESC LIMIT ${limits.queries.submitsOfRecipientMax}`,
    { recipient, carrier, sinceMs: clock.nowMs() - lookBackMs },
  );
  return { submitted: rows.map(eventOfRow).find(fits) ?? null };
}

// The event of a submit from a row of sms_submits, which has most of it as one text (schema/013-callbacks.sql).
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { Cell } from './engine.ts';
import { eventOfRow } from './event-row.ts';
import { tsvCells } from './tab-separated.ts';

/** What `eventOfSubmit` takes, in this order. */
export const submitColumns = 'toUnixTimestamp64Milli(at), message_id, carrier, recipient, row';

export function eventOfSubmit([atMs, messageId, carrier, recipient, row]: readonly Cell[]): DeliveryEvent {
  const [eventId, accountId, keyId, hop, attempt, segment, segments, carrierMessageId, error, epoch, ...facts] =
    tsvCells(row as string) as string[];
  const [category, sender, encoding, livemode, clientReference, campaignId, variantId, templateId, ...more] = facts;
  // A row of an earlier version has no callback.
  const [acceptedAt, validUntil, scheduledAt, callback] = more;
  return eventOfRow(
    [
      [eventId, 'submitted', atMs, messageId, accountId, keyId, carrier],
      [hop, attempt, segment, segments].map(Number),
      [carrierMessageId, error, Number(epoch), category, sender, recipient, encoding, livemode === 'true'],
      [clientReference, campaignId, variantId, templateId, ...[acceptedAt, validUntil, scheduledAt].map(Number)],
      ['', '', callback],
    ].flat() as Cell[],
  );
}

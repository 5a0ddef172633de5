// Asks the event store for the submit a receipt belongs to, when memory does not hold it: it is older than the
// replay window, or another node submitted it. A store that is away or behind has not said that there is none.
import { type FindSubmitted, type FindSubmittedReply, querySubjects } from '../../../analytics/contract.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { queryEventStore } from '../../ask-event-store.ts';
import type { KnownReceipt } from './receipts.ts';

/** `carrierMessageIds`: what its id may stand for, likeliest first. */
export function lookUpReceipt(
  bus: Pick<Bus, 'connection'>,
  carrier: string,
  { recipient, swapped }: Pick<KnownReceipt, 'recipient' | 'swapped'>,
  carrierMessageIds: readonly string[],
): Promise<FindSubmittedReply> {
  const recipients = swapped === undefined ? [recipient] : [recipient, swapped];
  const query: FindSubmitted = { carrier, recipients, carrierMessageIds };
  return queryEventStore<FindSubmittedReply>(bus, querySubjects.findSubmitted, query);
}

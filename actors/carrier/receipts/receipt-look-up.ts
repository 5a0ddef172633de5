// Asks the event store for the submit a receipt belongs to, when memory does not hold it: it is older than the
// replay window, or another node submitted it. A store that is away or behind has not said that there is none.
import {
  type FindSubmitted,
  type FindSubmittedReply,
  querySubjects,
  queryTimeoutMs,
} from '../../../analytics/contract.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import { ignoring } from '../../../platform/errors.ts';
import type { KnownReceipt } from './receipt-numbers.ts';

/** `carrierMessageIds`: what its id may stand for, likeliest first. */
export async function lookUpReceipt(
  bus: Pick<Bus, 'connection'>,
  carrier: string,
  { recipient, swapped }: Pick<KnownReceipt, 'recipient' | 'swapped'>,
  carrierMessageIds: readonly string[],
): Promise<FindSubmittedReply> {
  const recipients = swapped === undefined ? [recipient] : [recipient, swapped];
  const query: FindSubmitted = { carrier, recipients, carrierMessageIds };
  try {
    const reply = await bus.connection.request(querySubjects.findSubmitted, JSON.stringify(query), {
      timeout: queryTimeoutMs,
    });
    return reply.json<FindSubmittedReply>();
  } catch (error) {
    ignoring(error, 'the event store did not answer, the receipt is parked');
    return { result: 'unavailable', why: 'away', detail: 'the event store did not answer' };
  }
}

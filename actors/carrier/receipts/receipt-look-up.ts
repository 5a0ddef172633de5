// Asks the event store for the submit a receipt belongs to, when memory does not hold it: it is older than the
// replay window, or another node submitted it. The store being away is no error here: the receipt is parked.
import {
  type FindSubmitted,
  type FindSubmittedReply,
  querySubjects,
  queryTimeoutMs,
} from '../../../analytics/contract.ts';
import type { Bus } from '../../../cluster/bus/connect.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { ignoring } from '../../../platform/errors.ts';
import type { KnownReceipt } from './receipt-numbers.ts';

export async function lookUpReceipt(
  bus: Bus,
  carrier: string,
  { recipient, swapped }: Pick<KnownReceipt, 'recipient' | 'swapped'>,
  carrierMessageIds: readonly string[],
): Promise<DeliveryEvent | null> {
  const recipients = swapped === undefined ? [recipient] : [recipient, swapped];
  const asked = recipients.map((each) => ask(bus, carrier, each, carrierMessageIds));
  return (await Promise.all(asked)).find((found) => found !== null) ?? null;
}

async function ask(
  bus: Bus,
  carrier: string,
  recipient: string,
  carrierMessageIds: readonly string[],
): Promise<DeliveryEvent | null> {
  const question: FindSubmitted = { carrier, recipient, carrierMessageIds };
  try {
    const reply = await bus.connection.request(querySubjects.findSubmitted, JSON.stringify(question), {
      timeout: queryTimeoutMs,
    });
    const answer = reply.json<FindSubmittedReply>();
    return 'submitted' in answer ? answer.submitted : null;
  } catch (error) {
    ignoring(error, 'the event store did not answer, the receipt is parked');
    return null;
  }
}

// Asks the event store whether a first try has published a message. The duplicate detection of the stream forgets ids
// of consumed messages when the server restarts, and all ids after its window; within the window it is trusted when
// the event store does not answer.
import type { GetMessageReply } from '../../analytics/contract.ts';
import type { MessageId } from '../../model/ids.ts';
import { unreachable } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import type { Claim } from './idempotency/requests.ts';
import type { StatusQueryClient } from './status-query-client.ts';

type Parts = { readonly queries: StatusQueryClient };

/** `unclear`: that is not known now; publishing again could send it twice. */
export async function isKnown(
  parts: Parts,
  accountId: string,
  messageId: MessageId,
  ageMs: number,
): Promise<'yes' | 'no' | 'unclear'> {
  const reply = await knownMessage(parts, accountId, messageId);
  switch (reply.result) {
    case 'found':
      return 'yes';
    case 'none':
      return 'no';
    case 'unavailable':
      return duplicatesAreDropped(ageMs) ? 'no' : 'unclear';
    default:
      return unreachable(reply);
  }
}

export function knownMessage(
  { queries }: Parts,
  accountId: string,
  messageId: MessageId,
  wait = true,
): Promise<GetMessageReply> {
  return queries.ofSystem({ accountId, messageId, wait });
}

/** Whether the stream itself still drops a second publish of something this old. */
export function duplicatesAreDropped(ageMs: number): boolean {
  return ageMs >= 0 && ageMs < limits.bus.duplicateWindowMs;
}

/** A first try may have published it, and the stream would take a second publish for a new record. */
export function maybeForgotten({ mayBePublished, createdAtMs }: Claim, nowMs: number): boolean {
  return mayBePublished && !duplicatesAreDropped(nowMs - createdAtMs);
}

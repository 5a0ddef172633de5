// Whether a message that a first try may have published is there, asked of the event store. The stream's own duplicate
// detection forgets consumed ids when the server restarts and everything after its window; within the window it is
// trusted when the event store is away.
import type { MessageView } from '../../analytics/contract.ts';
import type { MessageId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import type { StatusQuestions } from './status-questions.ts';

type Parts = { readonly questions: StatusQuestions };

/** `unclear`: nobody can tell now; publishing again could send it twice. */
export async function isKnown(
  parts: Parts,
  accountId: string,
  messageId: MessageId,
  ageMs: number,
): Promise<'yes' | 'no' | 'unclear'> {
  const known = await knownMessage(parts, accountId, messageId);
  if (known === 'away') return duplicatesAreDropped(ageMs) ? 'no' : 'unclear';
  return known === null ? 'no' : 'yes';
}

/** Null: there is none. `away`: the event store does not answer. */
export async function knownMessage(
  { questions }: Parts,
  accountId: string,
  messageId: MessageId,
  wait = true,
): Promise<MessageView | null | 'away'> {
  const reply = await questions.get({ accountId, messageId, wait });
  if (!('found' in reply)) return 'away';
  return reply.found ? reply.message : null;
}

/** Whether the stream itself still drops a second publish of something this old. */
export function duplicatesAreDropped(ageMs: number): boolean {
  return ageMs >= 0 && ageMs < limits.bus.duplicateWindowMs;
}

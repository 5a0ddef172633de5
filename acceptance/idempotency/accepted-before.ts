// Asks the event store whether an earlier try has published a message. JetStream's duplicate detection forgets the ids
// of consumed messages when the server restarts, and every id after its window; within the window it is relied on when
// the event store does not answer.
import type { MessageId } from '../../model/ids.ts';
import { unreachable } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import { refusal } from '../refusal.ts';
import type { Claim } from './requests.ts';

/** What the event store knows of one message. `none` is certain: the store has every event up to now. */
export type KnownMessage =
  | { readonly result: 'found'; readonly message: { readonly scheduledAtMs: number | null } }
  | { readonly result: 'none' }
  /** `young`: the message is so new that its first event may not have arrived yet. */
  | { readonly result: 'unavailable'; readonly why: 'away' | 'behind' | 'busy' | 'young' };

export type AskKnown = {
  readonly queries: {
    /** Allowed for every account: the caller is the system itself. */
    ofSystem(query: {
      readonly accountId: string;
      readonly messageId: string;
      readonly wait?: boolean;
    }): Promise<KnownMessage>;
  };
};

/** `unclear`: unknown at the moment; publishing again could send the message twice. */
export async function isKnown(
  { queries }: AskKnown,
  accountId: string,
  messageId: MessageId,
  ageMs: number,
): Promise<'yes' | 'no' | 'unclear'> {
  const reply = await queries.ofSystem({ accountId, messageId });
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

export const firstTryUnclear = refusal(
  'overloaded',
  'it cannot be determined now whether the first try was accepted',
  2,
);

/** Whether JetStream's duplicate window still covers a publish of this age. */
export function duplicatesAreDropped(ageMs: number): boolean {
  return ageMs >= 0 && ageMs < limits.bus.duplicateWindowMs;
}

/** Whether a first try may have published it so long ago that the stream would store it a second time. */
export function maybeForgotten({ mayBePublished, createdAtMs }: Claim, nowMs: number): boolean {
  return mayBePublished && !duplicatesAreDropped(nowMs - createdAtMs);
}

/** The first try's time while the duplicate window covers it, so that a repeat says the same; otherwise now. */
export function acceptanceTime({ createdAtMs }: Claim, nowMs: number): number {
  return duplicatesAreDropped(nowMs - createdAtMs) ? createdAtMs : nowMs;
}

// Asks the event store whether a first try has published a message. The duplicate detection of the stream forgets ids
// of consumed messages when the server restarts, and all ids after its window; within the window it is trusted when
// the event store does not answer.
import type { MessageId } from '../../model/ids.ts';
import { unreachable } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import { refusal } from '../refusal.ts';
import type { Claim } from './requests.ts';

/** What the event store knows of one message; `none` only when it has every event up to now. */
export type KnownMessage =
  | { readonly result: 'found'; readonly message: { readonly scheduledAtMs: number | null } }
  | { readonly result: 'none' }
  /** `young`: its first event may still be on its way. */
  | { readonly result: 'unavailable'; readonly why: 'away' | 'behind' | 'busy' | 'young' };

export type AskKnown = {
  readonly queries: {
    /** In the name of any account: the system itself must know. */
    ofSystem(query: {
      readonly accountId: string;
      readonly messageId: string;
      readonly wait?: boolean;
    }): Promise<KnownMessage>;
  };
};

/** `unclear`: that is not known now; publishing again could send it twice. */
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
  'whether the first try was accepted cannot be determined right now',
  2,
);

/** Whether the stream itself still drops a second publish of something this old. */
export function duplicatesAreDropped(ageMs: number): boolean {
  return ageMs >= 0 && ageMs < limits.bus.duplicateWindowMs;
}

/** A first try may have published it, and the stream would take a second publish for a new record. */
export function maybeForgotten({ mayBePublished, createdAtMs }: Claim, nowMs: number): boolean {
  return mayBePublished && !duplicatesAreDropped(nowMs - createdAtMs);
}

/** A repeat soon after the first try says the same time; one much later is accepted when it is accepted. */
export function acceptanceTime({ createdAtMs }: Claim, nowMs: number): number {
  return duplicatesAreDropped(nowMs - createdAtMs) ? createdAtMs : nowMs;
}

// Asks the event store whether an earlier try has published a message. JetStream's duplicate detection forgets the ids
// of consumed messages when the server restarts, and every id after its window. A record that it may store a second time
// is marked (republished.ts): its carrier asks the event store before it sends it.
import { unreachable } from '../../platform/assert.ts';
import type { Clock } from '../../platform/clock.ts';
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

/**
 * What the event store says of an earlier try.
 * - `no`: no carrier has begun with the message. A first record still waits in its stream, which drops a second one.
 * - `unanswered`: it does not say. The stream drops a second record unless its server was restarted meanwhile.
 * - `unclear`: it does not say, and the stream's window has passed: nothing is published.
 */
export type Known = 'yes' | 'no' | 'unanswered' | 'unclear';

export async function isKnown(
  { queries, clock }: AskKnown & { readonly clock: Clock },
  accountId: string,
  claim: Pick<Claim, 'messageId' | 'createdAtMs' | 'mayBePublished'>,
): Promise<Known> {
  const { messageId, createdAtMs, mayBePublished } = claim;
  if (!mayBePublished) return 'no';
  const reply = await queries.ofSystem({ accountId, messageId });
  return knownFrom(reply, clock.nowMs() - createdAtMs);
}

/** `ageMs`: of the first try, when the reply is here. */
export function knownFrom(reply: KnownMessage, ageMs: number): Known {
  switch (reply.result) {
    case 'found':
      return 'yes';
    case 'none':
      return 'no';
    case 'unavailable':
      return duplicatesAreDropped(ageMs) ? withinWindow(reply.why) : 'unclear';
    default:
      return unreachable(reply);
  }
}

/** For `young` the store has read every event up to now. */
const withinWindow = (why: (KnownMessage & { readonly result: 'unavailable' })['why']): Known =>
  why === 'young' ? 'no' : 'unanswered';

export const firstTryUnclear = refusal(
  'overloaded',
  'it cannot be determined now whether the first try was accepted',
  2,
);

/** Whether JetStream's duplicate window still covers a publish of this age. */
export function duplicatesAreDropped(ageMs: number): boolean {
  return ageMs >= 0 && ageMs < limits.bus.duplicateWindowMs;
}

/** How long a publish may take from its decision on: for the codes of its links, its count and its tries. */
const publishedWithinMs =
  limits.links.issueMs + limits.scheduled.countMs + limits.bus.publishTimeoutMs * limits.bus.publishAttemptsMax;

/** Whether a record that is published from now on may come when the stream has forgotten an id of that age. */
export const mayMissWindow = (ageMs: number): boolean => ageMs + publishedWithinMs >= limits.bus.duplicateWindowMs;

/**
 * Whether the stream may store a record published now although another try has published one: then it is marked. Also
 * of the first try: its process may have been paused until another one took the key over.
 */
export function maybeForgotten(
  { mayBePublished, createdAtMs }: Pick<Claim, 'mayBePublished' | 'createdAtMs'>,
  known: Known,
  nowMs: number,
): boolean {
  const ageMs = nowMs - createdAtMs;
  return mayMissWindow(ageMs) || (mayBePublished && (known === 'unanswered' || ageMs < 0));
}

/** The first try's time while the duplicate window covers it, so that a repeat says the same; otherwise now. */
export function acceptanceTime({ createdAtMs }: Claim, nowMs: number): number {
  return duplicatesAreDropped(nowMs - createdAtMs) ? createdAtMs : nowMs;
}

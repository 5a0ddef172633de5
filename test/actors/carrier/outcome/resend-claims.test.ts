// Two nodes have one record in flight, and one of them decides to send it once more: the next owner knows that, so that
// there is no third copy. Pure: a replay index, the claims, and events in stream order.
import { expect, test } from 'vitest';
import type { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import type { ClaimStatus } from '../../../../actors/carrier/deduplication/intent-claims.ts';
import { ClusterClaims } from '../../../../actors/carrier/multi-node/cluster-claims.ts';
import { ReplayIndex } from '../../../../actors/carrier/deduplication/replay-index.ts';
import { type EventDraft, eventOfMessage } from '../../../../model/delivery-event.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

const [ours, theirs] = [7, 9];

/** A message in flight since before the other node published anything, and our intent after those events. */
function claimLost(...published: Partial<EventDraft>[]): { verdict: ClaimStatus | null; resends: number } {
  const clock = new ManualClock();
  const message = messageWith();
  const replayIndex = new ReplayIndex(clock);
  const claims = new ClusterClaims(replayIndex, () => ours, clock);
  const inFlight = { key: message.messageId, message, epoch: ours, tries: 1 } as unknown as InFlightMessage;
  const event = (draft: Partial<EventDraft>) =>
    eventOfMessage(message, { kind: 'intent', atMs: 1, attempt: 1, epoch: theirs, ...draft });
  let verdict: ClaimStatus | null = null;
  claims.confirm('intent', inFlight, (said) => (verdict = said));
  for (const each of published) claims.learn(event(each), false);
  claims.learn(event({ epoch: ours }), true);
  return { verdict, resends: inFlight.message.resends };
}

test('nothing was published: ours counts, and is the first', () => {
  expect(claimLost()).toEqual({ verdict: 'new', resends: 0 });
});

test('decided by another node and not begun: ours counts, and is that one further time', () => {
  expect(claimLost({}, { kind: 'resent', segment: 1 })).toEqual({ verdict: 'new', resends: 1 });
});

test('decided and begun by another node: theirs counts, and our copy knows that there is no third', () => {
  const begun = [{}, { kind: 'resent', segment: 1 }, { attempt: 2 }] as const;
  expect(claimLost(...begun)).toEqual({ verdict: 'intent_without_outcome', resends: 1 });
});

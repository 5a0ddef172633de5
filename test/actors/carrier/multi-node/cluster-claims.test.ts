// Which of two nodes may send that got the same record: a model of EVENTS in which nodes publish, read with delays,
// write, die and restart in any order. In every order, no try of a message is written twice without an event in between
// that says that it was not written.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { attemptNumber, triesOf } from '../../../../actors/carrier/in-flight/attempt.ts';
import type { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import { type ClaimStatus, localClaims } from '../../../../actors/carrier/deduplication/intent-claims.ts';
import { ClusterClaims } from '../../../../actors/carrier/multi-node/cluster-claims.ts';
import { ReplayIndex } from '../../../../actors/carrier/deduplication/replay-index.ts';
import { type DeliveryEvent, type EventDraft, eventOfMessage } from '../../../../model/delivery-event.ts';
import { limits } from '../../../../platform/limits.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

const message = messageWith();
const key = message.messageId;
const heldBy = (epoch: number, tries = 1) => ({ key, message, epoch, tries }) as unknown as InFlightMessage;
const eventBy = (epoch: number, draft: Partial<EventDraft> = {}): DeliveryEvent =>
  eventOfMessage(message, { kind: 'intent', atMs: 1, attempt: 1, epoch, ...draft });

function claimsOf(epoch: number) {
  const clock = new ManualClock();
  const replayIndex = new ReplayIndex(clock);
  const claims = new ClusterClaims(replayIndex, () => epoch, clock);
  const published: ClaimStatus[] = [];
  return {
    clock,
    replayIndex,
    claims,
    published,
    confirm: () => claims.confirm('intent', heldBy(epoch), (v) => published.push(v)),
  };
}

describe('an intent', () => {
  test('counts at once on a single node', () => {
    const published: ClaimStatus[] = [];
    localClaims.confirm('intent', heldBy(0), (status) => published.push(status));
    expect(published).toEqual(['new']);
  });
  test('waits until it was read, and counts when nothing precedes it', () => {
    const { claims, published, confirm } = claimsOf(7);
    confirm();
    expect(published).toEqual([]);
    claims.learn(eventBy(7), true);
    expect(published).toEqual(['new']);
  });
  test('may be read before its publish is acknowledged', () => {
    const { claims, published, confirm } = claimsOf(7);
    claims.learn(eventBy(7), true);
    confirm();
    expect(published).toEqual(['new']);
  });
  test('behind another node’s does not count, and changes nothing of what that one began', () => {
    const { claims, replayIndex, published, confirm } = claimsOf(7);
    confirm();
    claims.learn(eventBy(3), false);
    claims.learn(eventBy(7), true);
    expect(published).toEqual(['intent_without_outcome']);
    expect(replayIndex.ownerOf(key)).toBe(3);
    // Nor does it close an intent that is not its own.
    claims.learn(eventBy(7, { kind: 'deferred', segment: 1, error: 'not_written' }), true);
    expect(replayIndex.statusOf(key)).toBe('intent_without_outcome');
    claims.learn(eventBy(3, { kind: 'deferred', segment: 1, error: 'not_written' }), false);
    expect(replayIndex.statusOf(key)).toBe('new');
  });
  test('behind an outcome does not count', () => {
    const { claims, published, confirm } = claimsOf(7);
    claims.learn(eventBy(3), false);
    claims.learn(eventBy(3, { kind: 'submitted', segment: 1, carrierMessageId: 'x' }), false);
    confirm();
    claims.learn(eventBy(7), true);
    expect(published).toEqual(['settled']);
  });
  test('of another incarnation of this node is lost, and so is one that is never read', () => {
    const { claims, published, confirm, clock } = claimsOf(7);
    claims.confirm('intent', heldBy(6), (status) => published.push(status));
    expect(published).toEqual(['lost']);
    confirm();
    clock.advance(limits.carrier.claimWaitMs - 1);
    claims.sweep();
    expect(published).toEqual(['lost']);
    expect(claims.behindMs).toBe(limits.carrier.claimWaitMs - 1);
    clock.advance(2);
    claims.sweep();
    expect(published).toEqual(['lost', 'lost']);
    expect(claims.behindMs).toBe(0);
  });
});

describe('a reroute', () => {
  test('comes after another node’s intent, and another node’s intent after it', () => {
    const one = claimsOf(7);
    one.claims.confirm('rerouted', heldBy(7, 0), (status) => one.published.push(status));
    one.claims.learn(eventBy(3), false);
    one.claims.learn(eventBy(7, { kind: 'rerouted', attempt: 0, error: 'to beta: no_bind' }), true);
    expect(one.published).toEqual(['intent_without_outcome']);
    const other = claimsOf(3);
    other.confirm();
    other.claims.learn(eventBy(7, { kind: 'rerouted', attempt: 0, error: 'to beta: no_bind' }), false);
    other.claims.learn(eventBy(3), true);
    expect(other.published).toEqual(['rerouted']);
  });
});

/** One node of the model: it has the record when it was delivered, and acts when the schedule says so. */
class ModelNode {
  readonly clock = new ManualClock();
  readonly replayIndex = new ReplayIndex(this.clock);
  readonly epoch: number;
  readonly claims: ClusterClaims;
  readAt = 0;
  inFlight: InFlightMessage | null = null;
  /** idle: may begin · asked: its intent is being published · may: it may write · out: it has written. */
  stage: 'idle' | 'asked' | 'may' | 'out' = 'idle';
  constructor(epoch: number) {
    this.epoch = epoch;
    this.claims = new ClusterClaims(this.replayIndex, () => epoch, this.clock);
  }
}

type Step = {
  readonly node: number;
  readonly does: 'given' | 'intent' | 'read' | 'write' | 'answer' | 'defer' | 'restart';
};
const step: fc.Arbitrary<Step> = fc.record({
  node: fc.integer({ min: 0, max: 2 }),
  does: fc.constantFrom('given', 'intent', 'read', 'read', 'write', 'answer', 'defer', 'restart'),
});

test('in any order of deliveries, publishes, reads, writes and restarts: never two copies at the carrier', () => {
  fc.assert(
    fc.property(fc.array(step, { minLength: 20, maxLength: 150, size: 'max' }), (steps) => {
      const stream: { event: DeliveryEvent; by: ModelNode }[] = [];
      let epochs = 0;
      const fresh = () => new ModelNode((epochs += 1));
      const nodes = [fresh(), fresh(), fresh()];
      let copies = 0;
      for (const { node: at, does } of steps) {
        const node = nodes[at] as ModelNode;
        const { inFlight } = node;
        if (does === 'restart') nodes[at] = fresh();
        else if (does === 'given' && inFlight === null) {
          // The server may deliver it to any node at any time: ack deadlines pass, delivery counts are lost.
          if (node.replayIndex.statusOf(key) !== 'new') continue;
          node.inFlight = heldBy(node.epoch, triesOf(node.replayIndex.attemptOf(key)));
          node.stage = 'idle';
        } else if (does === 'intent' && inFlight !== null && node.stage === 'idle') {
          inFlight.tries += 1;
          if (inFlight.tries > 15) continue;
          node.stage = 'asked';
          const attempt = attemptNumber(0, inFlight.tries);
          stream.push({ event: eventBy(node.epoch, { attempt }), by: node });
          node.claims.confirm('intent', inFlight, (status) => {
            if (node.inFlight !== inFlight) return;
            if (status === 'new') node.stage = 'may';
            else node.inFlight = null;
          });
        } else if (does === 'read' && node.readAt < stream.length) {
          const { event, by } = stream[node.readAt]!;
          node.readAt += 1;
          node.claims.learn(event, by === node);
        } else if (does === 'write' && inFlight !== null && node.stage === 'may') {
          copies += 1;
          expect(copies).toBe(1);
          // Whether its answer ever comes is up to the schedule.
          node.stage = 'out';
        } else if (does === 'answer' && inFlight !== null && node.stage === 'out') {
          const attempt = attemptNumber(0, inFlight.tries);
          const submitted = eventBy(node.epoch, { kind: 'submitted', segment: 1, attempt, carrierMessageId: 'x' });
          stream.push({ event: submitted, by: node });
          node.inFlight = null;
        } else if (does === 'defer' && inFlight !== null && node.stage === 'may') {
          // Published as not written, and only then released.
          const attempt = attemptNumber(0, inFlight.tries);
          stream.push({
            event: eventBy(node.epoch, { kind: 'deferred', segment: 1, attempt, error: 'not_written' }),
            by: node,
          });
          node.inFlight = null;
        }
      }
    }),
    { numRuns: 3_000 },
  );
});

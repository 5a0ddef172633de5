// The table of states, and messages through the real sender, settlement, reroute and failover: in any sequence of
// events, none takes an edge that is not in the table, none is acked while something of it is out or pending, and none
// leaves a timer behind.
import { readFileSync } from 'node:fs';
import type { JsMsg } from '@nats-io/jetstream';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import { type InFlightState, edges } from '../../../../actors/carrier/in-flight/states.ts';
import type { ClaimStatus } from '../../../../actors/carrier/deduplication/intent-claims.ts';
import { AssertionFailed } from '../../../../platform/assert.ts';
import { log } from '../../../../platform/log.ts';
import { commandStatus } from '../../../../model/command-status.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';
import { Flow, type Known } from './flow.ts';

log.level = 'silent';

const states = Object.keys(edges) as InFlightState[];
const known: readonly (Known | null)[] = [null, null, null, null, 'rerouted', 'deferred', 'intent_without_outcome'];
const verdicts: readonly ClaimStatus[] = [
  'new',
  'new',
  'new',
  'new',
  'lost',
  'settled',
  'rerouted',
  'deferred',
  'intent_without_outcome',
];
const answers = [
  'ESME_ROK',
  'ESME_ROK',
  'ESME_RTHROTTLED',
  'ESME_RMSGQFUL',
  'ESME_RSUBMITFAIL',
  'ESME_RINVSCHED',
  'ESME_RINVSYSID',
] as const;
const results = [
  { ok: true, seq: 1, duplicate: false },
  { ok: true, seq: 1, duplicate: false },
  { ok: false, failure: 'unavailable' },
  { ok: false, failure: 'full' },
] as const;
const times = [10, 60, 400, 3_000, 12_000, 40_000];
const gates = ['open', 'open', 'open', 'held', 'expired'] as const;
const carrierStates = ['good', 'good', 'down', 'weak'] as const;

/** The possible steps, by weight; `n` chooses among the messages. */
const steps: Record<string, { readonly weight: number; run(flow: Flow, n: number): void }> = {
  deliver: {
    weight: 4,
    run(flow, n) {
      const category = (['otp', 'transactional', 'promotional'] as const)[n % 3]!;
      const long = n % 2 === 0 ? { body: { text: 'long '.repeat(90) }, segments: 3 } : {};
      flow.deliver({ category, plan: n % 5 < 3 ? ['beta'] : [], ...long }, pick(known, n));
    },
  },
  redeliver: { weight: 3, run: (flow, n) => flow.all.length > 0 && flow.redeliver(pick(flow.all, n)) },
  wake: { weight: 2, run: (flow) => flow.sender.wake() },
  durable: { weight: 8, run: (flow, n) => flow.writes.splice(0, 1 + (n % 4)).forEach((done) => done(true)) },
  published: { weight: 4, run: (flow, n) => flow.publishes.shift()?.(pick(results, n)) },
  claimed: { weight: 8, run: (flow, n) => flow.claim(pick(verdicts, n)) },
  answer: {
    weight: 8,
    run(flow, n) {
      const [token] = flow.out.splice(n % Math.max(1, flow.out.length), 1);
      const status = commandStatus[pick(answers, Math.floor(n / 8))];
      if (token !== undefined && status === 0 && n % 2 === 0) flow.holdFor(token);
      if (token !== undefined) flow.carryOut.onAnswer(token, { status, carrierMessageId: 'x' });
      flow.sender.wake();
    },
  },
  noAnswer: {
    weight: 4,
    run(flow, n) {
      const [token] = flow.out.splice(n % Math.max(1, flow.out.length), 1);
      if (token === undefined) return;
      flow.givenUp.push(token);
      flow.carryOut.onNoAnswer(token, 'no_response');
    },
  },
  hedge: { weight: 3, run: (flow, n) => flow.hedge(n) },
  endHold: { weight: 4, run: (flow, n) => flow.endHold(n % 2 === 0) },
  lateAnswer: {
    weight: 2,
    run(flow) {
      const token = flow.givenUp.shift();
      if (token !== undefined) flow.writes.push(ifDurable(flow.resend.onLateAccepted(token)));
    },
  },
  receipt: {
    weight: 2,
    run(flow, n) {
      const token = flow.givenUp.shift();
      if (token === undefined) return;
      const { inFlight, segment, attempt } = token;
      const { messageId, hop } = inFlight.message;
      const submitted = { messageId, hop, attempt, segment: n % 4 === 0 ? 0 : segment };
      const kind = n % 2 === 0 ? 'delivered' : 'undelivered';
      flow.writes.push(ifDurable(flow.resend.onReceipt(submitted as never, kind)));
    },
  },
  asked: { weight: 2, run: (flow, n) => flow.questions.shift()?.(pick(['yes', 'no', 'unclear'], n)) },
  time: { weight: 6, run: (flow, n) => flow.clock.advance(pick(times, n)) },
  lapse: {
    weight: 3,
    run(flow, n) {
      if (flow.all.length > 0) pick(flow.all, n).ackDeadlineMs = flow.clock.monotonicMs();
      flow.sender.wake();
    },
  },
  extendAckDeadline: { weight: 4, run: (flow) => flow.extendAckDeadline() },
  expire: { weight: 2, run: (flow) => flow.failover.expire() },
  move: { weight: 2, run: (flow) => flow.failover.move('down', 'no_bind') },
  giveBackUnbegun: { weight: 1, run: (flow) => flow.messages.giveBackUnbegun() },
  standDown: { weight: 1, run: (flow) => flow.standDown() },
  bound: { weight: 2, run: (flow, n) => void (flow.isBound = n % 4 !== 0) },
  paced: { weight: 2, run: (flow, n) => void (flow.isPaced = n % 3 === 0) },
  gate: { weight: 2, run: (flow, n) => void (flow.gate = pick(gates, n)) },
  state: { weight: 1, run: (flow, n) => void (flow.state = pick(carrierStates, n)) },
  otherState: { weight: 1, run: (flow, n) => void (flow.otherState = pick(carrierStates, n)) },
  otherNode: { weight: 1, run: (flow, n) => void (flow.isOtherAlive = n % 2 === 0) },
};

function pick<T>(from: readonly T[], n: number): T {
  return from[n % from.length] as T;
}

const ifDurable = (then: () => void) => (durable: boolean) => durable && then();

/** Microtasks: the sender's loop, and answers to queries. */
const turn = () => new Promise((resolve) => setImmediate(resolve));

/** Everything that can still happen does, in favour of the messages. */
async function finish(flow: Flow): Promise<void> {
  Object.assign(flow, { isBound: true, isPaced: false, gate: 'open', state: 'good', otherState: 'good' });
  for (let round = 0; round < 300 && flow.messages.size > 0; round += 1) {
    for (const inFlight of flow.messages.all()) flow.redeliver(inFlight);
    while (flow.writes.length > 0) flow.writes.shift()?.(true);
    while (flow.publishes.length > 0) flow.publishes.shift()?.({ ok: true, seq: 1, duplicate: false });
    while (flow.claims.length > 0) flow.claim('new');
    while (flow.held.length > 0) flow.endHold(true);
    while (flow.questions.length > 0) flow.questions.shift()?.('yes');
    for (const token of flow.out.splice(0)) flow.carryOut.onAnswer(token, { status: 0, carrierMessageId: 'x' });
    flow.sender.wake();
    await turn();
    flow.clock.advance(1_000);
    flow.extendAckDeadline();
    flow.failover.expire();
  }
}

const step = fc.tuple(
  fc.oneof(...Object.entries(steps).map(([does, { weight }]) => ({ weight, arbitrary: fc.constant(does) }))),
  fc.nat({ max: 1_000 }),
);

describe('in any sequence of events', () => {
  test('no message takes an illegal edge, is acked with work pending, or leaves a timer behind', async () => {
    await fc.assert(
      fc.asyncProperty(
        fc.array(step, { minLength: 40, maxLength: 250, size: 'max' }),
        fc.boolean(),
        async (todo, resends) => {
          const flow = new Flow(resends);
          for (const [does, n] of todo) {
            steps[does]?.run(flow, n);
            await turn();
            expect(flow.strayTimers).toBe(0);
          }
          await finish(flow);
          // Nothing is stuck: each was acked, given back or left to another node, and nothing of it runs any more.
          expect(flow.all.map(({ state }) => state)).toEqual(flow.all.map(() => 'released'));
          expect(flow.strayTimers).toBe(0);
        },
      ),
      { numRuns: 1_000 },
    );
  });
});

describe('the table', () => {
  test('in the head of states.ts equals the edges', () => {
    const source = readFileSync(new URL('../../../../actors/carrier/in-flight/states.ts', import.meta.url), 'utf8');
    const rows = source.split('\n').filter((line) => line.startsWith('// |') && !line.startsWith('// |--'));
    const [head = [], ...cells] = rows.map((row) =>
      row
        .slice(4, -1)
        .split('|')
        .map((cell) => cell.trim()),
    );
    const drawn = new Map(head.slice(1).map((state) => [state, new Set<string>()]));
    for (const row of cells) {
      for (const [column, cell] of row.slice(1).entries()) {
        for (const next of cell.split(/[ ,]+/)) if (next !== '') drawn.get(head[column + 1]!)?.add(next);
      }
    }
    // A state in its own column means no change; only these two become themselves.
    for (const [state, to] of drawn)
      if (!edges[state as InFlightState].includes(state as InFlightState)) to.delete(state);
    const asDrawn = [...drawn].map(([state, to]) => [state, [...to].toSorted()]);
    expect(asDrawn).toEqual(asDrawn.map(([state]) => [state, edges[state as InFlightState].toSorted()]));
    expect(states).toEqual([...drawn.keys(), 'settling', 'released']);
    expect([edges.settling, edges.released]).toEqual([['released'], []]);
  });

  test('an illegal transition fails an assertion, and changes nothing', () => {
    const clock = new ManualClock();
    const illegal: [InFlightState, InFlightMessage, (inFlight: InFlightMessage) => void][] = [
      ['lapsed', lapsed(), (inFlight) => inFlight.queue()],
      ['lapsed', lapsed(), (inFlight) => inFlight.wait(clock, 1, () => {})],
      ['lapsed', lapsed(), (inFlight) => inFlight.goOnResending()],
      ['settling', settled(), (inFlight) => inFlight.wait(clock, 1, () => {})],
      ['settling', settled(), (inFlight) => inFlight.queue()],
      ['queued', queued(), (inFlight) => inFlight.send()],
      ['queued', queued(), (inFlight) => inFlight.wait(clock, 1, () => {})],
      ['released', released(), (inFlight) => inFlight.settle()],
      ['released', released(), (inFlight) => inFlight.release()],
    ];
    for (const [state, inFlight, change] of illegal) {
      expect(() => change(inFlight)).toThrow(AssertionFailed);
      expect(inFlight.state).toBe(state);
    }
    expect(clock.timers).toBe(0);
  });

  test('segments are out once, are answered once, and are never left without an owner', () => {
    const inFlight = sending();
    inFlight.written(1);
    expect(() => inFlight.written(1)).toThrow(AssertionFailed);
    expect(() => inFlight.answered(2)).toThrow(AssertionFailed);
    inFlight.settle();
    expect(() => inFlight.release()).toThrow(AssertionFailed);
    inFlight.answered(1);
    expect(() => inFlight.answered(1)).toThrow(AssertionFailed);
    const release = inFlight.hold();
    expect(inFlight.isDone).toBe(false);
    release();
    expect(() => release()).toThrow(AssertionFailed);
    expect(inFlight.isDone).toBe(true);
  });
});

function received(): InFlightMessage {
  const message = messageWith();
  return new InFlightMessage(message.messageId, message, {} as JsMsg, 1_000);
}

function queued(): InFlightMessage {
  const inFlight = received();
  inFlight.queue();
  return inFlight;
}

function sending(): InFlightMessage {
  const inFlight = queued();
  inFlight.beginIntent(0, 0, 1, 1);
  inFlight.send();
  return inFlight;
}

function lapsed(): InFlightMessage {
  const inFlight = sending();
  inFlight.lapse();
  return inFlight;
}

function settled(): InFlightMessage {
  const inFlight = queued();
  inFlight.settle();
  return inFlight;
}

function released(): InFlightMessage {
  const inFlight = queued();
  inFlight.release();
  return inFlight;
}

// Rerouting a message: which carrier it goes to, what that one gets, and that a record redelivered after its event goes
// to the same carrier, is looked up when it is old, and is never published on a guess.
import fc from 'fast-check';
import { afterEach, describe, expect, test } from 'vitest';
import { ReplayIndex } from '../../../../actors/carrier/deduplication/replay-index.ts';
import { movedTo } from '../../../../actors/carrier/failover/reroute.ts';
import { Alternatives } from '../../../../actors/carrier/outcome/alternatives.ts';
import { readRerouted, reroutedText } from '../../../../actors/carrier/deduplication/rerouted-event.ts';
import { type GetMessageReply, querySubjects } from '../../../../analytics/contract.ts';
import { bodyCipher } from '../../../../model/records/body-cipher.ts';
import { EventWriter } from '../../../../cluster/bus/event-writer.ts';
import { decodeMessage } from '../../../../model/records/message-record.ts';
import { eventOfMessage } from '../../../../model/delivery-event.ts';
import type { CarrierState } from '../../../../model/carrier-state.ts';
import type { Message } from '../../../../model/message.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { suspend } from '../../../support/processes.ts';
import { limits } from '../../../../platform/limits.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { bodyKey } from '../../../support/host-process.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { anyMessage, messageWith } from '../../../support/messages.ts';

const names = ['alpha', 'beta', 'gamma', 'delta'];

describe('which one', () => {
  const candidateOf = (message: Message, states: Record<string, CarrierState> = {}) => {
    const carriers = { stateOf: (name: string) => states[name] ?? ('good' as const), reasonOf: () => '' };
    return new Alternatives({ carrier: message.carrier, carriers }).best(message);
  };
  test('the first good one of the plan; else one that is only weak; else any', () => {
    const otp = messageWith({ category: 'otp', plan: ['beta', 'gamma', 'delta'] });
    expect(candidateOf(otp)).toEqual({ to: 'beta', how: 'good' });
    expect(candidateOf(otp, { beta: 'weak' })).toEqual({ to: 'gamma', how: 'good' });
    expect(candidateOf(otp, { beta: 'down', gamma: 'weak', delta: 'down' })).toEqual({ to: 'gamma', how: 'avoided' });
    expect(candidateOf(otp, { beta: 'down', gamma: 'down', delta: 'down' })).toEqual({ to: 'beta', how: 'avoided' });
    expect(candidateOf({ ...otp, category: 'promotional' }, { beta: 'weak' })).toEqual({ to: 'beta', how: 'good' });
  });
  test('none without a plan, with a plan of itself alone, or after the last hop', () => {
    expect(candidateOf(messageWith())).toBeNull();
    expect(candidateOf(messageWith({ plan: ['alpha'] }))).toBeNull();
    const { hopsMax } = limits.reroute;
    expect(candidateOf(messageWith({ plan: ['beta'], hop: hopsMax - 2 }))).not.toBeNull();
    expect(candidateOf(messageWith({ plan: ['beta'], hop: hopsMax - 1 }))).toBeNull();
  });
  test('never one that is no longer configured', () => {
    const message = messageWith({ plan: ['beta', 'gamma'] });
    const among = (...configured: string[]) => {
      const carriers = { stateOf: () => 'down' as const, reasonOf: () => '' };
      const isConfigured = (name: string) => configured.includes(name);
      return new Alternatives({ carrier: 'alpha', carriers, isConfigured }).best(message);
    };
    expect(among('alpha', 'beta', 'gamma')).toEqual({ to: 'beta', how: 'avoided' });
    expect(among('alpha', 'gamma')).toEqual({ to: 'gamma', how: 'avoided' });
    expect(among('alpha')).toBeNull();
  });
  test('in any sequence, no message is given to more carriers than the bound, and a refused one to none twice', () => {
    fc.assert(
      fc.property(
        fc.uniqueArray(fc.constantFrom(...names.slice(1)), { maxLength: 3 }),
        fc.array(
          fc.tuple(
            fc.boolean(),
            fc.dictionary(fc.constantFrom(...names), fc.constantFrom('weak' as const, 'down' as const)),
          ),
        ),
        (plan, steps) => {
          let message = messageWith({ plan });
          const refusedBy: string[] = [];
          for (const [mayComeBack, states] of steps) {
            const candidate = candidateOf(message, states);
            if (candidate === null) break;
            if (!mayComeBack) refusedBy.push(message.carrier);
            message = movedTo(message, candidate.to, 'why', mayComeBack);
            expect(refusedBy).not.toContain(message.carrier);
            expect(message.hop).toBeLessThan(limits.reroute.hopsMax);
            expect(new Set([message.carrier, ...message.plan]).size).toBe(message.plan.length + 1);
          }
        },
      ),
    );
  });
});

test('the next carrier gets the message unchanged, except for its route', () => {
  fc.assert(
    fc.property(anyMessage, fc.boolean(), (message, mayComeBack) => {
      const { carrier, hop, delays, plan, trace, ...rest } = movedTo(message, 'next', 'ESME_RTHROTTLED', mayComeBack);
      const { carrier: _c, hop: _h, delays: _d, plan: _p, trace: _t, ...before } = message;
      expect(rest).toEqual(before);
      expect([carrier, hop, delays]).toEqual(['next', message.hop + 1, 0]);
      expect(plan).not.toContain('next');
      expect(plan.includes(message.carrier)).toBe(mayComeBack);
      expect(trace.at(-1)).toBe(`${message.carrier}: ESME_RTHROTTLED`);
    }),
  );
});

test('the event contains target and reason, and both decode', () => {
  fc.assert(
    fc.property(fc.stringMatching(/^[a-z][a-z0-9-]{0,31}$/), fc.string(), (to, why) => {
      expect(readRerouted({ error: reroutedText(to, why), atMs: 5 })).toEqual({ to, why, atMs: 5 });
    }),
  );
  expect(readRerouted({ error: null, atMs: 5 })).toBeNull();
  expect(readRerouted({ error: 'beta', atMs: 5 })).toBeNull();
});

describe('the replay index', () => {
  test('knows a reroute from the replay, and forgets it with the ack', () => {
    const message = messageWith();
    const replayIndex = new ReplayIndex(new ManualClock());
    replayIndex.learn(eventOfMessage(message, { kind: 'intent', atMs: 1, attempt: 1 }));
    replayIndex.learn(
      eventOfMessage(message, { kind: 'rerouted', atMs: 2, attempt: 1, error: 'to beta: ESME_RTHROTTLED' }),
    );
    expect(replayIndex.statusOf(message.messageId)).toBe('rerouted');
    expect(replayIndex.reroutedOf(message.messageId)).toEqual({ to: 'beta', why: 'ESME_RTHROTTLED', atMs: 2 });
    replayIndex.settle(message.messageId);
    expect(replayIndex.statusOf(message.messageId)).toBe('settled');
  });
});

describe('a record that is redelivered after its event', () => {
  let harness: CarrierHarness;
  afterEach(() => harness.stop());

  /**
   * A message whose earlier incarnation published `agoMs` ago that it goes to gamma; whether it was published is
   * unknown.
   */
  async function leftBehind(agoMs: number): Promise<Message> {
    harness = await openCarrierHarness();
    const [sent] = await harness.send(1, { plan: ['beta', 'gamma'] });
    const [message] = await queuedFor('alpha');
    if (message === undefined || message.messageId !== sent!.messageId) throw new Error('not queued');
    const events = new EventWriter(harness.publisher);
    const atMs = systemClock.nowMs() - agoMs;
    const published = eventOfMessage(message, {
      kind: 'rerouted',
      attempt: 0,
      atMs,
      error: reroutedText('gamma', 'no_bind'),
    });
    await new Promise<boolean>((resolve) => events.write(published, resolve, true));
    return message;
  }
  /** A work queue returns its records one by one. */
  async function queuedFor(carrier: string): Promise<Message[]> {
    const { state } = await harness.bus.manager.streams.info('MT_TXN');
    const queued: Message[] = [];
    for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
      const record = await harness.bus.manager.streams.getMessage('MT_TXN', { seq });
      if (record?.subject.startsWith(`mt.txn.${carrier}.`) === true)
        queued.push(decodeMessage(record.data, bodyCipher(bodyKey)));
    }
    return queued;
  }
  const atGamma = () => queuedFor('gamma');
  /** In place of the analytics role. */
  const answerWith = (reply: (message: Message) => GetMessageReply, message: Message) => {
    let asked = 0;
    harness.bus.connection.subscribe(querySubjects.get, {
      callback: (_error, question) => {
        asked += 1;
        question.respond(JSON.stringify(reply(message)));
      },
    });
    return () => asked;
  };
  const found = (carrier: string | null, status: 'accepted' | 'submitted') => () =>
    ({
      result: 'found',
      message: {
        status,
        submittedAtMs: status === 'accepted' ? null : 1,
        history: [{ status, carrier, atMs: 1, error: null }],
      },
    }) as unknown as GetMessageReply;
  const gone = async () => (await queuedFor('alpha')).length === 0;

  test('soon: it goes to the carrier of the event and not to the first of its plan, and is acked', async () => {
    const message = await leftBehind(100);
    await harness.actor(carrierWith(harness.simulator));
    await until('published', async () => (await atGamma()).length === 1);
    expect((await atGamma())[0]).toMatchObject({
      messageId: message.messageId,
      carrier: 'gamma',
      hop: 1,
      plan: ['beta'],
    });
    await until('acked', gone);
    expect(harness.simulator.stats().submits.total).toBe(0);
  });

  test('late, and that carrier has begun it: it is only acked', async () => {
    const message = await leftBehind(limits.bus.duplicateWindowMs);
    const asked = answerWith(found('gamma', 'submitted'), message);
    await harness.actor(carrierWith(harness.simulator));
    await until('acked', gone);
    expect(asked()).toBe(1);
    expect(await atGamma()).toEqual([]);
  });

  test('late, and that carrier has not begun it: it is published', async () => {
    const message = await leftBehind(limits.bus.duplicateWindowMs);
    answerWith(found(null, 'accepted'), message);
    await harness.actor(carrierWith(harness.simulator));
    await until('published', async () => (await atGamma()).length === 1);
    await until('acked', gone);
  });

  test('late, while the event store is down: it is not published until the store answers, and then once', async () => {
    const message = await leftBehind(limits.bus.duplicateWindowMs);
    const role = await harness.eventStore();
    const reply = async () => {
      const answer = await harness.bus.connection.request(querySubjects.get, JSON.stringify(message), {
        timeout: 5_000,
      });
      return answer.json<GetMessageReply>().result;
    };
    await until('the store knows it', async () => (await reply()) === 'found');
    await suspend(role.child.pid!);
    await harness.actor(carrierWith(harness.simulator));
    const redelivered = async () => {
      const consumers = harness.bus.manager.consumers.list('MT_TXN');
      for await (const { num_redelivered } of consumers) if (num_redelivered > 0) return true;
      return false;
    };
    await until('it was given back', redelivered);
    expect(await atGamma()).toEqual([]);
    role.child.kill('SIGCONT');
    await until('published', async () => (await atGamma()).length === 1);
    await until('acked', gone);
  });

  test('late, without a clear answer: the query is repeated until there is one', async () => {
    const message = await leftBehind(limits.bus.duplicateWindowMs);
    let unavailable = 2;
    const asked = answerWith(() => {
      unavailable -= 1;
      return unavailable >= 0 ? { result: 'unavailable', why: 'away', detail: '' } : found(null, 'accepted')();
    }, message);
    await harness.actor(carrierWith(harness.simulator));
    await until('published', async () => (await atGamma()).length === 1);
    expect(asked()).toBe(3);
    expect(harness.simulator.stats().submits.total).toBe(0);
  });
});

// Only a node that has every event may answer that there is none (fault 50): a store that accepts no inserts, with more
// in EVENTS than the recorder holds, and several nodes of which one records. Every kind of query is made: ClickHouse as
// a server over the real engine, a real nats-server.
import { afterEach, beforeEach, describe, expect, test } from 'vitest';
import { lookUpReceipt } from '../../actors/carrier/receipts/receipts.ts';
import { type AnalyticsNode, startAnalytics } from '../../analytics/analytics-node.ts';
import {
  type FindWriterReply,
  type GetMessageReply,
  type ListMessagesReply,
  querySubjects,
} from '../../analytics/contract.ts';
import { type Engine, openEngine } from '../../analytics/store/engine.ts';
import { applySchema } from '../../analytics/store/schema.ts';
import { isKnown } from '../../acceptance/idempotency/accepted-before.ts';
import { placesOf } from '../../api/http/places.ts';
import { statusQueryClient } from '../../api/http/status-query-client.ts';
import { askEventStore } from '../../actors/ask-event-store.ts';
import { type Bus, connectBus } from '../../cluster/bus/connect.ts';
import { type EventContext, acceptedEvent, deliveryEvent } from '../../model/delivery-event.ts';
import type { MessageId } from '../../model/ids.ts';
import type { Message } from '../../model/message.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { suspend } from '../support/processes.ts';
import { limits } from '../../platform/limits.ts';
import { defaultShares } from '../../platform/limits-shares.ts';
import { type TestClickHouse, startClickHouse } from './support/clickhouse-server.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { askStore } from './support/node.ts';
import { contextOf, lifeOf } from './support/events.ts';
import { startRole } from './support/role.ts';

type Node = { readonly node: AnalyticsNode; readonly bus: Bus; readonly engine: Engine; stop(): Promise<void> };

let events: EventBus;
let clickhouse: TestClickHouse;
const nodes: Node[] = [];

beforeEach(async () => {
  [events, clickhouse] = await Promise.all([startEventBus(), startClickHouse()]);
});

afterEach(async () => {
  for (const node of nodes.splice(0)) await node.stop();
  await events.stop();
  await clickhouse.stop();
});

/** Takes over from earlier recorders. */
async function start(name: string): Promise<Node> {
  const bus = await connectBus(events.nats.url, name);
  const engine = openEngine({ clickhouseUrl: clickhouse.url, dataDir: events.dataDir });
  await applySchema(engine);
  const node = await startAnalytics(bus, engine);
  const one = {
    node,
    bus,
    engine,
    async stop() {
      await node.stop(1_000);
      await engine.close();
      await bus.close();
    },
  };
  nodes.push(one);
  return one;
}

const ask = <Reply>(subject: string, query: object) => askStore<Reply>(events.bus, subject, query);

const submitted = (context: EventContext, carrierMessageId: string) =>
  deliveryEvent(context, { kind: 'submitted', atMs: context.acceptedAtMs + 2, segment: 1, carrierMessageId });

const queriesOver = (bus: Bus) => statusQueryClient(bus, placesOf(defaultShares));

/** Of a minute ago: none of its events may still be in transit. */
const settledContext = (recipient: string) =>
  contextOf({ acceptedAtMs: systemClock.nowMs() - 60_000, recipient, sender: 'SOURCE' });

/** The answer of each kind of query about a message of which EVENTS has only the last events. */
async function askedByAll(context: EventContext, carrierMessageId: string): Promise<Record<string, string>> {
  const { accountId, messageId, recipient, sender } = context;
  const { bus } = events;
  const message = { accountId, messageId } as Message;
  const queries = queriesOver(bus);
  const writer = { subscriber: recipient, senders: [sender], livemode: true, sinceMs: context.acceptedAtMs - 1 };
  const [get, list, known, submit, wrote, begun] = await Promise.all([
    ask<GetMessageReply>(querySubjects.get, { accountId, messageId }),
    ask<ListMessagesReply>(querySubjects.list, { accountId, to: recipient }),
    isKnown({ queries, clock: systemClock }, accountId, {
      messageId: messageId as MessageId,
      createdAtMs: systemClock.nowMs() - limits.bus.duplicateWindowMs,
      mayBePublished: true,
    }),
    lookUpReceipt(bus, 'sandbox', { recipient }, [carrierMessageId]),
    ask<FindWriterReply>(querySubjects.findWriter, writer),
    askEventStore(bus, message, ({ submittedAtMs }) => submittedAtMs !== null),
  ]);
  return {
    get: get.result,
    // A slow machine answers an empty page with a cursor: that says nothing about the message.
    list: list.result === 'found' && list.messages.length === 0 ? 'goes on' : list.result,
    known,
    submit: submit.result,
    wrote: wrote.result,
    begun,
  };
}

const nobodyCanSay = {
  get: 'unavailable',
  list: 'unavailable',
  known: 'unclear',
  submit: 'unavailable',
  wrote: 'unavailable',
  begun: 'unclear',
};
const isThere = { get: 'found', list: 'found', known: 'yes', submit: 'found', wrote: 'found', begun: 'yes' };
const isNot = { get: 'none', list: 'none', known: 'no', submit: 'none', wrote: 'none', begun: 'no' };

type QueryServer = Readonly<Record<string, string>>;

/** When the store has time for queries again all answers agree; until then none contradicts. */
function agreed(
  context: EventContext,
  carrierMessageId: string,
  right: QueryServer,
  wrong: QueryServer,
): Promise<boolean> {
  return until('all to agree', async () => {
    const answers = await askedByAll(context, carrierMessageId);
    for (const [who, answer] of Object.entries(answers)) expect(answer).not.toBe(wrong[who]);
    return Object.entries(answers).every(([who, answer]) => answer === right[who]);
  });
}

describe('a store that accepts no inserts and answers queries', () => {
  test('with more in EVENTS than the recorder holds never answers that a message is absent, until it has caught up', async () => {
    await start('n1');
    const before = contextOf({ acceptedAtMs: systemClock.nowMs() - 60_000, recipient: '+8801711111111' });
    await events.publish(lifeOf(before));
    await until('it is recorded', async () => (await clickhouse.rows('SELECT 1 FROM sms_events')).length > 0);

    clickhouse.weather = 'read-only';
    for (let published = 0; published < limits.recorder.heldRowsMax; published += 400) {
      await events.publish(
        Array.from({ length: 400 }, () => acceptedEvent(contextOf({ recipient: '+8801700000000' }))),
      );
    }
    const last = settledContext('+8801722222222');
    await events.publish([acceptedEvent(last), submitted(last, 'a1')]);
    const never = settledContext('+8801733333333');
    expect(await askedByAll(last, 'a1')).toEqual(nobodyCanSay);
    expect(await askedByAll(never, 'a1')).toEqual(nobodyCanSay);
    // What is recorded is shown all the same, and counts as present where only that is asked.
    const { accountId, messageId } = before;
    expect(await ask(querySubjects.get, { accountId, messageId })).toMatchObject({ result: 'found' });

    clickhouse.weather = 'fine';
    const isRead = async () => (await ask<GetMessageReply>(querySubjects.get, last)).result === 'found';
    await until('it has caught up', isRead);
    await agreed(last, 'a1', isThere, isNot);
    await agreed(never, 'a1', isNot, isThere);
  });

  test('with no more than the recorder holds knows all of it, also when the role restarts', async () => {
    const first = await start('n1');
    clickhouse.weather = 'read-only';
    const held = settledContext('+8801744444444');
    await events.publish([acceptedEvent(held), submitted(held, 'b1')]);
    await agreed(held, 'b1', isThere, isNot);
    nodes.splice(0);
    await first.stop();
    await start('n2');
    await agreed(held, 'b1', isThere, isNot);
    await agreed(settledContext('+8801755555555'), 'b1', isNot, isThere);
  });
});

describe('of two nodes one records', () => {
  test('and either finds what was published a moment ago', async () => {
    const { node } = await start('n1');
    await start('n2');
    // Its next insert shows it that another one has taken over.
    await events.publish([acceptedEvent(contextOf())]);
    await until('the first records no more', () => node.health().detail === 'another node records');
    for (let times = 0; times < 30; times += 1) {
      const context = contextOf();
      await events.publish([acceptedEvent(context)]);
      const isFound = async () => {
        const reply = await ask<GetMessageReply>(querySubjects.get, context);
        expect(reply.result).not.toBe('none');
        return reply.result === 'found' && reply.message.status === 'accepted';
      };
      await until('it is found', isFound);
      const settled = settledContext(`+88017${String(10_000_000 + times)}`);
      await events.publish([acceptedEvent(settled), submitted(settled, `c${times}`)]);
      await agreed(settled, `c${times}`, isThere, isNot);
    }
    await agreed(settledContext('+8801766666666'), 'c1', isNot, isThere);
  });

  test('and while that one is stalled the other finds what is recorded, and never answers that a message is absent', async () => {
    await start('n1');
    const role = await startRole(events.nats.url, events.dataDir, { CLICKHOUSE_URL: clickhouse.url });
    try {
      const recorded = settledContext('+8801711111112');
      await events.publish(lifeOf(recorded));
      await until('it is recorded', async () => (await clickhouse.rows('SELECT 1 FROM sms_events')).length > 0);
      await suspend(role.child.pid!);
      const unrecorded = settledContext('+8801711111113');
      await events.publish([acceptedEvent(unrecorded)]);
      const never = settledContext('+8801711111114');
      // Each query goes to one of the two; the stalled one does not answer.
      const results = async (context: EventContext) => {
        const asked = Array.from({ length: 8 }, () => queriesOver(events.bus).ofSystem(context));
        return [...new Set((await Promise.all(asked)).map(({ result }) => result))].toSorted();
      };
      expect(await results(unrecorded)).toEqual(['unavailable']);
      expect(await results(never)).toEqual(['unavailable']);
      await until('it is found', async () => (await results(recorded)).includes('found'));
      expect(await results(recorded)).not.toContain('none');
      role.child.kill('SIGCONT');
      await until('it is found as well', async () => (await results(unrecorded)).join() === 'found');
      await until('it is known that it never was', async () => (await results(never)).join() === 'none');
    } finally {
      await role.end('SIGKILL');
    }
  });
});

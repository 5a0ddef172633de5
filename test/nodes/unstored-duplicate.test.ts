// A replicated stream notes the id of a record before its copies have it, and servers before 2.10.20 answer a repeat of
// it as a duplicate without a sequence. Three real nats-servers, both followers stopped: what is reported durable
// meanwhile must be there when the leader is killed and the followers continue.
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { type Bus, connectBus } from '../../cluster/bus/connect.ts';
import { decodeEvents } from '../../model/records/event-record.ts';
import { type PublishResult, Publisher } from '../../cluster/bus/publisher.ts';
import { eventOfMessage } from '../../model/delivery-event.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { ignoring } from '../../platform/errors.ts';
import { recordsOf, waitingIn } from '../support/bus.ts';
import { messageWith } from '../support/messages.ts';
import { type NatsCluster, startNatsCluster } from '../support/nats-cluster.ts';

let cluster: NatsCluster;
const closing: (() => unknown)[] = [];
beforeAll(async () => {
  cluster = await startNatsCluster();
});
afterEach(async () => {
  for (const close of closing.splice(0).reverse()) await close();
});
afterAll(() => cluster.stop());

async function leaderOf(bus: Bus, stream: string): Promise<number> {
  const { cluster: group } = await bus.manager.streams.info(stream);
  return Number(group?.leader?.split('-')[1] ?? -1);
}

/** While a stream elects its leader, requests are not answered: they are repeated. */
const answered =
  <T>(ask: () => Promise<T>) =>
  (): Promise<T | false> =>
    ask().catch((error: unknown) => {
      ignoring(error, 'there is no leader for a moment');
      return false as const;
    });

/** Asks leaders to step down until one server leads both streams. */
async function oneLeader(bus: Bus): Promise<number> {
  return until(
    'one server leads both streams',
    answered(async () => {
      const [events, messages] = await Promise.all([leaderOf(bus, 'EVENTS'), leaderOf(bus, 'MT_TXN')]);
      if (events >= 0 && events === messages) return { leader: events };
      await bus.connection.request('$JS.API.STREAM.LEADER.STEPDOWN.MT_TXN', '', { timeout: 2_000 });
      await systemClock.sleep(500);
      return false;
    }),
    { everyMs: 100 },
  ).then(({ leader }) => leader);
}

const subject = 'mt.txn.alpha.0';

test('followers stopped, then the leader killed: nothing is reported durable that is not, and what waited becomes so', async () => {
  const looking = await connectBus(cluster.url(), 'looking');
  closing.push(() => looking.close());
  const leader = await oneLeader(looking);
  const followers = [0, 1, 2].filter((server) => server !== leader);
  const bus = await connectBus(cluster.urlOf(leader), 'publishing');
  closing.push(() => bus.close());
  const httpServer = new Publisher(bus);
  const actors = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const writer = new EventWriter(actors);
  closing.push(() => [writer.close(), httpServer.close(), actors.close()]);
  const publish = (id: string) => httpServer.publishOne(subject, Buffer.from(id), id);
  expect(await publish('before')).toMatchObject({ ok: true });

  await Promise.all(followers.map((follower) => cluster.pause(follower)));
  closing.push(() => followers.forEach((follower) => cluster.resume(follower)));
  const event = eventOfMessage(messageWith({ carrier: 'alpha' }), { kind: 'intent', atMs: 1, attempt: 1, segment: 1 });
  let durable: boolean | null = null;
  writer.write(event, (isDurable) => (durable = isDurable), true);
  const results = new Map<string, PublishResult>();
  // Like a client that gets no 202 and retries under the same key.
  for (const id of ['one', 'two', 'one']) results.set(id, await publish(id));
  const accepted = [...results].filter(([, result]) => result.ok).map(([id]) => id);
  expect(accepted).toEqual([]);
  expect(durable).toBe(null);

  await cluster.kill9(leader);
  for (const follower of followers) cluster.resume(follower);
  await until('the intent is durable', () => durable === true);
  const again = await until(
    'what was never accepted is accepted at last',
    async () => {
      const result = await publish('one');
      return result.ok && result;
    },
    { everyMs: 200 },
  );
  expect(again.ok && again.seq).toBeGreaterThan(0);
  const patiently = { everyMs: 200 };
  const records = await until(
    'the stream is read',
    answered(() => waitingIn(bus, 'MT_TXN')),
    patiently,
  );
  const stored = records.map((record) => Buffer.from(record.data).toString());
  expect(stored.filter((id) => id === 'before' || id === 'one').toSorted()).toEqual(['before', 'one']);
  const read = await until(
    'EVENTS is read',
    answered(() => recordsOf(bus, 'EVENTS', 'ev.alpha.>')),
    patiently,
  );
  const events = read.flatMap((record) => decodeEvents(record.data));
  expect(events.map((each) => each.eventId)).toEqual([event.eventId]);
  cluster.restart(leader);
}, 180_000);

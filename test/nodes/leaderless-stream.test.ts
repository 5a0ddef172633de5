// A stream without a quorum acks none of its publishes; as many as one stream may have in flight are pending then, and
// intents and messages of other streams continue as usual. Three real nats-servers: LATER has a copy on two of them, of
// which the follower is stopped, EVENTS and MT on all three and so a quorum without it.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { type Bus, connectBus } from '../../cluster/bus/connect.ts';
import { decodeEvents } from '../../model/records/event-record.ts';
import { type PublishResult, Publisher } from '../../cluster/bus/publisher.ts';
import { type DeliveryEvent, eventOfMessage } from '../../model/delivery-event.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { limits } from '../../platform/limits.ts';
import { recordsOf } from '../support/bus.ts';
import { messageWith } from '../support/messages.ts';
import { type NatsCluster, startNatsCluster } from '../support/nats-cluster.ts';

let cluster: NatsCluster;
beforeAll(async () => {
  cluster = await startNatsCluster();
});
afterAll(() => cluster.stop());

const serverOf = (name: string | undefined) => Number(name?.split('-')[1] ?? -1);

async function groupOf(bus: Bus, stream: string): Promise<{ leader: number; followers: readonly number[] }> {
  const { cluster: group } = await bus.manager.streams.info(stream);
  const current = (group?.replicas ?? []).filter((replica) => replica.current);
  return { leader: serverOf(group?.leader), followers: current.map(({ name }) => serverOf(name)) };
}

/** LATER on two servers, of which the second leads none of the other streams. */
async function twoForLater(bus: Bus): Promise<{ leader: number; follower: number }> {
  const { config } = await bus.manager.streams.info('LATER');
  await bus.manager.streams.update('LATER', { ...config, num_replicas: 2 });
  return until(
    'the follower of LATER leads nothing else',
    async () => {
      const { leader, followers } = await groupOf(bus, 'LATER');
      const [follower = -1] = followers;
      if (leader < 0 || followers.length !== 1) return false;
      for (const stream of ['EVENTS', 'MT_OTP']) {
        const group = await groupOf(bus, stream);
        if (group.followers.length === 2 && group.leader !== follower) continue;
        await bus.connection.request(`$JS.API.STREAM.LEADER.STEPDOWN.${stream}`, '', { timeout: 2_000 });
        return false;
      }
      return { leader, follower };
    },
    { everyMs: 500 },
  );
}

test('1,024 publishes of LATER wait for its quorum: intents and OTP are durable meanwhile, each at once', async () => {
  const looking = await connectBus(cluster.url(), 'looking');
  const { leader, follower } = await twoForLater(looking);
  await looking.close();
  const bus = await connectBus(cluster.urlOf(leader), 'publishing');
  const publisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const writer = new EventWriter(publisher);
  const written: DeliveryEvent[] = [];
  const timesOf = async (count: number): Promise<readonly number[]> => {
    const times: number[] = [];
    for (let each = 0; each < count; each += 1) {
      const beganAtMs = systemClock.monotonicMs();
      const event = eventOfMessage(messageWith({ carrier: 'alpha' }), { kind: 'intent', atMs: 1, attempt: 1 });
      const durable = new Promise<boolean>((resolve) => writer.write(event, resolve, true));
      const sent = publisher.publishOne('mt.otp.alpha.0', Buffer.from('otp'), event.eventId);
      expect([await durable, (await sent).ok]).toEqual([true, true]);
      written.push(event);
      times.push(systemClock.monotonicMs() - beganAtMs);
    }
    return times;
  };
  await timesOf(50);

  await cluster.pause(follower);
  const answers: PublishResult[] = [];
  const later = (id: number) =>
    publisher.publish('later.1.alpha', Buffer.from('x'), `later.${id}`, (answer) => answers.push(answer));
  for (let id = 0; id < limits.bus.publishesInFlightMax; id += 1) later(id);
  expect(publisher.hasCapacity('later.1.alpha')).toBe(false);
  expect(await publisher.publishOne('later.1.alpha', Buffer.from('x'), 'one more')).toEqual({
    ok: false,
    failure: 'busy',
  });
  const times = await timesOf(500);
  expect(answers).toEqual([]);
  expect(publisher.inFlight).toBe(1_024);
  // Without a bound of its own, whatever waits for it would wait until the follower is back.
  expect(times.toSorted((one, other) => one - other)[250]).toBeLessThan(1_000);

  cluster.resume(follower);
  await until('LATER has them all', () => answers.length === 1_024);
  expect(answers.every(({ ok }) => ok)).toBe(true);
  expect((await bus.manager.streams.info('LATER')).state.messages).toBe(1_024);
  const events = (await recordsOf(bus, 'EVENTS', 'ev.alpha.>')).flatMap((record) => decodeEvents(record.data));
  expect(events.map(({ eventId }) => eventId)).toEqual(written.map(({ eventId }) => eventId));
  writer.close();
  publisher.close();
  await bus.close();
}, 180_000);

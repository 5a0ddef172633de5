// A node reads other nodes' events about a carrier's messages in stream order, each once, and without a pause when the
// server drops a pull in silence: messages wait for the claims read here.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { lostTime } from '../../../support/lost-time.ts';
import { type Following, followEvents } from '../../../../actors/carrier/multi-node/follow.ts';
import { ensureStreams } from '../../../../cluster/bus/ensure.ts';
import { encodeEvents } from '../../../../model/records/event-record.ts';
import { pullLastsMs } from '../../../../cluster/bus/lost-pull.ts';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
import { type DeliveryEvent, eventOfMessage } from '../../../../model/delivery-event.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { type TestBus, startBus } from '../../../support/bus.ts';
import { messageWith } from '../../../support/messages.ts';

let test_: TestBus;
let publisher: Publisher;
beforeAll(async () => {
  test_ = await startBus();
  publisher = new Publisher(test_.bus);
});
afterAll(async () => {
  publisher.close();
  await test_.stop();
});

const eventOf = (carrier: string, attempt: number): DeliveryEvent =>
  eventOfMessage(messageWith({ carrier }), { kind: 'deferred', atMs: systemClock.nowMs(), attempt, detail: carrier });
const publish = (event: DeliveryEvent, id: string) =>
  publisher.publishOne(`ev.${event.carrier}.0`, encodeEvents([event]), id);
const follow = (carrier: string, learn: (event: DeliveryEvent, isOwn: boolean) => void): Promise<Following> =>
  followEvents({ bus: test_.bus, carrier, fromSeq: 1, writerId: 'own', learn });

test('what was there is learnt before it is ready, then new events, in order, and own batches are recognised', async () => {
  await publish(eventOf('order', 1), 'other.1');
  const learnt: [number, boolean][] = [];
  const following = await follow('order', (event, isOwn) => learnt.push([event.attempt, isOwn]));
  expect(learnt).toEqual([[1, false]]);
  await publish(eventOf('order', 2), 'own.1');
  await publish(eventOf('order', 3), 'other.2');
  await until('all came', () => learnt.length === 3);
  expect(learnt).toEqual([
    [1, false],
    [2, true],
    [3, false],
  ]);
  following.again();
  await publish(eventOf('order', 4), 'other.3');
  await until('it goes on behind what was read', () => learnt.length === 4);
  expect(learnt.at(-1)).toEqual([4, false]);
  await following.stop();
});

test('EVENTS recreated under it is read from its beginning, however far the old one was read', async () => {
  const learnt: number[] = [];
  for (let attempt = 1; attempt <= 20; attempt += 1) await publish(eventOf('again', attempt), `old.${attempt}`);
  const following = await follow('again', ({ attempt }) => learnt.push(attempt));
  expect(learnt.length).toBe(20);
  await test_.bus.manager.streams.delete('EVENTS');
  await ensureStreams(test_.bus);
  await publish(eventOf('again', 101), 'new.1');
  await publish(eventOf('again', 102), 'new.2');
  await until('the new ones', () => learnt.length === 22);
  expect(learnt.slice(20)).toEqual([101, 102]);
  expect(await following.readTo()).toBe(Number.POSITIVE_INFINITY);
  await following.stop();
});

test('a pull that the server drops in silence delays nothing', async () => {
  const carriers = Array.from({ length: 12 }, (_, index) => `ends${index}`);
  let longestMs = 0;
  let received = 0;
  // A stall of this process or of the server, on a busy machine, is no pause of the follower.
  const lost = lostTime(test_.bus);
  const learn = (event: DeliveryEvent) => {
    longestMs = Math.max(longestMs, systemClock.nowMs() - event.atMs);
    received += 1;
  };
  const followings = await Promise.all(carriers.map((carrier) => follow(carrier, learn)));
  const endsAtMs = systemClock.nowMs() + pullLastsMs;
  await until('the pulls are about to end', () => systemClock.nowMs() > endsAtMs - 30, { everyMs: 1 });
  const published: Promise<unknown>[] = [];
  const passed = () => {
    // Fewer than make the client pull again: the pull is to end by its time.
    for (const carrier of carriers)
      published.push(publish(eventOf(carrier, 1), `other.${published.length}.${carrier}`));
    return published.length > carriers.length * 90 || systemClock.nowMs() > endsAtMs + 60;
  };
  await until('they have ended', passed, { everyMs: 0 });
  await Promise.all(published);
  await until('all received', () => received === published.length);
  expect(longestMs).toBeLessThan(700 + lost.lostMs());
  await lost.stop();
  await Promise.all(followings.map((each) => each.stop()));
});

test('one that cannot begin waits for the server, and begins by itself', async () => {
  await publish(eventOf('waits', 1), 'other.waits');
  await test_.nats.kill9();
  const learnt: number[] = [];
  const following = follow('waits', ({ attempt }) => learnt.push(attempt));
  expect(await Promise.race([following, systemClock.sleep(300).then(() => 'waits')])).toBe('waits');
  await test_.nats.restart();
  await (await following).stop();
  expect(learnt).toEqual([1]);
});

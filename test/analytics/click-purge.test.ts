// What is recorded of CLICKS leaves the stream, also when nobody clicks again: it has hashes of addresses.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { recordClicks } from '../../analytics/clicks/record-clicks.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { clicksSubject } from '../../cluster/bus/subjects.ts';
import { newClickId } from '../../model/ids.ts';
import { encodeClicks } from '../../model/records/click-record.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { until } from '../support/until.ts';
import { type EventStore, startEventStore } from './support/event-store.ts';
import { account } from './support/events.ts';

let store: EventStore;
beforeAll(async () => {
  store = await startEventStore();
});
afterAll(() => store?.stop());

const { purgeEveryMs, recentKeptMs } = limits.clicks;

test('recorded clicks are purged when they are of no use to a restart', async () => {
  let aheadMs = 0;
  const purges: (() => void)[] = [];
  const clock: typeof systemClock = {
    ...systemClock,
    nowMs: () => systemClock.nowMs() + aheadMs,
    every(ms, work) {
      if (ms === purgeEveryMs) purges.push(work);
      return systemClock.every(ms, work);
    },
  };
  const publisher = new Publisher(store.bus);
  const { bus, engine } = store;
  const recording = recordClicks({ bus, engine, publisher, receipts: async () => new Map(), clock });
  const atMs = systemClock.nowMs();
  const of = { accountId: account, livemode: true, linkId: 'lnk_1', url: 'https://shop.example.org/', series: 9, atMs };
  const request = { isHead: false, isPrefetch: false, hasLanguage: true, userAgent: 'Mozilla/5.0', addressHash: 'a' };
  for (const index of [1, 2]) {
    const click = { ...of, ...request, clickId: newClickId(atMs), index, address: null };
    await bus.jetstream.publish(clicksSubject, encodeClicks([click]));
    await until('it is recorded', async () => {
      const [row] = await engine.rows("SELECT toInt32(sum(counts)) FROM click_counts WHERE what = 'clicks'");
      return Number(row?.[0]) === index;
    });
  }
  const left = async () => (await bus.manager.streams.info(streamNames.clicks)).state.messages;
  expect(await left()).toBe(2);
  aheadMs = recentKeptMs + 1_000;
  await until('it is empty', async () => {
    for (const purge of purges) purge();
    return (await left()) === 0;
  });
  await recording.stop(5_000);
  publisher.close();
});

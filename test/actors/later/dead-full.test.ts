// Unreadable records of SCHEDULED, HOLDS and LATER, more than a due second may have in flight at once, while DEAD is
// full: what comes after them is released in time, nothing is redelivered for ever, and when DEAD has capacity they are
// there.
import { afterEach, expect, test } from 'vitest';
import { Releasers } from '../../../actors/later/releasers.ts';
import { takeFromFallback } from '../../../cluster/bus/dead-letter-fallback.ts';
import { publishLater } from '../../../cluster/bus/later.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { fallbackFilters, type WaitKind, waitSubject } from '../../../cluster/bus/subjects.ts';
import { systemClock } from '../../../platform/clock.ts';
import { within } from '../../support/running-clock.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { type TestBus, recordsOf, startBus, waitingIn } from '../../support/bus.ts';

let on: TestBus;
const ends: (() => Promise<unknown>)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) await end();
  await on.stop();
});

const streams = { scheduled: 'SCHEDULED', holds: 'HOLDS', later: 'LATER' } as const;
const kinds = Object.keys(streams) as WaitKind[];
const poisonEach = limits.bus.laterHeldMax + 200;

const consumersOf = async (stream: string) => {
  const found: string[] = [];
  const pages = on.bus.manager.consumers.list(stream);
  for (let page = await pages.next(); page.length > 0; page = await pages.next())
    found.push(...page.map(({ name }) => name));
  return found;
};
const messagesIn = async (stream: string) => (await on.bus.manager.streams.info(stream)).state.messages;
const unreadIn = async (stream: string) => {
  const filter = fallbackFilters[stream] ?? '';
  const { state } = await on.bus.manager.streams.info(stream, { subjects_filter: filter });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
};

test('due messages are released beside unreadable records while DEAD is full', async () => {
  // Two lines for each of thousands of records.
  const { level } = log;
  log.level = 'fatal';
  ends.push(async () => void (log.level = level));
  on = await startBus();
  const { manager } = on.bus;
  const publisher = new Publisher(on.bus, { deadlineMs: 20_000 });
  const { config } = await manager.streams.info('DEAD');
  await manager.streams.update('DEAD', { ...config, max_bytes: 4_096 });
  await until('DEAD is full', async () => !(await publisher.publishOne('dead.test', Buffer.alloc(900), null)).ok);
  const inDeadBefore = await messagesIn('DEAD');

  const dueAtMs = systemClock.nowMs() + 3_000;
  for (const kind of kinds) {
    for (let from = 0; from < poisonEach; from += 500) {
      const puts = Array.from({ length: Math.min(500, poisonEach - from) }, (_, at) =>
        publisher.publishOne(waitSubject(kind, dueAtMs, 'one shard'), Buffer.from(`poison ${from + at}`), null),
      );
      expect((await Promise.all(puts)).every(({ ok }) => ok)).toBe(true);
    }
    const good = { subject: `mt.txn.alpha.${kinds.indexOf(kind)}`, payload: Buffer.from(kind), id: kind };
    await new Promise((resolve) =>
      publishLater(
        publisher,
        {
          ...good,
          dueAtMs,
          shardKey: 'one shard',
          ...(kind === 'scheduled' ? { cancelable: 'sms_0' } : {}),
        },
        kind === 'holds' ? dueAtMs - limits.bus.shortWaitMsMax - 1 : dueAtMs - 500,
        resolve,
      ),
    );
  }
  const beganAtMs = systemClock.monotonicMs();
  const releasers = new Releasers(on.bus);
  await releasers.start();
  ends.push(() => releasers.stop());
  const moving = await takeFromFallback(on.bus, publisher);
  ends.push(async () => {
    await moving.stop();
    publisher.close();
  });
  const released = async () => (await waitingIn(on.bus, 'MT_TXN')).length === kinds.length;
  await until('what can be read is released', released, within(15_000));
  // Their due second is over: its consumer is deleted, and they are not redelivered again and again.
  for (const kind of kinds) {
    const left = async () => (await consumersOf(streams[kind])).join() === 'unread';
    await until(`nothing of ${streams[kind]} is due`, left, { everyMs: 200 });
    expect(await messagesIn(streams[kind])).toBe(await unreadIn(streams[kind]));
    const { delivered } = await manager.consumers.info(streams[kind], 'unread');
    const rounds = Math.ceil((systemClock.monotonicMs() - beganAtMs) / limits.bus.fallbackRetryMs) + 1;
    expect(delivered.consumer_seq).toBeLessThanOrEqual(rounds * limits.bus.fallbackHeldMax);
  }
  const inDead = async () => (await messagesIn('DEAD')) - inDeadBefore;
  const waiting = (await Promise.all(kinds.map((kind) => unreadIn(streams[kind])))).reduce((sum, count) => sum + count);
  expect(waiting + (await inDead())).toBe(poisonEach * kinds.length);
  expect(waiting).toBeGreaterThan(limits.bus.laterHeldMax);

  await manager.streams.update('DEAD', { ...config, max_bytes: config.max_bytes });
  await until('DEAD has them', async () => (await inDead()) === poisonEach * kinds.length);
  for (const kind of kinds) {
    const records = await recordsOf(on.bus, 'DEAD', `dead.${streams[kind]}`);
    expect(new Set(records.map(({ data }) => Buffer.from(data).toString())).size).toBe(poisonEach);
    expect(new Set(records.map((each) => each.header('Heliograph-Subject')))).toEqual(
      new Set([waitSubject(kind, dueAtMs, 'one shard')]),
    );
  }
});

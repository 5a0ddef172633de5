// Unreadable records, more than a shard may have in flight at once, while DEAD is full: what comes after them in the
// same shard is sent all the same, and when DEAD has capacity they are there, each once.
import { afterEach, expect, test } from 'vitest';
import { takeFromFallback } from '../../../../cluster/bus/dead-letter-fallback.ts';
import { messageSubject } from '../../../../cluster/bus/subjects.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { recordsOf } from '../../../support/bus.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';
import { messageWith } from '../../../support/messages.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const poisonMax = 700;
const unread = async () => {
  const { state } = await harness.bus.manager.streams.info('MT_TXN', { subjects_filter: 'mt.txn.*.*.unread' });
  return Object.values(state.subjects ?? {}).reduce((sum, count) => sum + count, 0);
};

test('a full DEAD stops no account shard; what it could not take waits beside the queue and follows', async () => {
  harness = await openCarrierHarness();
  const { manager } = harness.bus;
  const { config } = await manager.streams.info('DEAD');
  await manager.streams.update('DEAD', { ...config, max_bytes: 4_096 });
  await until(
    'DEAD is full',
    async () => !(await harness.publisher.publishOne('dead.test', Buffer.alloc(900), null)).ok,
  );
  const { state: before } = await manager.streams.info('DEAD');

  const { accountId } = messageWith();
  const subject = messageSubject('transactional', 'alpha', accountId);
  const windowPdus = 100;
  expect(poisonMax).toBeGreaterThan(windowPdus * 3 + limits.overflow.inFlightMax);
  for (let at = 0; at < poisonMax; at += 1) {
    const published = await harness.publisher.publishOne(subject, Buffer.from(`poison ${at}`), `poison${at}`);
    expect(published.ok).toBe(true);
  }
  const sent = await harness.send(20);
  await harness.actor(carrierWith(harness.simulator, { bind: { window: 50, count: 2 } }));
  const account = await harness.settled(sent);
  expect(account.terminal).toBe(sent.length);
  // DEAD has room for some records that are smaller than those that filled it.
  const inDead = async () => (await manager.streams.info('DEAD')).state.messages - before.messages;
  await until(
    'what DEAD did not take waits beside the queue',
    async () => (await unread()) + (await inDead()) === poisonMax,
  );
  expect(await unread()).toBeGreaterThan(windowPdus * 3 + limits.overflow.inFlightMax);

  await manager.streams.update('DEAD', { ...config, max_bytes: config.max_bytes });
  const moving = await takeFromFallback(harness.bus, harness.publisher);
  await until('DEAD has them', async () => (await inDead()) === poisonMax);
  const records = await recordsOf(harness.bus, 'DEAD', 'dead.MT_TXN');
  expect(new Set(records.map((each) => Buffer.from(each.data).toString())).size).toBe(poisonMax);
  expect(new Set(records.map((each) => each.header('Heliograph-Subject')))).toEqual(new Set([subject]));
  expect(await unread()).toBe(0);
  await moving.stop();
});

// A flood of one account over two nodes that share a carrier: both set its excess aside, both serve what waits there,
// and when one of them is killed in the middle the other goes on with all of it, nothing lost and nothing sent twice.
import { afterEach, expect, test } from 'vitest';
import { asideSubject } from '../../cluster/bus/subjects.ts';
import { type AccountId, newAccountId, shardOf } from '../../model/ids.ts';
import { until } from '../../platform/deadline.ts';
import { limits } from '../../platform/limits.ts';
import {
  type CarrierHouse,
  type HostChild,
  carrierWith,
  openCarrierHouse,
  startHostChild,
} from '../support/carrier-house.ts';
import { type SentMessage, statesOf } from '../support/invariant.ts';

let house: CarrierHouse;
const running: HostChild[] = [];
afterEach(async () => {
  await Promise.all(running.splice(0).map((child) => child.kill9()));
  await house.stop();
});

const tps = 400;
const window = 10;

/** A new account in account shard 1. */
const account = (): AccountId => {
  for (;;) {
    const one = newAccountId(0);
    if (shardOf(one, limits.bus.accountShards) === 1) return one;
  }
};

async function node(name: string): Promise<HostChild> {
  const carrier = carrierWith(house.simulator, { tps, bind: { window, count: 2 } });
  const shared = { node: name, place: name, process: name, replicas: 1 };
  const child = await startHostChild(house, [carrier], 1, null, shared);
  running.push(child);
  return child;
}

test('a node killed while both set a flood aside: the other sends what is left of it, once, and its neighbour is not held up', async () => {
  house = await openCarrierHouse({ response: 'fixed:5' });
  await node('n1');
  const second = await node('n2');
  await until('both binds are up', () => house.simulator.binds().length === 2, { limitMs: 15_000 });
  const [flooding, other] = [account(), account()];
  const subject = asideSubject('otp', 'alpha', flooding);
  const waiting = async () => {
    const { state } = await house.bus.manager.streams.info('MT_OTP', { subjects_filter: subject });
    return state.subjects?.[subject] ?? 0;
  };
  const sent: SentMessage[] = [];
  const flood = house.send(2_500, { category: 'otp', accountId: flooding });
  await until('it is being set aside', async () => (await waiting()) > 100, { everyMs: 1 });
  await second.kill9();
  sent.push(...(await flood));
  const [neighbour] = await house.send(1, { category: 'otp', accountId: other });
  const before = house.simulator.stats().submits.total;
  await until('its neighbour is there', () => house.simulator.nonceCount(neighbour!.nonce) === 1, {
    limitMs: 20_000,
    everyMs: 5,
  });
  expect(house.simulator.stats().submits.total - before).toBeLessThan(sent.length / 3);
  const settled = await house.settled([...sent, neighbour!], 60_000);
  expect(settled.twice).toEqual([]);
  const states = await statesOf(house.bus);
  const never = new Set(settled.never);
  for (const { messageId, nonce } of sent) {
    if (never.has(nonce)) expect(states.get(messageId)?.status).toBe('unknown');
  }
  // What the dead one had chosen and not written, or written and not heard of.
  expect(settled.statuses['unknown'] ?? 0).toBeLessThanOrEqual(window * 4);
}, 120_000);

// A flood of one account over two nodes that share a carrier: both move its excess to overflow, both serve what waits
// there, and when one of them is killed meanwhile the other continues with all of it, nothing lost and nothing sent
// twice.
import { afterEach, expect, test } from 'vitest';
import { overflowSubject } from '../../cluster/bus/subjects.ts';
import { until } from '../support/until.ts';
import { newAccountInShard } from '../support/account-in-shard.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../support/carrier-harness.ts';
import { nodeNamed } from '../support/host-process.ts';
import { type SentMessage, silentlyLost } from '../support/invariant.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

const tps = 400;
const window = 10;

const node = (name: string) =>
  harness.host([carrierWith(harness.simulator, { tps, bind: { window, count: 2 } })], { shared: nodeNamed(name) });

test('a node killed while both move a flood to overflow: the other sends what is left of it, once, and its neighbour is not delayed', async () => {
  harness = await openCarrierHarness({ response: 'fixed:5' });
  await node('n1');
  const second = await node('n2');
  await until('both binds are up', () => harness.simulator.binds().length === 2);
  const [flooding, other] = [newAccountInShard(1), newAccountInShard(1)];
  const subject = overflowSubject('otp', 'alpha', flooding);
  const waiting = async () => {
    const { state } = await harness.bus.manager.streams.info('MT_OTP', { subjects_filter: subject });
    return state.subjects?.[subject] ?? 0;
  };
  const sent: SentMessage[] = [];
  const flood = harness.send(2_500, { category: 'otp', accountId: flooding });
  await until('it is being moved to overflow', async () => (await waiting()) > 100, { everyMs: 1 });
  await second.kill9();
  sent.push(...(await flood));
  const [neighbour] = await harness.send(1, { category: 'otp', accountId: other });
  const before = harness.simulator.stats().submits.total;
  await until('its neighbour is there', () => harness.simulator.nonceCount(neighbour!.nonce) === 1, {
    everyMs: 5,
  });
  expect(harness.simulator.stats().submits.total - before).toBeLessThan(sent.length / 3);
  const settled = await harness.settled([...sent, neighbour!]);
  expect(settled.twice).toEqual([]);
  expect(await silentlyLost(harness.bus, sent, settled)).toEqual([]);
  // What the killed node had chosen and not written, or written without an answer.
  expect(settled.statuses['unknown'] ?? 0).toBeLessThanOrEqual(window * 4);
}, 200_000);

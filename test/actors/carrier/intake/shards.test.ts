// How records come from the streams into the lanes: shard by shard, so that the backlog of one account does not come
// before another's messages.
import { afterEach, expect, test } from 'vitest';
import { AckPolicy } from '@nats-io/jetstream';
import { messageConsumerName } from '../../../../cluster/bus/streams.ts';
import { laneOf } from '../../../../model/message.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { newAccountInShard } from '../../../support/account-in-shard.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

test('an OTP of another account is sent before an OTP backlog that came first and is far longer than the prefetch', async () => {
  harness = await openCarrierHarness();
  const bind = { window: 5, count: 1 };
  const flood = await harness.send(600, { category: 'otp', accountId: newAccountInShard(1) });
  const other = await harness.send(1, { category: 'otp', accountId: newAccountInShard(2) });
  await harness.actor(carrierWith(harness.simulator, { tps: 200, bind }));
  await until('the other is there', () => harness.simulator.nonceCount(other[0]!.nonce) === 1, { everyMs: 5 });
  expect(harness.simulator.stats().submits.total).toBeLessThan(100);
  expect(await harness.settled([...flood, ...other])).toMatchObject({ twice: [], never: [] });
});

test('every account shard of every lane has one consumer', async () => {
  harness = await openCarrierHarness();
  await harness.actor(carrierWith(harness.simulator));
  for (const [category, lane] of Object.entries(laneOf)) {
    const stream = `MT_${lane.toUpperCase()}`;
    const names: string[] = [];
    for await (const info of harness.bus.manager.consumers.list(stream)) names.push(info.name);
    const wanted = Array.from({ length: limits.bus.accountShards }, (_, at) => messageConsumerName(lane, 'alpha', at));
    expect([category, names.toSorted()]).toEqual([category, wanted.toSorted()]);
  }
});

test('a start that fails takes no records: the consumers it had opened are closed again', async () => {
  harness = await openCarrierHarness();
  const { consumers } = harness.bus.manager;
  const filter = 'mt.promo.alpha.3';
  await consumers.add('MT_PROMO', {
    durable_name: 'another',
    filter_subject: filter,
    ack_policy: AckPolicy.Explicit,
  });
  // On a work queue two consumers cannot share a subject.
  await expect(harness.actor(carrierWith(harness.simulator))).rejects.toThrow();
  await until('nothing asks for records any more', async () => {
    for await (const { num_waiting } of consumers.list('MT_OTP')) if (num_waiting > 0) return false;
    return true;
  });
  expect((await consumers.info('MT_OTP', messageConsumerName('otp', 'alpha', 0))).num_waiting).toBe(0);
});

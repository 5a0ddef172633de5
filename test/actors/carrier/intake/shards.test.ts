// How records come from the streams into the lanes: shard by shard, so that what one account has waiting in its
// stream does not stand before another's, and in place of the consumers that took all shards of a lane.
import { afterEach, expect, test } from 'vitest';
import { AckPolicy } from '@nats-io/jetstream';
import { formerConsumerName, messageConsumerName } from '../../../../cluster/bus/streams.ts';
import { laneOf } from '../../../../model/message.ts';
import { until } from '../../../../platform/deadline.ts';
import { limits } from '../../../../platform/limits.ts';
import { newAccountInShard } from '../../../support/account-in-shard.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../../support/carrier-house.ts';

let house: CarrierHouse;
afterEach(() => house.stop());

test('an OTP of another account goes before the OTP backlog of one that came first and is far longer than the prefetch', async () => {
  house = await openCarrierHouse();
  const bind = { window: 5, count: 1 };
  const flood = await house.send(600, { category: 'otp', accountId: newAccountInShard(1) });
  const other = await house.send(1, { category: 'otp', accountId: newAccountInShard(2) });
  await house.actor(carrierWith(house.simulator, { tps: 200, bind }));
  await until('the other is there', () => house.simulator.nonceCount(other[0]!.nonce) === 1, { everyMs: 5 });
  expect(house.simulator.stats().submits.total).toBeLessThan(100);
  expect(await house.settled([...flood, ...other])).toMatchObject({ twice: [], never: [] });
});

test('every account shard of every lane has one consumer', async () => {
  house = await openCarrierHouse();
  await house.actor(carrierWith(house.simulator));
  for (const [category, lane] of Object.entries(laneOf)) {
    const stream = `MT_${lane.toUpperCase()}`;
    const names: string[] = [];
    for await (const info of house.bus.manager.consumers.list(stream)) names.push(info.name);
    const wanted = Array.from({ length: limits.bus.accountShards }, (_, at) => messageConsumerName(lane, 'alpha', at));
    expect([category, names.toSorted()]).toEqual([category, wanted.toSorted()]);
  }
});

test('a consumer of all shards from before is replaced, and what it held without an ack is sent once', async () => {
  house = await openCarrierHouse();
  const name = formerConsumerName('txn', 'alpha');
  await house.bus.manager.consumers.add('MT_TXN', {
    durable_name: name,
    filter_subject: 'mt.txn.alpha.>',
    ack_policy: AckPolicy.Explicit,
  });
  const sent = await house.send(20, { accountId: newAccountInShard(3) });
  const former = await house.bus.jetstream.consumers.get('MT_TXN', name);
  for await (const record of await former.fetch({ max_messages: 5 })) expect(record.redelivered).toBe(false);
  await house.actor(carrierWith(house.simulator));
  expect(await house.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: 20 } });
  await expect(house.bus.manager.consumers.info('MT_TXN', name)).rejects.toThrow('consumer not found');
});

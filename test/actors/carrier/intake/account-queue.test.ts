// How much of one account may wait for a carrier: the actor counts it, the doors hear of it, and nobody else in its
// account shard is refused for it. Both sides of the bound.
import { afterEach, expect, test } from 'vitest';
import { type AccountQueues, watchAside } from '../../../../cluster/bus/aside-beacon.ts';
import { asideSubject, messageSubject } from '../../../../cluster/bus/subjects.ts';
import type { AccountId } from '../../../../model/ids.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../../platform/deadline.ts';
import { limits } from '../../../../platform/limits.ts';
import { newAccountInShard } from '../../../support/account-in-shard.ts';
import { type CarrierHouse, carrierWith, openCarrierHouse } from '../../../support/carrier-house.ts';

let house: CarrierHouse;
let queues: AccountQueues;
afterEach(async () => {
  queues.stop();
  await house.stop();
});

test('an account is refused from the bound on, others of its shard are not, and it is taken again when there is room', async () => {
  house = await openCarrierHouse();
  queues = watchAside(house.bus);
  const [flooding, other] = [newAccountInShard(1), newAccountInShard(1)];
  const aside = asideSubject('otp', 'alpha', flooding);
  const place = (of: AccountId, category: 'otp' | 'transactional' = 'otp') => queues.placeOf(category, 'alpha', of);
  const waiting = async () => {
    const { state } = await house.bus.manager.streams.info('MT_OTP', { subjects_filter: aside });
    return state.subjects?.[aside] ?? 0;
  };
  const bind = { window: 5, count: 1 };
  const bound = 500;
  const accountQueueMax = { otp: bound, txn: bound, promo: bound };
  const away = carrierWith({ port: 1 }, { bind });
  const actor = await house.actor(away, systemClock, undefined, undefined, undefined, { accountQueueMax });
  const kept = limits.aside.keptMin;

  const sent = await house.send(kept + bound - 1, { category: 'otp', accountId: flooding });
  await until('all but what its lane keeps is aside', async () => (await waiting()) === bound - 1);
  await until('the doors send it there', () => JSON.stringify(place(flooding)) === JSON.stringify({ subject: aside }));
  // It has been counted again since.
  await systemClock.sleep(limits.aside.countEveryMs * 2);
  expect(place(flooding)).toEqual({ subject: aside });

  sent.push(...(await house.send(1, { category: 'otp', accountId: flooding })));
  await until('it is refused', () => 'full' in place(flooding));
  expect(place(other)).toEqual({ subject: messageSubject('otp', 'alpha', other) });
  expect(place(flooding, 'transactional')).toHaveProperty('subject');

  await actor.drain();
  await house.actor(carrierWith(house.simulator, { tps: 300, bind }), systemClock, undefined, undefined, undefined, {
    accountQueueMax,
  });
  await until('it is taken again', () => 'subject' in place(flooding));
  expect(house.simulator.stats().submits.total).toBeLessThan(sent.length);
  expect(await house.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: sent.length } });
  const usual = JSON.stringify({ subject: messageSubject('otp', 'alpha', flooding) });
  await until('its messages go the usual way again', () => JSON.stringify(place(flooding)) === usual);
});

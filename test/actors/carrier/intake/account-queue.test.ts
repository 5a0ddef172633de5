// How much of one account may wait for a carrier: the actor counts it and publishes it to the entry points, and no
// other account of its shard is refused for it. Both sides of the bound.
import { afterEach, expect, test } from 'vitest';
import { type AccountQueues, watchOverflow } from '../../../../cluster/bus/overflow-heartbeat.ts';
import { overflowSubject, messageSubject } from '../../../../cluster/bus/subjects.ts';
import type { AccountId } from '../../../../model/ids.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { until } from '../../../support/until.ts';
import { limits } from '../../../../platform/limits.ts';
import { newAccountInShard } from '../../../support/account-in-shard.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../../../support/carrier-harness.ts';

let harness: CarrierHarness;
let queues: AccountQueues;
afterEach(async () => {
  queues.stop();
  await harness.stop();
});

test('an account is refused from the bound on, others of its shard are not, and it is accepted again when there is capacity', async () => {
  harness = await openCarrierHarness();
  queues = watchOverflow(harness.bus);
  const [flooding, other] = [newAccountInShard(1), newAccountInShard(1)];
  const overflow = overflowSubject('otp', 'alpha', flooding);
  const place = (of: AccountId, category: 'otp' | 'transactional' = 'otp') => queues.placeOf(category, 'alpha', of);
  const waiting = async () => {
    const { state } = await harness.bus.manager.streams.info('MT_OTP', { subjects_filter: overflow });
    return state.subjects?.[overflow] ?? 0;
  };
  const bind = { window: 5, count: 1 };
  const bound = 500;
  const accountQueueMax = { otp: bound, txn: bound, promo: bound };
  const away = carrierWith({ port: 1 }, { bind });
  const actor = await harness.actor(away, systemClock, undefined, undefined, undefined, { accountQueueMax });
  const kept = limits.overflow.reservedMin;

  const sent = await harness.send(kept + bound - 1, { category: 'otp', accountId: flooding });
  await until('all but what its lane keeps is in overflow', async () => (await waiting()) === bound - 1);
  await until(
    'the entry points send it there',
    () => JSON.stringify(place(flooding)) === JSON.stringify({ subject: overflow }),
  );
  // It has been counted again since.
  await systemClock.sleep(limits.overflow.countEveryMs * 2);
  expect(place(flooding)).toEqual({ subject: overflow });

  sent.push(...(await harness.send(1, { category: 'otp', accountId: flooding })));
  await until('it is refused', () => 'full' in place(flooding));
  expect(place(other)).toEqual({ subject: messageSubject('otp', 'alpha', other) });
  expect(place(flooding, 'transactional')).toHaveProperty('subject');

  await actor.drain();
  await harness.actor(
    carrierWith(harness.simulator, { tps: 300, bind }),
    systemClock,
    undefined,
    undefined,
    undefined,
    {
      accountQueueMax,
    },
  );
  await until('it is taken again', () => 'subject' in place(flooding));
  expect(harness.simulator.stats().submits.total).toBeLessThan(sent.length);
  expect(await harness.settled(sent)).toMatchObject({ twice: [], never: [], statuses: { delivered: sent.length } });
  const usual = JSON.stringify({ subject: messageSubject('otp', 'alpha', flooding) });
  await until('its messages go the usual way again', () => JSON.stringify(place(flooding)) === usual);
});

// Terminal events are counted: on a real nats-server and the real simulator, whose magic numbers decide.
import { afterEach, expect, test } from 'vitest';
import type { Category } from '../../model/message.ts';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../support/until.ts';
import { metrics } from '../../platform/telemetry.ts';
import { type CarrierHarness, carrierWith, openCarrierHarness } from '../support/carrier-harness.ts';

let harness: CarrierHarness;
afterEach(() => harness.stop());

async function counted(category: Category): Promise<Record<string, number>> {
  const { values } = await metrics.ended.get();
  const ours = values.filter(({ labels }) => labels.carrier === 'alpha' && labels.category === category);
  return Object.fromEntries(ours.map(({ labels, value }) => [labels.status, value]));
}

const nothing = { delivered: 0, undelivered: 0, expired: 0, rejected: 0, unknown: 0, failed: 0, blocked: 0 };

test('every terminal event is counted once when it is durable, by category and status, also of messages that no carrier got', async () => {
  harness = await openCarrierHarness({ magic: true });
  // A receipt that comes twice is one end.
  harness.simulator.setFault('duplicate-receipt');
  const running = await harness.actor(carrierWith(harness.simulator));
  expect(await counted('otp')).toEqual(nothing);
  const otp = { category: 'otp' } as const;
  const sent = [
    ...(await harness.send(3, { ...otp, recipient: '+8801712340000' })),
    ...(await harness.send(2, { ...otp, recipient: '+8801712340001' })),
    ...(await harness.send(1, { ...otp, recipient: '+8801712340002' })),
    ...(await harness.send(4, { ...otp, recipient: '+8801712349999', validUntilMs: systemClock.nowMs() - 1 })),
  ];
  await harness.settled(sent);
  const ended = { ...nothing, delivered: 3, undelivered: 2, rejected: 1, expired: 4 };
  await until('all are counted', async () => JSON.stringify(await counted('otp')) === JSON.stringify(ended));
  await until('the second receipts are answered', () => harness.simulator.stats().receipts.acked === 10);
  await running.drain();
  await harness.actor(carrierWith(harness.simulator));
  const others = await harness.send(1, { recipient: '+8801712349999' });
  await harness.settled(others);
  await until('the last is counted', async () => (await counted('transactional'))['delivered'] === 1);
  // Neither the second receipts nor the restart counted anything again.
  expect(await counted('otp')).toEqual(ended);
});

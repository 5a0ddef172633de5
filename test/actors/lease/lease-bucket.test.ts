// The watch of the leases on a real nats-server: it delivers the present state, and does not wait for ever for it.
import { afterEach, expect, test } from 'vitest';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { type LeaseEntry, LeaseBucket } from '../../../actors/lease/lease-bucket.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { cutProxy } from '../../support/cut-proxy.ts';

let bus: TestBus;
const ends: (() => void)[] = [];
afterEach(async () => {
  for (const end of ends.splice(0).reverse()) end();
  await bus.stop();
});

/** Two keys, one of them overwritten, and one that was released. */
async function filled(): Promise<LeaseBucket> {
  bus = await startBus();
  const bucket = new LeaseBucket(bus.bus);
  ends.push(() => bucket.close());
  await bucket.watch(() => {});
  const first = await bucket.put('heartbeat.one', new Uint8Array([1]), 0);
  const second = await bucket.put('heartbeat.two', new Uint8Array([2]), 0);
  if (typeof first === 'string' || typeof second === 'string') throw new Error('not written');
  await bucket.put('heartbeat.one', new Uint8Array([3]), first.revision);
  await bucket.remove('heartbeat.two', second.revision);
  return bucket;
}

test('the present state is delivered before it is ready, the last value of each key', async () => {
  await filled();
  const other = new LeaseBucket(bus.bus);
  ends.push(() => other.close());
  const loaded: LeaseEntry[] = [];
  await other.watch((entry) => loaded.push(entry));
  expect(loaded.map(({ key, value }) => [key, value === null ? null : [...value]])).toEqual([
    ['heartbeat.one', [3]],
    ['heartbeat.two', null],
  ]);
});

test('a watch that delivers nothing ends with an error, so that its owner can retry', async () => {
  await filled();
  const proxy = await cutProxy(bus.nats.url, { when: 'CONSUMER.MSG.NEXT.KV_leases', times: 1, what: 'requests' });
  const connection = await connectBus(proxy.url, 'deaf');
  const unresponsive = new LeaseBucket(connection);
  ends.push(() => {
    unresponsive.close();
    proxy.close();
    void connection.close();
  });
  await expect(unresponsive.watch(() => {})).rejects.toThrow('reading the present leases');
});

// A connection whose attempts to connect again are refused, because the server did not get its signature in time.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { type CutProxy, cutProxy } from '../../support/cut-proxy.ts';
import { until } from '../../support/until.ts';

let server: TestBus;
let proxy: CutProxy;
beforeAll(async () => {
  server = await startBus();
  proxy = await cutProxy(server.nats.url, { when: 'from.here.on', times: 1, what: 'requests' });
});
afterAll(async () => {
  proxy.close();
  await server.stop();
});

test('is refused again and again, and works when the server gets it', async () => {
  const bus = await connectBus(proxy.url, 'test');
  let refusals = 0;
  const counting = (async () => {
    for await (const status of bus.connection.status()) {
      if (status.type === 'error' && /Authentication Timeout/i.test(status.error.message)) refusals += 1;
    }
  })();
  bus.connection.publish('from.here.on');
  await until('the server gets nothing', () => proxy.isCut());
  await server.nats.kill9();
  await server.nats.restart();
  await until('it is refused three times', () => refusals >= 3);
  expect(bus.connected()).toBe(false);
  proxy.mend();
  await until('it is connected', () => bus.connected());
  await until('it works', async () => (await bus.manager.streams.info('EVENTS').catch(() => null)) !== null);
  await bus.close();
  await counting;
});

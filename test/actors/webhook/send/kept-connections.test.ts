// Which connections a sender keeps when it calls more origins than it may have connections to.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { afterEach, expect, test } from 'vitest';
import { HttpSender, type SendResult } from '../../../../actors/webhook/send/http-sender.ts';
import { parseNetworks } from '../../../../platform/ip-address.ts';
import { limits } from '../../../../platform/limits.ts';
import { until } from '../../../support/until.ts';

const closers: (() => unknown)[] = [];
afterEach(() => Promise.all(closers.splice(0).map((close) => close())));

const sender = new HttpSender({ rules: () => ({ allowed: parseNetworks(['127.0.0.0/8']) }) });
const send = (url: string) =>
  new Promise<SendResult>((done) => {
    sender.send({ accountId: 'acc_1', url: new URL(url), headers: {}, body: '{}' }, done);
  });

/** A receiver that counts its connections. */
async function listen() {
  const server = createServer((_request, response) => response.writeHead(204).end());
  const connections = { url: '', opened: 0, closed: 0 };
  server.on('connection', (socket) => {
    connections.opened += 1;
    socket.on('close', () => (connections.closed += 1));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(() => server.close());
  connections.url = `http://127.0.0.1:${(server.address() as AddressInfo).port}/`;
  return connections;
}

test('the origin whose last request is the longest ago loses its connection, and no other one', async () => {
  closers.push(() => sender.close());
  const [stays, goes] = [await listen(), await listen()];
  await send(stays.url);
  await send(goes.url);
  const closed = createServer();
  await new Promise<void>((resolve) => closed.listen(0, resolve));
  const { port } = closed.address() as AddressInfo;
  await new Promise((resolve) => closed.close(resolve));
  // Nothing listens there. With the two above, one origin more than there may be.
  const others = Array.from(
    { length: limits.delivery.originsMax - 1 },
    (_, at) => `http://127.9.${at >> 8}.${at & 255}:${port}/`,
  );
  for (let at = 0; at < others.length; at += 64) {
    const some = await Promise.all([send(stays.url), ...others.slice(at, at + 64).map(send)]);
    expect(some.map(({ error }) => error)).toEqual([null, ...some.slice(1).map(() => 'connect_error')]);
  }
  await until('its connection is closed', () => goes.closed === 1);
  expect(stays.closed).toBe(0);
  await send(goes.url);
  expect(goes.opened).toBe(2);
});

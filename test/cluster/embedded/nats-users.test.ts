// Each role is a user of its own on the embedded nats-server, may not write what is not its business, and gives nobody a
// password.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { nkeys } from '@nats-io/transport-node';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type Bus, connectBus } from '../../../cluster/bus/connect.ts';
import { ensureStreams } from '../../../cluster/bus/ensure.ts';
import { natsUrl } from '../../../cluster/embedded/nats.ts';
import { type NatsUser, forbiddenSubjects, natsUsers, userSeed } from '../../../cluster/embedded/nats-users.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

const secret = 'test-only';
let house: TestBus;
let port: number;
beforeAll(async () => {
  house = await startBus('test');
  port = Number(new URL(house.nats.url).port);
});
afterAll(() => house?.stop());

async function as<T>(user: NatsUser, work: (bus: Bus) => Promise<T>): Promise<T> {
  const bus = await connectBus(natsUrl({ port, password: secret }, user), 'test');
  try {
    return await work(bus);
  } finally {
    await bus.close();
  }
}

/** What the server says to a publish: nothing, or that it is forbidden. */
async function published(bus: Bus, subject: string): Promise<'taken' | 'forbidden'> {
  const said = (async () => {
    for await (const status of bus.connection.status()) {
      if (status.type === 'error' && status.error.message.includes(subject)) return 'forbidden' as const;
    }
    return 'taken' as const;
  })();
  bus.connection.publish(subject, 'x');
  // The server answers in order: what it had to say about the publish has been said.
  await bus.connection.flush();
  return Promise.race([said, bus.connection.flush().then(() => 'taken' as const)]);
}

const roles = natsUsers.filter((user) => user !== 'operator');
const literal = (subject: string) => subject.replace('>', 'x');

test.each(roles)('%s cannot write what is not its business', async (role) => {
  expect(forbiddenSubjects[role].length).toBeGreaterThan(5);
  await as(role, async (bus) => {
    for (const subject of forbiddenSubjects[role]) {
      expect([subject, await published(bus, literal(subject))]).toEqual([subject, 'forbidden']);
    }
  });
});

test.each([
  ['ingress', ['mt.otp.alpha.1', 'later.1.1.1', 'cancel.1.1', 'ev.alpha.1', '$KV.idempotency.x']],
  ['actors', ['mt.otp.alpha.1', 'mo.alpha', 'ev.alpha.1', 'dead.MT_OTP', '$KV.leases.x', '$KV.suppression.x']],
  ['control', ['ops.alpha', 'dead.INBOUND', '$KV.directory.x', '$KV.suppression.x', '$KV.idempotency.x']],
  ['analytics', ['ev.alpha.1', 'dead.EVENTS', '$KV.recorder.x']],
] as const)('%s writes what is', async (role, subjects) => {
  await as(role, async (bus) => {
    for (const subject of subjects) expect([subject, await published(bus, subject)]).toEqual([subject, 'taken']);
  });
});

test.each(roles)('%s brings the streams up to date at its start, and removes none', async (role) => {
  await as(role, async (bus) => {
    await ensureStreams(bus);
    await expect(bus.manager.streams.delete('EVENTS')).rejects.toThrow();
  });
  expect((await house.bus.manager.streams.info('EVENTS')).config.name).toBe('EVENTS');
});

test('nobody comes in without a key, with a password, or with the key of another installation', async () => {
  const other = `nats://${userSeed('another', 'operator')}@127.0.0.1:${port}`;
  for (const url of [`nats://127.0.0.1:${port}`, `nats://heliograph:${secret}@127.0.0.1:${port}`, other]) {
    await expect(connectBus(url, 'test', 2_000)).rejects.toThrow(/authorization/i);
  }
});

test('who takes the port of a server that is gone hears a signature and no secret', async () => {
  let heard = '';
  const impostor = createServer((socket) => {
    socket.write(
      `INFO ${JSON.stringify({ server_id: 'x', version: '2.10.0', proto: 1, max_payload: 1e6, nonce: 'abc' })}\r\n`,
    );
    socket.on('data', (octets) => (heard += octets.toString('latin1')));
    socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(impostor, 'listening');
  const { port: taken } = impostor.address() as AddressInfo;
  const url = natsUrl({ port: taken, password: secret }, 'ingress');
  await expect(connectBus(url, 'test', 1_000)).rejects.toThrow();
  expect(heard).toContain('CONNECT {');
  expect(heard).toContain('"sig"');
  expect(heard).not.toContain(new URL(url).username);
  expect(heard).not.toContain(secret);
  impostor.close();
});

test('keys are as NATS writes them: one for each user, the same each time', () => {
  const seeds = natsUsers.map((user) => userSeed(secret, user));
  expect(new Set(seeds).size).toBe(natsUsers.length);
  for (const seed of seeds) {
    expect(seed).toMatch(/^SU[A-Z2-7]{56}$/);
    expect(nkeys.fromSeed(new TextEncoder().encode(seed)).getPublicKey()).toMatch(/^U[A-Z2-7]{55}$/);
  }
  expect(userSeed(secret, 'ingress')).toBe(userSeed(secret, 'ingress'));
});

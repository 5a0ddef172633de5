// NATS over TLS with a real nats-server: `tls://` is a verified connection or none, and nothing is sent before it.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { type AddressInfo, connect, createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { loadSettings } from '../../../config/settings.ts';
import { natsServerBinary } from '../../../cluster/embedded/nats-binary.ts';
import { freePort } from '../../../cluster/embedded/ports.ts';
import { until } from '../../support/until.ts';
import { type Certificates, makeCertificates } from '../../smpp/certificates.ts';

let files: Certificates;
let folder: string;
const servers: ChildProcess[] = [];

beforeAll(() => {
  files = makeCertificates();
  folder = mkdtempSync(join(tmpdir(), 'heliograph-nats-tls-'));
});
afterEach(async () => {
  for (const server of servers.splice(0)) {
    if (server.exitCode !== null) continue;
    server.kill('SIGKILL');
    await once(server, 'exit');
  }
});
afterAll(() => {
  files.remove();
  rmSync(folder, { recursive: true, force: true });
});

/** By a connection: to bind the port for a moment would take it from a server that just starts. */
function listens(port: number): Promise<boolean> {
  return new Promise((resolve) => {
    const socket = connect(port, '127.0.0.1');
    socket.once('error', () => resolve(false));
    socket.once('connect', () => {
      socket.destroy();
      resolve(true);
    });
  });
}

/** A nats-server with JetStream on loopback; `tls` is the block of its configuration, empty for none. */
async function startServer(tls: string): Promise<number> {
  const port = await freePort();
  const config = join(folder, `${port}.conf`);
  writeFileSync(
    config,
    `listen: "127.0.0.1:${port}"
authorization { user: "u", password: "hunter2" }
jetstream { store_dir: ${JSON.stringify(join(folder, String(port)))}, max_file_store: 16MB, max_memory_store: 16MB }
${tls}
`,
  );
  const server = spawn(natsServerBinary(), ['--config', config], { stdio: 'ignore' });
  servers.push(server);
  await until('nats-server', () => listens(port));
  return port;
}

const withTls = (more = '') =>
  startServer(`tls { cert_file: "${files.path('server.pem')}", key_file: "${files.path('server.key')}" ${more} }`);

const urlOf = (address: string, env: Record<string, string> = {}) =>
  loadSettings({ NATS_URL: `tls://u:hunter2@${address}`, ...env }).natsUrl ?? '';
const ca = () => ({ NATS_CA_FILE: files.path('ca.pem') });

test('with the authority of NATS_CA_FILE it connects, and its traffic is encrypted', async () => {
  const port = await withTls();
  const bus = await connectBus(urlOf(`127.0.0.1:${port}`, ca()), 'test');
  expect(bus.connection.info?.tls_required).toBe(true);
  expect((await bus.manager.getAccountInfo()).streams).toBe(0);
  await bus.close();
});

test('a server that requires a client certificate gets it', async () => {
  const port = await withTls(`, ca_file: "${files.path('ca.pem')}", verify: true`);
  const own = { NATS_CERT_FILE: files.path('client.pem'), NATS_KEY_FILE: files.path('client.key') };
  await expect(connectBus(urlOf(`127.0.0.1:${port}`, ca()), 'test', 3_000)).rejects.toThrow();
  const bus = await connectBus(urlOf(`127.0.0.1:${port}`, { ...ca(), ...own }), 'test');
  await bus.close();
});

test.each([
  ['an authority that is not the one named', () => ({ NATS_CA_FILE: files.path('other-ca.pem') }), '127.0.0.1'],
  ['an authority the system does not know', () => ({}), '127.0.0.1'],
  ['another name than that of the certificate', ca, 'localhost'],
])('it is refused with %s', async (_, env, host) => {
  const port = await withTls();
  await expect(connectBus(urlOf(`${host}:${port}`, env()), 'test', 3_000)).rejects.toThrow();
});

test('a server without TLS is refused', async () => {
  const port = await startServer('');
  await expect(connectBus(urlOf(`127.0.0.1:${port}`, ca()), 'test', 3_000)).rejects.toThrow(/tls/i);
});

test('an attacker who removes TLS from the server’s greeting learns nothing', async () => {
  let received = '';
  const between = createServer((socket) => {
    const info = {
      server_id: 'x',
      version: '2.10.0',
      proto: 1,
      headers: true,
      max_payload: 1_048_576,
      jetstream: true,
    };
    socket.write(`INFO ${JSON.stringify(info)}\r\n`);
    socket.on('data', (octets) => (received += octets.toString('latin1')));
    socket.on('error', () => {});
  }).listen(0, '127.0.0.1');
  await once(between, 'listening');
  const { port } = between.address() as AddressInfo;
  await expect(connectBus(urlOf(`127.0.0.1:${port}`, ca()), 'test', 2_000)).rejects.toThrow(/tls/i);
  expect(received).toBe('');
  between.close();
});

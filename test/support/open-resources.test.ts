// Each kind of resource is reported while it is open and no longer: the check after every test file relies on this.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import net from 'node:net';
import { Worker } from 'node:worker_threads';
import { expect, test } from 'vitest';
import { systemClock } from '../../platform/clock.ts';
import { until } from './until.ts';
import { watchOpenResources } from './open-resources.ts';

const resources = watchOpenResources();
const closed = () => until('all is closed', () => resources.now().length === 0);

// Read from /proc.
const onLinux = test.runIf(process.platform === 'linux');

onLinux('a server and both ends of a connection, until they are closed', async () => {
  const server = net.createServer().listen(0, '127.0.0.1');
  await once(server, 'listening');
  const { port } = server.address() as net.AddressInfo;
  expect(resources.now()).toEqual([`a TCP server at 127.0.0.1:${port}`]);
  const accepted = once(server, 'connection');
  const client = net.connect(port, '127.0.0.1');
  const [end] = (await accepted) as [net.Socket];
  const expected = [
    `a TCP connection from 127.0.0.1:${end.remotePort} to 127.0.0.1:${port}`,
    `a TCP connection from 127.0.0.1:${port} to 127.0.0.1:${end.remotePort}`,
    `a TCP server at 127.0.0.1:${port}`,
  ];
  expect(resources.now().toSorted()).toEqual(expected.toSorted());
  client.destroy();
  end.destroy();
  server.close();
  await closed();
});

onLinux('a child process and its own, by their commands, until they have ended', async () => {
  const child = spawn('/bin/sh', ['-c', 'sleep 61; true'], { detached: true });
  await until('both run', () => /^the process \d+ \(sleep 61\)$/.test(resources.now()[1] ?? ''));
  expect(resources.now()[0]).toBe(`the process ${child.pid} (/bin/sh -c sleep 61; true)`);
  process.kill(-child.pid!, 'SIGKILL');
  await closed();
});

test('a thread, until it has ended', async () => {
  const worker = new Worker('require("node:worker_threads").parentPort.on("message", () => {})', { eval: true });
  expect(resources.now()).toEqual([expect.stringContaining('a thread started at')]);
  expect(resources.now()[0]).toContain('open-resources.test.ts');
  await worker.terminate();
  await closed();
});

test('a repeated timer, with its caller, until it is cancelled', () => {
  const cancel = systemClock.every(60_000, () => {});
  expect(resources.now()).toHaveLength(1);
  expect(resources.now()[0]).toMatch(/^a timer of every 60000 ms set at .*open-resources\.test\.ts/);
  cancel();
  expect(resources.now()).toEqual([]);
});

test('nothing more once it is stopped: the next file of the process counts its own', () => {
  const earlier = watchOpenResources();
  earlier.stop();
  const cancel = systemClock.every(60_000, () => {});
  expect(earlier.now()).toEqual([]);
  cancel();
});

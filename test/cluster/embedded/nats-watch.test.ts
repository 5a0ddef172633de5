// A nats-server that runs and does not answer: stopped by a signal, and stuck for real on a full disk (fault row 8). In
// production the supervisor restarts it; here the test does.
import { execFileSync } from 'node:child_process';
import { mkdirSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, expect, test } from 'vitest';
import { connectBus } from '../../../cluster/bus/connect.ts';
import type { EmbeddedServer } from '../../../cluster/embedded/server-process.ts';
import { startNatsServer } from '../../../cluster/embedded/nats.ts';
import { systemClock } from '../../../platform/clock.ts';
import { withDeadline } from '../../../platform/deadline.ts';
import { patienceMs, until } from '../../support/until.ts';
import { ignoring } from '../../../platform/errors.ts';
import { freePort } from '../../../cluster/embedded/ports.ts';
import { serverProcess } from '../../support/processes.ts';

const undo: (() => void | Promise<void>)[] = [];
afterEach(async () => {
  for (const each of undo.splice(0).reverse()) await each();
});

const folder = () => {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-nats-watch-'));
  undo.push(() => rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 }));
  return dataDir;
};

async function start(dataDir: string, port: number): Promise<EmbeddedServer> {
  const options = { dataDir, port, password: 'test-only', graceMs: 0, watch: { lookEveryMs: 100, silencesMax: 2 } };
  const server = startNatsServer(options);
  undo.push(() => server.stop(5_000));
  await server.ready(10_000);
  return server;
}

test('one that hangs is reported as unhealthy, and ended', async () => {
  const dataDir = folder();
  const server = await start(dataDir, await freePort());
  expect(server.health?.()).toEqual({ ok: true, detail: '' });
  process.kill((await serverProcess(dataDir, 'nats-server')).pid, 'SIGSTOP');
  await until('it is not well', () => server.health?.().ok === false);
  await withDeadline('its end', patienceMs, server.exited);
});

test('one that answers again in time is left alone', async () => {
  const dataDir = folder();
  const server = await start(dataDir, await freePort());
  const { pid } = await serverProcess(dataDir, 'nats-server');
  process.kill(pid, 'SIGSTOP');
  await until('it is not well', () => server.health?.().ok === false);
  process.kill(pid, 'SIGCONT');
  await until('it is well', () => server.health?.().ok === true);
  expect((await serverProcess(dataDir, 'nats-server')).pid).toBe(pid);
});

const mounted = (dataDir: string, size: string): boolean => {
  const store = join(dataDir, 'nats');
  mkdirSync(store);
  try {
    execFileSync('mount', ['-t', 'tmpfs', '-o', `size=${size}`, 'tmpfs', store], { stdio: 'ignore', timeout: 5_000 });
  } catch (error) {
    ignoring(error, 'this machine lets nobody mount: the test is left out');
    return false;
  }
  undo.push(() => void execFileSync('umount', ['-l', store], { timeout: 5_000 }));
  return true;
};

test('a full disk: refused, and when there is space accepted again, with all that was accepted before', {
  timeout: 180_000,
}, async ({ skip }) => {
  const dataDir = folder();
  if (!mounted(dataDir, '16M')) return skip();
  const port = await freePort();
  let server = await start(dataDir, port);
  const publish = async (subject: string, octets: number) => {
    const bus = await connectBus(server.url, 'test', 2_000);
    try {
      return await bus.jetstream.publish(subject, new Uint8Array(octets), { timeout: 2_000 });
    } finally {
      await bus.close();
    }
  };
  const made = await connectBus(server.url, 'test');
  for (const name of ['ONE', 'TWO']) await made.manager.streams.add({ name, subjects: [name] });
  await made.close();
  let taken = 0;
  const beganAtMs = systemClock.monotonicMs();
  for (let failures = 0; failures < 3 && systemClock.monotonicMs() - beganAtMs < 40_000; ) {
    try {
      await publish('ONE', 600_000);
      taken += 1;
    } catch (error) {
      failures += 1;
      ignoring(error, 'there is no room');
    }
  }
  execFileSync('mount', ['-o', 'remount,size=64M', join(dataDir, 'nats')], { timeout: 5_000 });
  let ended = false;
  const watchEnd = () => void server.exited.then(() => (ended = true));
  watchEnd();
  await until(
    'messages are taken again',
    async () => {
      if (ended) {
        ended = false;
        server = await start(dataDir, port);
        watchEnd();
      }
      try {
        await publish('TWO', 10);
        await publish('ONE', 10);
        return true;
      } catch (error) {
        ignoring(error, 'it hangs, or is being ended');
        return false;
      }
    },
    { everyMs: 200 },
  );
  const bus = await connectBus(server.url, 'test');
  expect((await bus.manager.streams.info('ONE')).state.messages).toBeGreaterThanOrEqual(taken + 1);
  await bus.close();
});

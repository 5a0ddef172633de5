// nats-server and PostgreSQL as children: started, killed, restarted on the same data, and ended with their parent.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { availableParallelism, tmpdir } from 'node:os';
import { join } from 'node:path';
import pg from 'pg';
import { afterEach, describe, expect, it } from 'vitest';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { threadsOf } from '../../../cluster/embedded/nats.ts';
import { freePort, rememberedPorts } from '../../../cluster/embedded/ports.ts';
import { loadSecrets } from '../../../cluster/embedded/secrets.ts';
import { startServerProcess } from '../../../cluster/embedded/server-process.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { startNats } from '../../support/nats.ts';
import { startPostgres } from '../../support/postgres.ts';
import { nothingIsLeftOf, processesOf } from '../../support/processes.ts';

const folders: string[] = [];
const newFolder = () => {
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-embedded-'));
  folders.push(folder);
  return folder;
};
afterEach(() => {
  for (const folder of folders.splice(0)) rmSync(folder, { recursive: true, force: true });
});

describe('nats-server', () => {
  it('keeps its streams over kill -9 and leaves nothing when stopped', async () => {
    const nats = await startNats();
    const before = await connectBus(nats.url, 'test');
    await before.manager.streams.add({ name: 'KEEP', subjects: ['keep'] });
    await before.jetstream.publish('keep', 'x');
    await before.close();

    await nats.kill9();
    await expect(connectBus(nats.url, 'test', 500)).rejects.toThrow();
    await nats.restart();

    const after = await connectBus(nats.url, 'test');
    expect((await after.manager.streams.info('KEEP')).state.messages).toBe(1);
    await after.close();
    await nats.stop();
    expect(await processesOf(nats.dataDir)).toEqual([]);
  });

  it('leaves half of the processors to those it serves', async () => {
    expect([1, 2, 3, 4, 5, 16].map(threadsOf)).toEqual([1, 1, 1, 2, 2, 8]);
    const nats = await startNats();
    const pid = readFileSync(join(nats.dataDir, 'run', 'nats-server.pid'), 'utf8').trim();
    const environment = readFileSync(`/proc/${pid}/environ`, 'utf8').split('\0');
    expect(environment).toContain(`GOMAXPROCS=${threadsOf(availableParallelism())}`);
    await nats.stop();
  });

  it('accepts no connection without the password', async () => {
    const nats = await startNats();
    await expect(connectBus(nats.url.replace(/\/\/.*@/, '//'), 'test', 2_000)).rejects.toThrow(/authorization/i);
    await nats.stop();
  });
});

describe('PostgreSQL', () => {
  it('keeps its rows over kill -9, over a clean restart, and leaves nothing when stopped', async () => {
    const postgres = await startPostgres({ isNew: true });
    await query(postgres.url, 'create table kept (x int); insert into kept values (7)');
    await postgres.kill9();
    await expect(query(postgres.url, 'select 1')).rejects.toThrow();
    await postgres.restart();
    expect(await query(postgres.url, 'select x from kept')).toEqual([{ x: 7 }]);
    await postgres.restart();
    expect(await query(postgres.url, 'select x from kept')).toEqual([{ x: 7 }]);
    await postgres.stop();
    await nothingIsLeftOf(postgres.dataDir);
  });

  it('requires the password, also on loopback', async () => {
    const postgres = await startPostgres({ isNew: true });
    await expect(query(postgres.url.replace('test-only', 'wrong'), 'select 1')).rejects.toThrow(/password/);
    await postgres.stop();
  });
});

describe('a server process', () => {
  const parentProgram = (folder: string, server: string, graceMs: number) => `
    import { startServerProcess } from ${JSON.stringify(join(import.meta.dirname, '../../../cluster/embedded/server-process.ts'))};
    startServerProcess({ name: 'test', command: '/bin/sh', args: ['-c', ${JSON.stringify(server)}, ${JSON.stringify(`${folder}/x`)}],
      logFile: ${JSON.stringify(join(folder, 'log'))}, pidFile: ${JSON.stringify(join(folder, 'pid'))}, stopSignal: 'TERM', graceMs: ${graceMs} });`;

  const startParent = async (folder: string, server: string, graceMs: number) => {
    const file = join(folder, 'parent.mts');
    writeFileSync(file, parentProgram(folder, server, graceMs));
    const parent = spawn(process.execPath, [file], { stdio: 'ignore' });
    const isThere = async () => (await processesOf(folder)).length >= 2 && hasFile(join(folder, 'pid'));
    await until('the server', isThere);
    return parent;
  };
  const hasFile = (path: string) => statSync(path, { throwIfNoEntry: false });

  it('ends the server when its parent is killed with -9', async () => {
    const folder = newFolder();
    const parent = await startParent(folder, 'while :; do sleep 1; done', 100);
    parent.kill('SIGKILL');
    await nothingIsLeftOf(folder);
  });

  it('kills a server that ignores TERM', async () => {
    const folder = newFolder();
    const parent = await startParent(folder, "trap '' TERM; while :; do sleep 1; done", 0);
    parent.kill('SIGKILL');
    await nothingIsLeftOf(folder);
  });

  it('is recognised by its command: another process with the id of one that has ended is left alone', async () => {
    const folder = newFolder();
    const [own, other] = ['own', 'other'].map((name) =>
      spawn('/bin/sh', ['-c', 'while :; do sleep 1; done', join(folder, name)], { stdio: 'ignore' }),
    );
    const file = join(folder, 'parent.mts');
    writeFileSync(
      file,
      `import { guard } from ${JSON.stringify(join(import.meta.dirname, '../../../cluster/embedded/guardian.ts'))};
      guard({ pid: ${other!.pid}, mark: 'postgres -D ${folder}', graceMs: 0, signal: 'KILL' });
      guard({ pid: ${own!.pid}, mark: '${folder}/own', graceMs: 500, signal: 'KILL' });
      process.kill(process.pid, 'SIGKILL');`,
    );
    const ended = once(own!, 'exit');
    spawn(process.execPath, [file], { stdio: 'ignore' });
    expect(await ended).toEqual([null, 'SIGKILL']);
    expect(other!.signalCode).toBeNull();
    other!.kill('SIGKILL');
    await nothingIsLeftOf(folder);
  });

  it('grants the server its grace after the parent is gone', async () => {
    const folder = newFolder();
    const parent = await startParent(
      folder,
      `trap 'date +%s%N > ${folder}/ended; exit' TERM; echo > ${folder}/trapped; while :; do sleep 0.05; done`,
      600,
    );
    await until('the trap', () => hasFile(join(folder, 'trapped')));
    const killedAtMs = systemClock.nowMs();
    parent.kill('SIGKILL');
    await nothingIsLeftOf(folder);
    const endedAtMs = Number(readFileSync(join(folder, 'ended'), 'utf8')) / 1e6;
    expect(endedAtMs - killedAtMs).toBeGreaterThan(500);
  });

  it('passes the exit status on', async () => {
    const folder = newFolder();
    const server = start(folder, 'exit 7');
    expect(await server.exited).toEqual({ code: 7, signal: null });
    expect(await processesOf(folder)).toEqual([]);
  });

  it('kills what does not stop in time', async () => {
    const folder = newFolder();
    const server = start(folder, "trap '' TERM; echo up > $0; while :; do sleep 1; done");
    await until('the trap', () => hasFile(join(folder, 'x')));
    await server.stop(200);
    expect(await processesOf(folder)).toEqual([]);
  });

  it('that was killed reports the signal', async () => {
    const folder = newFolder();
    const server = start(folder, 'while :; do sleep 1; done');
    process.kill(server.pid, 'SIGKILL');
    expect((await server.exited).signal).toBe('SIGKILL');
    await nothingIsLeftOf(folder);
  });

  it('reports that the program does not exist', async () => {
    const folder = newFolder();
    const options = {
      name: 'none',
      command: '/nowhere/none',
      args: [],
      logFile: join(folder, 'log'),
      pidFile: join(folder, 'pid'),
    };
    expect((await startServerProcess({ ...options, stopSignal: 'TERM' }).exited).code).toBe(127);
  });

  const start = (folder: string, server: string) =>
    startServerProcess({
      name: 'test',
      command: '/bin/sh',
      args: ['-c', server, join(folder, 'x')],
      logFile: join(folder, 'log'),
      pidFile: join(folder, 'pid'),
      stopSignal: 'TERM',
      graceMs: 0,
    });
});

describe('remembered ports', () => {
  it('are the same next time, and others when they are taken', async () => {
    const folder = newFolder();
    const first = await rememberedPorts(folder).choose('nats-server');
    expect(await rememberedPorts(folder).choose('nats-server')).toBe(first);
    const squatter = createServer().listen(first, '127.0.0.1');
    await once(squatter, 'listening');
    const second = await rememberedPorts(folder).choose('nats-server');
    expect(second).not.toBe(first);
    squatter.close();
    expect(await rememberedPorts(folder).choose('nats-server')).toBe(second);
  });

  it('differ from name to name; none is well-known, and none is ever that of an outgoing connection', async () => {
    const ports = rememberedPorts(newFolder());
    const chosen = [await ports.choose('a'), await ports.choose('b'), await ports.choose('c')];
    expect(new Set(chosen).size).toBe(3);
    const atOnce = await Promise.all(Array.from({ length: 20 }, () => freePort()));
    expect(new Set(atOnce).size).toBe(20);
    for (const port of [...chosen, ...atOnce]) {
      expect([4222, 5432]).not.toContain(port);
      expect(port).toBeLessThan(32_768);
    }
  });
});

describe('secrets', () => {
  it('are made once, kept, and readable by their owner only', () => {
    const folder = newFolder();
    const secrets = loadSecrets(folder, {});
    expect(loadSecrets(folder, {})).toEqual(secrets);
    expect(secrets.bodyKeys.keys).toMatchObject([{ length: 32 }]);
    expect(statSync(join(folder, 'secrets', 'body-key')).mode & 0o777).toBe(0o600);
    expect(statSync(join(folder, 'secrets')).mode & 0o777).toBe(0o700);
  });

  it('take the body key from the environment, and refuse one of another length', () => {
    const key = Buffer.alloc(32, 7).toString('base64');
    expect(loadSecrets(newFolder(), { HELIOGRAPH_BODY_KEY: key }).bodyKeys.keys).toEqual([Buffer.alloc(32, 7)]);
    const short = Buffer.alloc(31).toString('base64');
    expect(() => loadSecrets(newFolder(), { HELIOGRAPH_BODY_KEY: short })).toThrow(/found 31 bytes, expected 32/);
  });

  it('name the file of a damaged body key, and advise no new one', () => {
    const folder = newFolder();
    loadSecrets(folder, {});
    const file = join(folder, 'secrets', 'body-key');
    writeFileSync(file, 'damaged\n');
    const open = () => loadSecrets(folder, {});
    expect(open).toThrow(`${file}: found 5 bytes, expected 32 bytes in base64 (restore the file from a backup`);
    expect(open).not.toThrow(/openssl/);
  });
});

async function query(url: string, text: string): Promise<unknown[]> {
  const client = new pg.Client({ connectionString: url, connectionTimeoutMillis: 2_000 });
  client.on('error', () => {});
  try {
    await client.connect();
    return (await client.query(text)).rows as unknown[];
  } finally {
    await client.end();
  }
}

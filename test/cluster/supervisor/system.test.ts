// The supervisor with real servers and substitute roles: order, restarts, drains, and that no process is ever left
// behind.
import { once } from 'node:events';
import { type AddressInfo, createServer } from 'node:net';
import { existsSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, describe, expect, it } from 'vitest';
import { readConnections } from '../../../cluster/supervisor/data-folder.ts';
import { listProcesses } from '../../../cluster/embedded/processes.ts';
import { systemClock } from '../../../platform/clock.ts';
import { ignoring } from '../../../platform/errors.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { nothingIsLeftOf, serverProcess, suspend } from '../../support/processes.ts';
import { type TestSystem, endSystems, startSystem } from '../../support/system.ts';

afterEach(endSystems);

const childOf = async (system: TestSystem, name: string) =>
  (await system.readiness())?.children.find((child) => child.name === name);

describe('a start', () => {
  it('starts everything, prints how to send, answers on the admin port, drains in reverse and leaves nothing', async () => {
    const system = await startSystem({ newDatabase: true });
    await system.ready();
    await until('the announcement', () => system.stdout().includes('Ctrl-C'));
    for (const text of ['✓ nats-server', '✓ postgres', 'hk_live_x', 'hk_test_x', '"category":"otp"', '/health/ready']) {
      expect(system.stdout()).toContain(text);
    }
    expect((await fetch(`${system.adminUrl}/health/live`)).status).toBe(200);
    expect((await fetch(`${system.adminUrl}/nowhere`)).status).toBe(404);
    expect((await fetch(`${system.adminUrl}/metrics`, { method: 'POST' })).status).toBe(405);

    const roles = ['supervisor', 'ingress', 'actors', 'control', 'analytics', 'delivery'];
    // A role that does not answer in time is left out of one answer, not of the next.
    const metrics = await until('the metrics of every role', async () => {
      const text = await (await fetch(`${system.adminUrl}/metrics`)).text();
      return roles.every((role) => text.includes(`process_resident_memory_bytes{role="${role}"}`)) && text;
    });
    for (const child of [
      'nats-server',
      'postgres',
      'simulator',
      'analytics',
      'control',
      'actors',
      'delivery',
      'ingress',
    ]) {
      expect(metrics).toContain(`heliograph_child_up{child="${child}"} 1`);
    }
    for (const role of roles) {
      expect(metrics).toMatch(new RegExp(`process_resident_memory_bytes\\{role="${role}"\\} \\d+`));
    }
    expect(readConnections(system.dataDir)).toMatchObject({ pid: system.process.pid, adminUrl: system.adminUrl });

    system.process.kill('SIGTERM');
    expect(await system.exit()).toBe(0);
    // A forgotten process would end only after its grace.
    await nothingIsLeftOf(system.dataDir, 3_000);
    expect(readConnections(system.dataDir)).toBeNull();
    const drains = system.journal().filter((line) => line.startsWith('drain '));
    const order = ['ingress', 'actors', 'delivery', 'control', 'analytics', 'simulator'];
    expect(drains).toEqual(order.map((role) => `drain ${role}`));
    expect(system.journal().filter((line) => line.startsWith('drained '))).toHaveLength(order.length);
  });

  it('runs only the configured roles, and only the servers those need', async () => {
    const system = await startSystem({ env: { HELIOGRAPH_ROLES: 'ingress' } });
    await system.ready();
    const { children } = (await system.readiness())!;
    expect(children.map((child) => child.name)).toEqual(['nats-server', 'ingress']);
    system.process.kill('SIGINT');
    expect(await system.exit()).toBe(0);
  });

  it('is refused on a data folder that another one uses, naming its process', async () => {
    const system = await startSystem({ env: { HELIOGRAPH_ROLES: 'ingress' } });
    await system.ready();
    const second = await startSystem({ env: { HELIOGRAPH_ROLES: 'ingress' }, dataDir: system.dataDir });
    expect(await second.exit()).toBe(1);
    expect(second.stderr()).toContain(`already runs on ${system.dataDir} (process ${system.process.pid})`);
    expect((await system.readiness())?.code).toBe(200);
    system.process.kill('SIGTERM');
    await system.exit();
  });

  it.each(['HELIOGRAPH_ADMIN_PORT', 'HELIOGRAPH_HTTP_PORT'])(
    'names port and setting when %s is taken',
    async (setting) => {
      const squatter = createServer().listen(0, setting === 'HELIOGRAPH_HTTP_PORT' ? '0.0.0.0' : '127.0.0.1');
      await once(squatter, 'listening');
      const { port } = squatter.address() as AddressInfo;
      const notThere = join(tmpdir(), `heliograph-never-${port}`);
      const system = await startSystem({
        env: { [setting]: String(port), HELIOGRAPH_DATA: notThere, HELIOGRAPH_HTP_PORT: '9' },
      });
      expect(await system.exit()).toBe(1);
      expect(system.stdout() + system.stderr()).toMatch(new RegExp(`Port ${port} .* is taken .*${setting}`));
      expect(existsSync(notThere)).toBe(false);
      squatter.close();
      await nothingIsLeftOf(notThere);
    },
  );

  it('stops with the error of a role that cannot start, and leaves nothing', async () => {
    const system = await startSystem({ behaviours: { ingress: 'refuse' } });
    expect(await system.exit()).toBe(1);
    expect(system.stdout()).toContain('✗ Port 8080 is taken: set HELIOGRAPH_HTTP_PORT');
    await nothingIsLeftOf(system.dataDir);
  });

  it('without a body key that is in use stops with one line and the exit code of a bad configuration', async () => {
    const key = (octet: number) => Buffer.alloc(32, octet).toString('base64');
    const env = (octet: number) => ({ HELIOGRAPH_ROLES: 'ingress', HELIOGRAPH_BODY_KEY: key(octet) });
    const before = await startSystem({ env: env(1), realRoles: true });
    await before.ready();
    before.process.kill('SIGTERM');
    expect(await before.exit()).toBe(0);
    const system = await startSystem({ env: env(2), realRoles: true, dataDir: before.dataDir });
    expect(await system.exit()).toBe(78);
    expect(system.stdout().match(/^✗ HELIOGRAPH_BODY_KEY: messages on this NATS are sealed/gm)).toHaveLength(1);
    expect(system.stderr()).toBe('');
  });

  it('stops with the problems of a bad configuration and its own exit code', async () => {
    const file = join((await startSystem({ env: { NATS_URL: 'http://x' } })).dataDir, 'bad.yaml');
    writeFileSync(file, 'country: 3\n');
    const system = await startSystem({ env: { HELIOGRAPH_CONFIG: file } });
    expect(await system.exit()).toBe(78);
    expect(system.stderr()).toContain('bad.yaml:1:10: country: found 3, expected keys such as name');
  });
});

describe('a child that dies', () => {
  it.each(['ingress', 'nats-server', 'postgres'] as const)(
    '%s comes back after kill -9, and readiness reports it meanwhile',
    async (name) => {
      const system = await startSystem();
      await system.ready();
      const before = (await childOf(system, name))!;
      const victim = name === 'ingress' ? before.pid! : (await serverProcess(system.dataDir, name)).pid;
      process.kill(victim, 'SIGKILL');
      await until('the restart', async () => (await childOf(system, name))?.restarts === 1);
      await system.ready();
      expect((await childOf(system, name))!.pid).not.toBe(before.pid);
      const metrics = await (await fetch(`${system.adminUrl}/metrics`)).text();
      expect(metrics).toContain(`heliograph_child_restarts_total{child="${name}"} 1`);
      system.process.kill('SIGTERM');
      expect(await system.exit()).toBe(0);
      await nothingIsLeftOf(system.dataDir);
    },
  );

  it('in a loop is given up with an alarm, while the others continue', async () => {
    const system = await startSystem({ behaviours: { control: 'crash-loop' } });
    await until('the alarm', () => system.stdout().includes('✗ control'));
    const { code, children } = (await system.readiness())!;
    expect(code).toBe(503);
    expect(children.filter((child) => !child.ready)).toMatchObject([
      { name: 'control', state: 'failed', detail: 'exit code 3', restarts: limits.supervision.restartBurst + 1 },
    ]);
    expect(system.stderr()).toContain('"alarm":"child_failed"');
    expect(system.journal().filter((line) => line === 'start control')).toHaveLength(
      limits.supervision.restartBurst + 1,
    );
    system.process.kill('SIGTERM');
    expect(await system.exit()).toBe(0);
    await nothingIsLeftOf(system.dataDir);
  });

  it('is named in readiness when it is unhealthy', async () => {
    const system = await startSystem({ behaviours: { actors: 'unwell' } });
    const sick = await until('the report', async () => {
      const readiness = await system.readiness();
      const actors = readiness?.children.find((child) => child.name === 'actors');
      return actors?.detail === 'no carrier is bound' && readiness;
    });
    expect(sick.code).toBe(503);
    system.process.kill('SIGTERM');
    await system.exit();
  });
});

/**
 * A system whose initdb is suspended in the middle. On a busy machine initdb may end before it can be: then the next
 * system is tried.
 */
async function systemInInitdb(): Promise<{ system: TestSystem; initdb: number }> {
  return until('initdb is suspended', async () => {
    const system = await startSystem({ newDatabase: true });
    const draft = join(system.dataDir, 'postgres', 'data.new');
    // One of the first files that initdb writes.
    await until('initdb', () => existsSync(join(draft, 'PG_VERSION')), { everyMs: 1 });
    const initdb = async () =>
      (await listProcesses()).find(({ command }) => command.includes(`initdb --pgdata=${draft}`));
    const found = await initdb();
    if (found !== undefined) {
      await suspend(found.pid).catch((error: unknown) => ignoring(error, 'it has ended'));
      if ((await initdb()) !== undefined) return { system, initdb: found.pid };
    }
    system.process.kill('SIGTERM');
    await system.exit();
    return null;
  });
}

describe('a stop', () => {
  it('is forced by a second Ctrl-C: children too, exit code 130', async () => {
    const system = await startSystem({ behaviours: { ingress: 'hang' } });
    await system.ready();
    system.process.kill('SIGINT');
    await until('the drain', () => system.journal().includes('drain ingress'));
    await systemClock.sleep(400);
    system.process.kill('SIGINT');
    expect(await system.exit(5_000)).toBe(130);
    await nothingIsLeftOf(system.dataDir, 3_000);
  });

  it('treats two Ctrl-C of one key press as one', async () => {
    const system = await startSystem();
    await system.ready();
    system.process.kill('SIGINT');
    system.process.kill('SIGINT');
    expect(await system.exit()).toBe(0);
  });

  it('works while everything is still starting', async () => {
    const system = await startSystem({ behaviours: { actors: 'never-ready' } });
    await until('the first start', () => system.journal().includes('start actors'));
    system.process.kill('SIGTERM');
    expect(await system.exit()).toBe(0);
    await nothingIsLeftOf(system.dataDir);
  });

  const afterDraining = (system: TestSystem) => system.stdout().split('Draining …')[1]?.trim();

  it('before anything has been started starts nothing', async () => {
    const system = await startSystem({ newDatabase: true });
    await until('it listens to signals', () => existsSync(join(system.dataDir, 'run')));
    system.process.kill('SIGINT');
    expect(await system.exit()).toBe(0);
    expect(afterDraining(system)).toBe('Stopped.');
    await nothingIsLeftOf(system.dataDir);
  });

  it('while PostgreSQL is initialised ends that, and starts no server after it', async () => {
    const { system, initdb } = await systemInInitdb();
    system.process.kill('SIGINT');
    // With this it sends initdb its signal, which takes effect when initdb goes on.
    await until('the drain', () => system.stdout().includes('Draining …'));
    process.kill(initdb, 'SIGCONT');
    expect(await system.exit()).toBe(0);
    expect(afterDraining(system)).toBe('Stopped.');
    expect(existsSync(join(system.dataDir, 'logs', 'postgres.log'))).toBe(false);
    await nothingIsLeftOf(system.dataDir, 3_000);
    const again = await startSystem({ dataDir: system.dataDir });
    await again.ready();
    again.process.kill('SIGTERM');
    expect(await again.exit()).toBe(0);
  });

  it('starts no child again that has never been ready', async () => {
    const system = await startSystem({ behaviours: { control: 'crash-loop', ingress: 'drain-of-4-s' } });
    const starts = () => system.journal().filter((line) => line === 'start control').length;
    await until('a restart', async () => {
      const control = await childOf(system, 'control');
      return control?.state === 'restarting' && starts() > 1 && system.stdout().includes('✓ ingress');
    });
    system.process.kill('SIGINT');
    await until('the drain', () => system.journal().includes('drain ingress'));
    // A start that was under way when the signal came may end; the ingress drains for four seconds.
    await until('no process of control runs', async () => (await childOf(system, 'control'))?.pid === null);
    const before = starts();
    expect(await system.exit()).toBe(0);
    expect(starts()).toBe(before);
    expect(system.journal()).toContain('drained ingress');
    await nothingIsLeftOf(system.dataDir, 3_000);
  });
});

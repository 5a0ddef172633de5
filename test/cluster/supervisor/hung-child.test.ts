// A process that runs and does not answer (decision 269): stopped by a real signal. Heartbeats are real, the looks of the
// supervisor are moved by hand.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { startRole } from '../../../cluster/supervisor/role-process.ts';
import { type ManagedProcess, SupervisedChild } from '../../../cluster/supervisor/supervised-child.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { serverProcess, stopWithChildren, suspend } from '../../support/processes.ts';
import { endSystems, startSystem } from '../../support/system.ts';
import { until } from '../../support/until.ts';

const { hungRole, healthEveryMs } = limits.supervision;
const rolesDir = join(import.meta.dirname, '../../support/roles');

let dataDir: string;
let clock: ManualClock;
let runs: ManagedProcess[];
let child: SupervisedChild;

beforeEach(() => {
  dataDir = mkdtempSync(join(tmpdir(), 'heliograph-hung-'));
  mkdirSync(join(dataDir, 'run'));
  writeFileSync(join(dataDir, 'plain-roles.json'), '{}');
  clock = new ManualClock();
  runs = [];
  child = new SupervisedChild(
    {
      name: 'ingress',
      after: [],
      startWithinMs: limits.supervision.startMs,
      stopWithinMs: limits.supervision.drainMs,
      stopRank: 1,
      hung: hungRole,
      async start() {
        const run = startRole({
          name: 'ingress',
          file: join(rolesDir, 'ingress.ts'),
          dataDir,
          pidFile: join(dataDir, 'run', 'ingress.pid'),
          env: { ...process.env, HELIOGRAPH_ROLE: 'ingress', HELIOGRAPH_LOG: 'error' },
          settings: {},
          ownPart: (next) => next,
          nodeFlags: [],
          yields: false,
        });
        runs.push(run);
        return run;
      },
    },
    clock,
  );
});

afterEach(async () => {
  child.kill();
  // It may wait for its restart.
  clock.advance(60_000);
  await child.stop();
  rmSync(dataDir, { recursive: true, force: true });
  await endSystems();
});

const look = (times: number) => clock.advance(times * healthEveryMs);
const up = async () => (await metrics.childUp.get()).values.find(({ labels }) => labels['child'] === 'ingress')?.value;

async function started(): Promise<ManagedProcess> {
  child.start();
  await child.firstReady;
  const [run] = runs;
  if (run === undefined) throw new Error('it has not been started');
  return run;
}

async function anotherHeartbeat(run: ManagedProcess): Promise<void> {
  const before = run.heartbeats();
  await until('a heartbeat', () => run.heartbeats() > before);
}

/** The last look found a heartbeat, and no heartbeat comes any more: those that were under way have been read. */
async function silenced(run: ManagedProcess): Promise<void> {
  await anotherHeartbeat(run);
  await suspend(run.pid);
  let before = -1;
  await until(
    'no heartbeat is under way',
    () => {
      const [was, now] = [before, run.heartbeats()];
      before = now;
      return was === now;
    },
    { everyMs: 50 },
  );
  look(1);
}

test('is reported at the tenth look without a heartbeat, not at the ninth, and is well again with the next one', async () => {
  const run = await started();
  await silenced(run);
  look(hungRole.reportLooks - 1);
  expect(child.status).toMatchObject({ state: 'ready', ready: true });
  expect(await up()).toBe(1);
  look(1);
  expect(child.status).toMatchObject({ state: 'hung', ready: false, pid: run.pid, restarts: 0 });
  expect(child.status.detail).toBe('it runs and has not answered for 10 s');
  expect(await up()).toBe(0);
  // A scrape does not wait for it.
  expect(await child.metrics()).toEqual([]);
  process.kill(run.pid, 'SIGCONT');
  await anotherHeartbeat(run);
  look(1);
  expect(child.status).toMatchObject({ state: 'ready', ready: true, pid: run.pid, restarts: 0 });
  expect(await up()).toBe(1);
});

test('is ended at the sixtieth look, and restarted', async () => {
  const run = await started();
  await silenced(run);
  look(hungRole.restartLooks - 1);
  expect(child.status).toMatchObject({ state: 'hung', restarts: 0 });
  look(1);
  await until('its end is seen', () => child.status.state === 'restarting');
  expect(child.status).toMatchObject({ restarts: 1, detail: 'hung: it runs and has not answered for 60 s' });
  await until('it is ready again', () => {
    clock.advance(0);
    return child.status.ready;
  });
  expect(child.status.pid).not.toBe(run.pid);
});

test('is not what a supervisor finds that stood still itself', async () => {
  const run = await started();
  await silenced(run);
  for (let stood = 1; stood < hungRole.reportLooks; stood += 1) clock.stall(3_600_000);
  expect(child.status).toMatchObject({ state: 'ready', ready: true });
  process.kill(run.pid, 'SIGCONT');
});

test('of a whole system: one alarm with one end, and readiness says which', { timeout: 180_000 }, async () => {
  const system = await startSystem();
  await system.ready();
  const stateOf = async (name: string) => (await system.readiness())?.children.find((each) => each.name === name);
  const lines = (name: string, text: string) =>
    system
      .stderr()
      .split('\n')
      .filter((line) => line.includes(`"child":"${name}"`) && line.includes(text)).length;
  const [alarm, end] = ['"alarm":"child_hung"', 'the process answers again'];
  const { pid } = (await stateOf('delivery'))!;
  const postgres = await stopWithChildren((await serverProcess(system.dataDir, 'postgres')).pid);
  await suspend(pid!);
  await until('the role is reported', () => lines('delivery', alarm) === 1);
  await until('PostgreSQL is reported', async () => (await stateOf('postgres'))?.state === 'hung');
  expect((await system.readiness())?.code).toBe(503);
  const text = await (await fetch(`${system.adminUrl}/metrics`)).text();
  expect(text).toContain('heliograph_child_up{child="postgres"} 0');
  process.kill(pid!, 'SIGCONT');
  for (const each of postgres) process.kill(each, 'SIGCONT');
  await system.ready();
  for (const name of ['delivery', 'postgres']) {
    await until(`the end is logged for ${name}`, () => lines(name, end) === 1);
    expect(lines(name, alarm)).toBe(1);
  }
  expect((await stateOf('postgres'))?.restarts).toBe(0);
  system.process.kill('SIGTERM');
  expect(await system.exit()).toBe(0);
});

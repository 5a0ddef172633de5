// The whole product as its own process tree, as `npm start` runs it, on a folder and ports of its own, for tests of the
// whole system and benches. It knows the demo account's keys, its children's processes and its metrics.
import { execFile } from 'node:child_process';
import { mkdtempSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { promisify } from 'node:util';
import { assert } from '../../platform/assert.ts';
import { systemClock } from '../../platform/clock.ts';
import { patienceMs, until } from './until.ts';
import { limits } from '../../platform/limits.ts';
import { freePort } from '../../cluster/embedded/ports.ts';
import { type DemoKeys, demoKeysOf } from './demo-keys.ts';
import { serverProcess } from './processes.ts';
import { type TestSystem, startSystem } from './system.ts';

export type WholeSystem = TestSystem & {
  readonly httpPort: number;
  readonly keys: DemoKeys;
  readonly readyAfterMs: number;
  /** The process of a child. */
  pidOf(child: string): Promise<number>;
  /** Kills a child's process and waits until its replacement is ready. */
  kill9(child: string): Promise<void>;
  /** Asks a child's process to end, as a rolling restart does, and waits until its replacement is ready. */
  restart(child: string): Promise<void>;
  /** The sum of a metric over all its labels. */
  metric(name: string): Promise<number>;
  /** Waits until the recorder holds nothing that is not in ClickHouse. */
  recorded(): Promise<void>;
  /** `heliograph …` on this system; resolves with its standard output. */
  cli(...words: string[]): Promise<string>;
  /** SIGTERM, and resolves with the exit code. */
  stop(): Promise<number>;
};

const cliFile = join(import.meta.dirname, '../../cli/main.ts');
const readyWithinMs = 60_000;

/** `newDatabase`: see startSystem. `env`: further variables of the supervisor. */
export type WholeSystemOptions = {
  readonly before?: WholeSystem | undefined;
  readonly newDatabase?: boolean;
  readonly env?: Readonly<Record<string, string>>;
};

/** `configuration` is the text of heliograph.yaml; with `before` it starts on that system's folder, at its port. */
export async function startWholeSystem(
  configuration: string,
  { before, newDatabase = false, env: more = {} }: WholeSystemOptions = {},
): Promise<WholeSystem> {
  const folder = before?.dataDir ?? mkdtempSync(join(tmpdir(), 'heliograph-whole-'));
  writeFileSync(join(folder, 'heliograph.yaml'), configuration);
  const httpPort = before?.httpPort ?? (await freePort());
  const began = systemClock.monotonicMs();
  const system = await startSystem({
    realRoles: true,
    newDatabase,
    dataDir: folder,
    env: { HELIOGRAPH_CONFIG: join(folder, 'heliograph.yaml'), HELIOGRAPH_HTTP_PORT: String(httpPort), ...more },
  });
  await until('the whole system', async () => (await system.readiness())?.code === 200, {
    limitMs: readyWithinMs,
    everyMs: 25,
  });
  const readyAfterMs = systemClock.monotonicMs() - began;
  const keys = await demoKeysOf(folder, httpPort);
  const childOf = async (name: string) =>
    (await system.readiness())?.children.find((child) => child.name === name) ?? null;

  const pidOf = async (name: string) => {
    if (name === 'nats-server' || name === 'postgres') return (await serverProcess(folder, name)).pid;
    return until(`the process of ${name}`, async () => (await childOf(name))?.pid);
  };
  const metric = async (name: string) => {
    const text = await (await fetch(`${system.adminUrl}/metrics`)).text();
    const values = [...text.matchAll(new RegExp(`^${name}(?:\\{[^}]*\\})? ([0-9.e+-]+)$`, 'gm'))];
    return values.reduce((sum, each) => sum + Number(each[1]), 0);
  };
  const replace = async (name: string, signal: 'SIGKILL' | 'SIGTERM' | 'SIGINT') => {
    const before = await until(`${name} is known`, () => childOf(name));
    process.kill(await pidOf(name), signal);
    await until(
      `${name} is back`,
      async () => {
        const child = await childOf(name);
        return child !== null && child.restarts > before.restarts && child.ready;
      },
      // A drain may take its time before the next one starts.
      { limitMs: patienceMs + (signal !== 'SIGKILL' ? limits.supervision.drainMs : 0), everyMs: 50 },
    );
  };
  return Object.assign(system, {
    httpPort,
    keys,
    readyAfterMs,
    pidOf,
    kill9: (name: string) => replace(name, 'SIGKILL'),
    // For PostgreSQL SIGTERM means: when every client is gone.
    restart: (name: string) => replace(name, name === 'postgres' ? 'SIGINT' : 'SIGTERM'),
    metric,
    async recorded() {
      await until(
        'all events are recorded',
        async () =>
          (await metric('heliograph_recorder_pending_records')) === 0 &&
          (await metric('heliograph_recorder_unflushed_events')) === 0,
        { everyMs: 200 },
      );
    },
    async cli(...words: string[]) {
      const env = system.env as NodeJS.ProcessEnv;
      return (await promisify(execFile)(process.execPath, [cliFile, ...words], { env, timeout: 20_000 })).stdout;
    },
    async stop() {
      system.process.kill('SIGTERM');
      const code = await system.exit(60_000);
      // A role that published what its NATS user may not: see cluster/embedded/nats-permissions.ts.
      const forbidden = /[^\n]*permissions violation[^\n]*/i.exec(system.stderr())?.[0];
      assert(forbidden === undefined, `a role did what its user may not: ${forbidden}`);
      return code;
    },
  });
}

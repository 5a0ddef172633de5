// The whole product as its own process tree, just as `npm start` runs it, with a configuration of the bench's
// own in a folder that is removed afterwards.
import { type ChildProcess, spawn } from 'node:child_process';
import { mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { createServer } from 'node:net';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { systemClock } from '../../platform/clock.ts';
import { until, withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';

export type RunningSystem = {
  readonly pid: number;
  readonly httpPort: number;
  readonly adminPort: number;
  readonly dataDir: string;
  readonly readyAfterMs: number;
  readonly keys: { readonly accountId: string; readonly liveKey: string; readonly testKey: string };
  /** Drains and stops it; the data stays until `remove`. */
  stop(): Promise<void>;
  remove(): void;
};

const root = join(import.meta.dirname, '../..');
const startWithinMs = 60_000;
const stopWithinMs = 60_000;

export async function startSystem(configuration: string): Promise<RunningSystem> {
  const folder = mkdtempSync(join(tmpdir(), 'heliograph-bench-'));
  const dataDir = join(folder, 'data');
  writeFileSync(join(folder, 'heliograph.yaml'), configuration);
  const [httpPort, adminPort] = [await freePort(), await freePort()];
  const began = systemClock.monotonicMs();
  const child = spawn(process.execPath, [join(root, 'cluster/main.ts')], {
    cwd: root,
    stdio: ['ignore', 'ignore', 'inherit'],
    env: {
      ...process.env,
      HELIOGRAPH_CONFIG: join(folder, 'heliograph.yaml'),
      HELIOGRAPH_DATA: dataDir,
      HELIOGRAPH_HTTP_PORT: String(httpPort),
      HELIOGRAPH_ADMIN_PORT: String(adminPort),
    },
  });
  await until('the system is ready', () => isReady(child, adminPort), { limitMs: startWithinMs, everyMs: 50 });
  const readyAfterMs = systemClock.monotonicMs() - began;
  const keys = await until('the demo keys', () => readKeys(dataDir), { limitMs: 5_000 });
  return {
    pid: child.pid ?? 0,
    httpPort,
    adminPort,
    dataDir,
    readyAfterMs,
    keys,
    async stop() {
      if (child.exitCode !== null) return;
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      child.kill('SIGTERM');
      await withDeadline('the system stops', stopWithinMs, ended);
    },
    remove: () => rmSync(folder, { recursive: true, force: true }),
  };
}

async function isReady(child: ChildProcess, adminPort: number): Promise<boolean> {
  if (child.exitCode !== null) throw new Error(`the system ended with exit code ${child.exitCode} while it started`);
  try {
    return (await fetch(`http://127.0.0.1:${adminPort}/health/ready`)).ok;
  } catch (error) {
    ignoring(error, 'the admin port is not open yet');
    return false;
  }
}

function readKeys(dataDir: string): RunningSystem['keys'] | null {
  try {
    return JSON.parse(readFileSync(join(dataDir, 'demo-keys.json'), 'utf8'));
  } catch (error) {
    ignoring(error, 'the demo keys are not written yet');
    return null;
  }
}

/** A port nobody listens on at this moment. */
export function freePort(): Promise<number> {
  return new Promise((resolve, reject) => {
    const server = createServer();
    server.once('error', reject);
    server.listen(0, '127.0.0.1', () => {
      const address = server.address();
      server.close(() => resolve(typeof address === 'object' && address !== null ? address.port : 0));
    });
  });
}

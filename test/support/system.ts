// The real supervisor as a process of its own on a folder of its own, by default with the substitute roles of
// test/support/roles. Tests use it as an operator would: signals, the admin port, standard output.
import { type ChildProcess, spawn } from 'node:child_process';
import { chmodSync, existsSync, mkdtempSync, readFileSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import type { ChildStatus } from '../../cluster/supervisor/supervised-child.ts';
import { patienceMs, until } from './until.ts';
import { freePort } from '../../cluster/embedded/ports.ts';
import { prepareInstallation } from './postgres-template.ts';
import { killProcessesOf, nothingIsLeftOf } from './processes.ts';

export type TestSystem = {
  readonly dataDir: string;
  readonly adminUrl: string;
  readonly process: ChildProcess;
  readonly env: Record<string, string | undefined>;
  stdout(): string;
  stderr(): string;
  /** Lines that the substitute roles wrote, such as `drain ingress`. */
  journal(): string[];
  readiness(): Promise<{ code: number; status: string; children: ChildStatus[] } | null>;
  ready(): Promise<void>;
  /** Resolves with the exit code (128 + n for a signal) when it has ended. */
  exit(limitMs?: number): Promise<number>;
};

export type SystemTestOptions = {
  env?: Record<string, string | undefined>;
  /** The behaviours of the substitute roles, by child name: see roles/plain.ts. */
  behaviours?: Record<string, string>;
  dataDir?: string;
  /** The product's roles instead of the substitutes. */
  realRoles?: boolean;
  /** It initialises PostgreSQL itself, as at the first start of an installation, instead of finding a prepared one. */
  newDatabase?: boolean;
};

const realMain = join(import.meta.dirname, '../../cluster/main.ts');
const standInMain = join(import.meta.dirname, 'start-system.ts');
const started: TestSystem[] = [];

export async function startSystem(options: SystemTestOptions = {}): Promise<TestSystem> {
  const dataDir = options.dataDir ?? mkdtempSync(join(tmpdir(), 'heliograph-system-'));
  chmodSync(dataDir, 0o755);
  if (hasNewDatabase(dataDir, options) && options.newDatabase !== true) await prepareInstallation(dataDir);
  const adminPort = options.env?.['HELIOGRAPH_ADMIN_PORT'] ?? String(await freePort());
  const journalFile = join(dataDir, 'journal');
  if (options.realRoles !== true) {
    writeFileSync(join(dataDir, 'plain-roles.json'), JSON.stringify(options.behaviours ?? {}));
  }
  const env = {
    ...process.env,
    HELIOGRAPH_DATA: dataDir,
    HELIOGRAPH_HTTP_PORT: String(await freePort()),
    HELIOGRAPH_ADMIN_PORT: adminPort,
    HELIOGRAPH_LOG: 'warn',
    ...options.env,
  };
  const child = spawn(process.execPath, [options.realRoles === true ? realMain : standInMain], {
    env,
    // With a channel, it stops by itself when this process is killed.
    stdio: ['ignore', 'pipe', 'pipe', 'ipc'],
    detached: true,
  });
  let out = '';
  let err = '';
  child.stdout!.setEncoding('utf8').on('data', (text: string) => (out += text));
  child.stderr!.setEncoding('utf8').on('data', (text: string) => (err += text));
  const exited = new Promise<number>((resolve) => {
    child.once('exit', (code, signal) =>
      resolve(code ?? 128 + ({ SIGINT: 2, SIGKILL: 9, SIGTERM: 15 }[signal as string] ?? 0)),
    );
  });
  const adminUrl = `http://127.0.0.1:${adminPort}`;
  const system: TestSystem = {
    dataDir,
    adminUrl,
    process: child,
    env,
    stdout: () => out,
    stderr: () => err,
    journal: () => (existsSync(journalFile) ? readFileSync(journalFile, 'utf8').trim().split('\n') : []),
    async readiness() {
      try {
        const response = await fetch(`${adminUrl}/health/ready`, { signal: AbortSignal.timeout(2_000) });
        return { code: response.status, ...((await response.json()) as { status: string; children: ChildStatus[] }) };
      } catch (error) {
        if (child.exitCode !== null) throw new Error(`the system has ended:\n${out}\n${err}`, { cause: error });
        return null;
      }
    },
    async ready() {
      await until('readiness', async () => (await system.readiness())?.code === 200, { everyMs: 50 });
    },
    exit(limitMs = patienceMs) {
      return Promise.race([
        exited,
        until('the end of the supervisor', () => false, { limitMs }).catch(() => {
          throw new Error(`it has not ended:\n${out}\n${err}`);
        }) as Promise<never>,
      ]);
    },
  };
  started.push(system);
  return system;
}

/** Whether it is the first start of a PostgreSQL of its own. */
function hasNewDatabase(dataDir: string, { env = {} }: SystemTestOptions): boolean {
  const { HELIOGRAPH_ROLES: roles = 'control', DATABASE_URL: given } = env;
  return roles.split(',').includes('control') && given === undefined && !existsSync(join(dataDir, 'run'));
}

/** For afterEach and afterAll: what still runs is ended at once, and the folders are removed. */
export async function endSystems(): Promise<void> {
  for (const system of started.splice(0)) {
    if (system.process.exitCode === null && system.process.signalCode === null) {
      system.process.kill('SIGKILL');
      await system.exit();
      await killProcessesOf(system.dataDir);
      await nothingIsLeftOf(system.dataDir);
    }
    rmSync(system.dataDir, { recursive: true, force: true, maxRetries: 10, retryDelay: 200 });
  }
}

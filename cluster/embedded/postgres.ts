// The embedded PostgreSQL: initialised once, started on loopback with little memory, ready when it answers a query in
// our database. A half-finished initialisation is deleted, never started.
import { spawn } from 'node:child_process';
import { chownSync, existsSync, mkdirSync, renameSync, rmSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { limits } from '../../platform/limits.ts';
import { until, withDeadline } from '../../platform/deadline.ts';
import pg from 'pg';
import { SetupError, ignoring } from '../../platform/errors.ts';
import { harmlessEnvironment } from './harmless-environment.ts';
import { type EmbeddedServer, startServerProcess, untilReady } from './server-process.ts';
import { watchServer } from './server-watch.ts';
import { listProcesses } from './processes.ts';
import { type DatabasePasswords, databaseRoles, makeRoles, postgresUrl, withClient } from './postgres-roles.ts';
import { type PostgresPlace, giveTo, postgresPlace } from './postgres-user.ts';

export type PostgresOptions = {
  dataDir: string;
  port: number;
  passwords: DatabasePasswords;
  graceMs?: number;
  /** Aborted: the start is given up, and no further process started. */
  halted?: AbortSignal;
};

export async function startPostgresServer(options: PostgresOptions): Promise<EmbeddedServer> {
  const place = postgresPlace(options.dataDir);
  const dataFolder = join(place.home, 'data');
  if (!existsSync(join(dataFolder, 'PG_VERSION'))) await initialise(place, dataFolder, options);
  if (existsSync(join(dataFolder, 'postmaster.pid'))) await settleCrash(dataFolder, options.port);

  if (place.user !== null) giveTo(place.user, dataFolder);
  options.halted?.throwIfAborted();

  const running = startServerProcess({
    name: 'postgres',
    command: join(place.binDir, 'postgres'),
    args: ['-D', dataFolder, ...settingsOf(options.port)],
    logFile: join(options.dataDir, 'logs', 'postgres.log'),
    pidFile: join(options.dataDir, 'run', 'postgres.pid'),
    stopSignal: 'INT',
    user: place.user ?? undefined,
    graceMs: options.graceMs,
  });
  const url = postgresUrl(options, 'superuser', 'postgres');
  const server = {
    url: postgresUrl(options),
    ...running,
    async ready(limitMs: number) {
      await postgresReady(url, limitMs, running.exited);
      await makeRoles(options);
    },
  };
  return watchServer(server, { ask: () => askPostgres(url), ...limits.supervision.postgresWatch });
}

/** With a connection of its own: those of the control process may work while the server accepts no others. */
async function askPostgres(url: string): Promise<void> {
  const { serverAskMs } = limits.supervision;
  const config = { connectionString: url, connectionTimeoutMillis: serverAskMs, query_timeout: serverAskMs };
  try {
    await withClient(config, 'the connection of a check broke', (client) => client.query('select 1'));
  } catch (error) {
    // That it has no connection left is an answer too.
    if (!(error instanceof pg.DatabaseError)) throw error;
    ignoring(error, 'PostgreSQL answers that it cannot be asked');
  }
}

/** Waits until a query is answered. `ended` ends the wait early. */
export function postgresReady(url: string, limitMs: number, ended?: Promise<unknown>): Promise<void> {
  const config = { connectionString: url, connectionTimeoutMillis: 2_000, query_timeout: 10_000 };
  const ask = () => withClient(config, 'the readiness connection broke', (client) => client.query('select 1'));
  return untilReady({ name: 'postgres', ask, limitMs, ended });
}

/**
 * After a kill -9 the backends need a moment to end, and PostgreSQL would take an unreaped postmaster, or another
 * process with its old pid, for a running one. Removes the pid file only when none runs.
 */
async function settleCrash(dataFolder: string, port: number): Promise<void> {
  const title = `postgres: ${clusterName(port)}: `;
  await until(
    'the end of the last PostgreSQL process on the same data',
    async () => {
      const processes = await listProcesses();
      return !processes.some(({ command }) => command.startsWith(title) || command.includes(`-D ${dataFolder} `));
    },
    { limitMs: 10_000 },
  );
  rmSync(join(dataFolder, 'postmaster.pid'), { force: true });
}

/** Appears in the process titles, which distinguishes one cluster's processes from another's. */
const clusterName = (port: number) => `heliograph-${port}`;

/** For a control plane with a few connections: the defaults would reserve 128 MB. */
function settingsOf(port: number): string[] {
  const settings = {
    listen_addresses: '127.0.0.1',
    port,
    cluster_name: clusterName(port),
    unix_socket_directories: '',
    shared_buffers: '32MB',
    max_connections: 40,
    max_wal_size: '256MB',
    // Three idle helper processes fewer: the database is too small to need them.
    max_worker_processes: 2,
    max_logical_replication_workers: 0,
    io_method: 'sync',
    log_min_messages: 'warning',
    log_checkpoints: 'off',
  };
  return Object.entries(settings).flatMap(([name, value]) => ['-c', `${name}=${value}`]);
}

async function initialise(
  place: PostgresPlace,
  dataFolder: string,
  { passwords: { superuser: password }, halted }: PostgresOptions,
): Promise<void> {
  const draft = join(place.home, 'data.new');
  const passwordFile = join(place.home, 'initdb-password');
  rmSync(draft, { recursive: true, force: true });
  mkdirSync(draft, { mode: 0o700 });
  writeFileSync(passwordFile, `${password}\n`, { mode: 0o600 });
  if (place.user !== null) {
    for (const path of [draft, passwordFile]) chownSync(path, place.user.uid, place.user.gid);
  }
  try {
    const files = [`--pgdata=${draft}`, `--pwfile=${passwordFile}`];
    const cluster = ['--auth=scram-sha-256', '--locale=C', '--encoding=UTF8', '--no-instructions'];
    await initdb(place, [...files, `--username=${databaseRoles.superuser}`, ...cluster], halted);
  } finally {
    rmSync(passwordFile, { force: true });
  }
  rmSync(dataFolder, { recursive: true, force: true });
  renameSync(draft, dataFolder);
}

/** Rejects when the program has ended, also when `halted` made it end. */
function initdb(
  place: PostgresPlace,
  args: string[],
  halted: AbortSignal = new AbortController().signal,
): Promise<void> {
  halted.throwIfAborted();
  const work = new Promise<void>((resolve, reject) => {
    const child = spawn(join(place.binDir, 'initdb'), args, {
      stdio: ['ignore', 'ignore', 'pipe'],
      // Its own process group: Ctrl-C reaches it through `halted`, as a stop and not as a failure.
      detached: true,
      cwd: '/',
      env: harmlessEnvironment(process.env),
      ...place.user,
    });
    let errors = '';
    child.stderr.setEncoding('utf8').on('data', (text: string) => {
      errors = (errors + text).slice(-2_000);
    });
    const end = () => void child.kill();
    halted.addEventListener('abort', end, { once: true });
    child.once('error', reject);
    child.once('exit', (code) => {
      halted.removeEventListener('abort', end);
      if (halted.aborted) return reject(new Error('initdb was ended by a stop'));
      if (code === 0) return resolve();
      reject(new SetupError(`initdb failed (${code}): ${errors.trim()}; or set DATABASE_URL to a server of yours`));
    });
  });
  return withDeadline('initdb', 60_000, work);
}

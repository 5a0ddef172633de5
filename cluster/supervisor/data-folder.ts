// Opens the data folder for one supervisor: locks it against a second one, checks its format, and ends processes that a
// killed supervisor left running, if their command names this folder. The format is a number in the file `format`: a
// folder of another format is refused before anything starts, because its queues would not be read.
import {
  chmodSync,
  existsSync,
  mkdirSync,
  readFileSync,
  readdirSync,
  rmSync,
  rmdirSync,
  statSync,
  writeFileSync,
} from 'node:fs';
import { join } from 'node:path';
import { until } from '../../platform/deadline.ts';
import { SetupError, ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { type ProcessEntry, listProcesses } from '../embedded/processes.ts';
import { takeLock } from '../setup/lock.mjs';

/** Throws SetupError when another supervisor has the folder, or its data has another format. */
export async function openDataFolder(path: string) {
  const runDir = join(path, 'run');
  const made = [runDir, join(path, 'logs'), path].filter((each) => !existsSync(each));
  const isMarked = existsSync(formatFile(path));
  try {
    makePrivate(path);
  } catch (error) {
    throw new SetupError(`HELIOGRAPH_DATA: cannot create the folder ${path}: ${(error as Error).message}`, error);
  }
  const lock = takeLock(join(runDir, 'supervisor.lock'));
  if (!lock.taken) {
    throw new SetupError(
      `Heliograph already runs on ${path} (process ${lock.pid}): stop it, or set HELIOGRAPH_DATA to another folder`,
    );
  }
  try {
    checkDataFormat(path);
  } catch (error) {
    lock.release();
    throw error;
  }
  await endLeftovers(path, runDir);
  return { path, runDir, release, discard };

  function release(): void {
    if (lock.taken) lock.release();
  }

  /** When nothing was started: removes what opening created. */
  function discard(): void {
    release();
    if (!isMarked) rmSync(formatFile(path), { force: true });
    for (const each of made) if (readdirSync(each).length === 0) rmdirSync(each);
  }
}

/** Only for their owner. Without `postgres`: under root, the database belongs to another user. */
const privateFolders = ['run', 'logs', 'clickhouse', 'flight', 'nats', 'secrets', 'simulated'];
const privateFiles = ['format', 'node-name', 'database-name', 'demo-keys.json'];

/** Creates the folder, or removes the permissions of others that an older version left. */
function makePrivate(path: string): void {
  const isNew = !existsSync(path);
  mkdirSync(path, { recursive: true });
  // Under root others may pass through: the embedded PostgreSQL runs as another user.
  if (isNew) narrow(path, process.getuid?.() === 0 ? 0o711 : 0o700);
  else narrow(path, statSync(path).mode & 0o711);
  mkdirSync(join(path, 'run'), { recursive: true, mode: 0o700 });
  mkdirSync(join(path, 'logs'), { recursive: true, mode: 0o700 });
  const there = new Set(readdirSync(path));
  for (const name of privateFolders) if (there.has(name)) narrow(join(path, name), 0o700);
  for (const name of privateFiles) if (there.has(name)) narrow(join(path, name), 0o600);
}

function narrow(path: string, mode: number): void {
  if ((statSync(path).mode & 0o777) === mode) return;
  try {
    chmodSync(path, mode);
  } catch (error) {
    // The folder of another user, who decides about its permissions.
    log.warn({ path, error: (error as Error).message }, 'others may read this path: it belongs to another user');
  }
}

/** How CLI commands find the running system; readable only by its owner, because of the passwords. */
export type Connections = {
  pid: number;
  /** The heliograph.yaml in effect; null when the configuration did not come from a file. */
  configFile: string | null;
  natsUrl: string;
  databaseUrl: string | null;
  databaseOwnerUrl: string | null;
  clickhouseUrl: string | null;
  httpUrl: string;
  adminUrl: string;
  /** The HTTP servers of this machine's simulated carriers, by carrier, and the token of this start that they ask for. */
  simulators: { token: string; urls: Readonly<Record<string, string>> };
};

export function writeConnections(runDir: string, connections: Connections): void {
  writeFileSync(connectionsFile(runDir), `${JSON.stringify(connections, null, 2)}\n`, { mode: 0o600 });
}

export function removeConnections(runDir: string): void {
  rmSync(connectionsFile(runDir), { force: true });
}

/** Null when nothing runs on the folder. */
export function readConnections(dataDir: string): Connections | null {
  try {
    return JSON.parse(readFileSync(connectionsFile(join(dataDir, 'run')), 'utf8')) as Connections;
  } catch (error) {
    ignoring(error, 'nothing runs on this data folder');
    return null;
  }
}

const connectionsFile = (runDir: string) => join(runDir, 'connections.json');

async function endLeftovers(dataDir: string, runDir: string): Promise<void> {
  const pidFiles = readdirSync(runDir).filter((name) => name.endsWith('.pid'));
  if (pidFiles.length === 0) return;
  const groups = new Set(pidFiles.map((name) => Number.parseInt(readFileSync(join(runDir, name), 'utf8'), 10)));
  // Each child leads a process group, so the stored id finds the whole group.
  const find = async () =>
    (await listProcesses()).filter((entry) => groups.has(entry.groupId) && isOf(entry, dataDir, runDir));
  const left = await find();
  if (left.length > 0) {
    log.warn({ pids: left.map((entry) => entry.pid) }, 'ending processes that a killed supervisor left running');
    for (const entry of left) send(entry.pid, 'SIGTERM');
    const waitMs = limits.supervision.embeddedGraceMs + limits.supervision.embeddedKillMs;
    await until('the end of leftover processes', async () => (await find()).length === 0, {
      limitMs: waitMs,
      everyMs: 50,
    }).catch((error) => ignoring(error, 'killed instead'));
    for (const entry of await find()) send(entry.pid, 'SIGKILL');
    await until('the end of killed processes', async () => (await find()).length === 0, { limitMs: 5_000 });
  }
  for (const name of pidFiles) rmSync(join(runDir, name), { force: true });
}

/** Matches the folder as a whole word: /data/a is not /data/a2. */
function isOf(entry: ProcessEntry, dataDir: string, runDir: string): boolean {
  if (entry.command.includes(`${dataDir}/`) || entry.command.endsWith(`--data=${dataDir}`)) return true;
  const movedPostgres = join(dataDir, 'postgres', 'moved-to');
  try {
    return entry.command.includes(readFileSync(movedPostgres, 'utf8').trim());
  } catch (error) {
    ignoring(error, `PostgreSQL runs beside ${runDir}`);
    return false;
  }
}

function send(pid: number, signal: NodeJS.Signals): void {
  try {
    process.kill(pid, signal);
  } catch (error) {
    ignoring(error, 'it ended by itself');
  }
}

/** Incremented with every change of a durable name or record that cannot read earlier data. */
export const dataFormat = 4;

/** Folders with data from a running system; before format 2 there was no number. */
const written = ['nats', 'postgres', 'clickhouse'];

/** Throws SetupError when the folder has data of another format. Marks a folder without data. */
function checkDataFormat(path: string): void {
  const file = formatFile(path);
  const hasData = written.some((name) => existsSync(join(path, name)));
  const found = existsSync(file) ? readFileSync(file, 'utf8').trim() : hasData ? '1' : null;
  if (found === String(dataFormat)) return;
  if (found !== null) {
    const isNumber = /^\d{1,9}$/.test(found);
    if (!isNumber) {
      throw new SetupError(
        `The file ${file} has ${found === '' ? 'nothing' : 'no number'} in it: it is damaged. Restore it from a backup; ` +
          `if only versions with format ${dataFormat} have run on the folder, write ${dataFormat} into it`,
      );
    }
    const advice =
      Number(found) > dataFormat
        ? 'start the newer version that made it'
        : 'set HELIOGRAPH_DATA to a new folder, or delete this one if nothing in it is needed';
    throw new SetupError(
      `The data folder ${path} has format ${found}, and this version reads format ${dataFormat} only: ${advice}`,
    );
  }
  writeFileSync(file, `${dataFormat}\n`, { mode: 0o600 });
}

export const formatFile = (path: string): string => join(path, 'format');

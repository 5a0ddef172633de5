// The children of this machine and their parameters: settings and configuration in, supervision data out. The drain
// order (stopRank) follows a message backwards: entry points first, storage last.
import { availableParallelism, totalmem } from 'node:os';
import { join } from 'node:path';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { bodyKeysText } from '../../model/records/body-keys.ts';
import type { Configuration, SimulatedPorts } from '../../config/configuration.ts';
import { actorsDrainMs } from '../../config/drain-times.ts';
import { configurationVariable } from '../../config/load.ts';
import type { Role, Settings } from '../../config/settings.ts';
import { harmlessEnvironment } from '../embedded/harmless-environment.ts';
import type { EmbeddedServer } from '../embedded/server-process.ts';
import { natsUrl, startNatsServer } from '../embedded/nats.ts';
import { type Ports, isFree } from '../embedded/ports.ts';
import { startPostgresServer } from '../embedded/postgres.ts';
import { postgresUrl } from '../embedded/postgres-roles.ts';
import type { Secrets } from '../embedded/secrets.ts';
import type { ChildSpec, ManagedProcess } from './supervised-child.ts';
import { drainHeadroomMs, startRole } from './role-process.ts';
import { type RoleChild, configurationFor, settingsFor } from './role-settings.ts';

type PlanInput = {
  settings: Settings;
  /** The current configuration; it may change while the children run. */
  inEffect: () => Configuration;
  secrets: Secrets;
  ports: Ports;
  runDir: string;
  rolesDir: string;
};

export async function planChildren(input: PlanInput) {
  const { settings, inEffect, secrets, ports } = input;
  const configuration = inEffect();
  const has = (role: Role) => settings.roles.includes(role);
  const natsPort = settings.natsUrl === null ? await ports.choose('nats-server') : 0;
  const wantsPostgres = has('control') && settings.databaseUrl === null;
  const postgresPort = wantsPostgres ? await ports.choose('postgres') : 0;
  const postgres = { port: postgresPort, passwords: secrets.databasePasswords };
  const urls = {
    natsUrl: settings.natsUrl ?? natsUrl({ port: natsPort, password: secrets.natsPassword }),
    /** Null when no role on this machine needs a database. */
    databaseUrl: wantsPostgres ? postgresUrl(postgres) : settings.databaseUrl,
    /** Null: not given. */
    databaseOwnerUrl: wantsPostgres ? postgresUrl(postgres, 'owner') : settings.databaseOwnerUrl,
  };
  const simulated = has('carriers') ? await simulatedPorts(configuration, ports, 'simulator') : {};
  const simulatedHttp = has('carriers') ? await simulatedPorts(configuration, ports, 'simulator-http') : {};
  const simulatorToken = secretBytes(32).toString('base64url');
  const all = {
    HELIOGRAPH_DATA: settings.dataDir,
    HELIOGRAPH_CONFIG: settings.configFile,
    HELIOGRAPH_NODE: process.env['HELIOGRAPH_NODE'],
    HELIOGRAPH_HTTP_HOST: settings.httpHost,
    HELIOGRAPH_HTTP_PORT: String(settings.httpPort),
    HELIOGRAPH_BODY_KEY: bodyKeysText(secrets.bodyKeys),
    HELIOGRAPH_SIMULATED: JSON.stringify(simulated),
    HELIOGRAPH_SIMULATED_HTTP: JSON.stringify(simulatedHttp),
    HELIOGRAPH_SIMULATOR_TOKEN: simulatorToken,
    HELIOGRAPH_CONTROL_PORT: String(settings.controlPort || (await ports.choose('control'))),
    HELIOGRAPH_CONTROL_SECRET: secretBytes(32).toString('base64url'),
    NATS_URL: urls.natsUrl,
    HELIOGRAPH_OWN_BUS: settings.natsUrl === null ? 'yes' : '',
    DATABASE_URL: urls.databaseUrl ?? '',
    DATABASE_OWNER_URL: urls.databaseOwnerUrl ?? '',
    CLICKHOUSE_URL: settings.clickhouseUrl ?? '',
    HELIOGRAPH_SQL_TOKEN: settings.sqlToken ?? '',
  };
  const inherited = harmlessEnvironment({ ...process.env, HELIOGRAPH_LOG: process.env['HELIOGRAPH_LOG'] ?? 'warn' });

  const natsUrlOf = (role: RoleChild) =>
    settings.natsUrl ??
    natsUrl({ port: natsPort, password: secrets.natsPassword }, role === 'simulator' ? 'analytics' : role);

  const specs: ChildSpec[] = [];
  if (settings.natsUrl === null) {
    specs.push(
      server('nats-server', async () =>
        startNatsServer({
          dataDir: settings.dataDir,
          port: natsPort,
          password: secrets.natsPassword,
          storeMbMax: configuration.limits.streamStoreMbMax,
        }),
      ),
    );
  }
  if (wantsPostgres) {
    specs.push(server('postgres', (halted) => startPostgresServer({ dataDir: settings.dataDir, ...postgres, halted })));
  }
  const embedded = specs.map((spec) => spec.name);
  const addRole = (name: RoleChild, after: string[]) => {
    const { file, stopRank, nodeFlags, yields = false } = roleChildren[name];
    specs.push({
      name,
      after: after.filter((other) => specs.some((spec) => spec.name === other)),
      startWithinMs: name === 'analytics' ? limits.supervision.analyticsStartMs : limits.supervision.startMs,
      // The carriers may have changed by then.
      get stopWithinMs() {
        return name === 'actors' ? actorsDrainMs(inEffect()) + drainHeadroomMs : limits.supervision.drainMs;
      },
      stopRank,
      hung: limits.supervision.hungRole,
      start: async () =>
        startRole({
          name,
          file: join(input.rolesDir, file),
          dataDir: settings.dataDir,
          pidFile: join(input.runDir, `${name}.pid`),
          env: { ...inherited, HELIOGRAPH_ROLE: name },
          // A later start uses the configuration in effect then.
          settings: {
            ...settingsFor(name, { ...all, NATS_URL: natsUrlOf(name) }),
            [configurationVariable]: JSON.stringify(configurationFor(name, inEffect())),
          },
          ownPart: (next) => configurationFor(name, next),
          nodeFlags,
          yields,
        }),
    });
  };
  if (Object.keys(simulated).length > 0) addRole('simulator', []);
  if (has('analytics')) addRole('analytics', embedded.slice(0, settings.natsUrl === null ? 1 : 0));
  if (has('control')) addRole('control', embedded);
  if (has('carriers')) addRole('actors', ['nats-server', 'simulator']);
  if (has('webhooks')) addRole('delivery', ['nats-server']);
  if (has('ingress')) addRole('ingress', ['nats-server']);
  const simulatorUrls = Object.entries(simulatedHttp).map(([name, port]) => [name, `http://127.0.0.1:${port}`]);
  const simulators = { token: simulatorToken, urls: Object.fromEntries(simulatorUrls) as Record<string, string> };
  return { specs, connections: { ...urls, simulators } };
}

/**
 * For the roles that are busy under load (decision 242): a young generation that most messages do not outlive; an old one that is
 * not collected before it has `oldMb` MiB, nor later before it is ten times what was left, or halfway to its limit; no
 * collections only because 100 s have passed; and one helper thread.
 */
const rareCollections = (oldMb = 512) => [
  ...['--max-semi-space-size=32', `--initial-old-space-size=${oldMb}`, '--heap-growing-percent=900'],
  ...['--no-memory-reducer', '--v8-pool-size=1'],
];

/**
 * How large the old generation of an ingress thread becomes before it is collected, in MiB: a collection marks what is kept of each
 * one-time password of the last hours, and those that come meanwhile wait for it. Each processor may have such a thread.
 */
export function ingressOldMb(memoryBytes: number, processors: number): number {
  return memoryBytes / processors >= 8 * 1024 ** 3 ? 1_024 : 512;
}
/** constrainedMemory: what a container may use; 0 when that is not known. */
const memoryHere = Math.min(totalmem(), process.constrainedMemory() || Number.POSITIVE_INFINITY);
const ingressFlags = [
  '--max-old-space-size=2048',
  ...rareCollections(ingressOldMb(memoryHere, availableParallelism())),
];

/** Small young generations for those that see little traffic. `yields`: role-process.ts. */
type RoleChildSpec = { file: string; stopRank: number; nodeFlags: readonly string[]; yields?: true };
const roleChildren: Record<RoleChild, RoleChildSpec> = {
  ingress: { file: 'ingress.ts', stopRank: 1, nodeFlags: ingressFlags },
  actors: { file: 'actors.ts', stopRank: 2, nodeFlags: ['--max-old-space-size=2048', ...rareCollections()] },
  control: { file: 'control.ts', stopRank: 4, nodeFlags: ['--max-old-space-size=512', '--max-semi-space-size=4'] },
  analytics: {
    file: 'analytics.ts',
    stopRank: 5,
    nodeFlags: ['--max-old-space-size=1024', ...rareCollections()],
    yields: true,
  },
  // Behind those whose events it sends, and before those it asks.
  delivery: { file: 'delivery.ts', stopRank: 3, nodeFlags: ['--max-old-space-size=1024', ...rareCollections(256)] },
  simulator: { file: 'simulator.ts', stopRank: 6, nodeFlags: ['--max-old-space-size=512', '--max-semi-space-size=8'] },
};

/** The same ports after a restart, so that actors reconnect to their carriers. */
async function simulatedPorts(
  configuration: Configuration,
  ports: Ports,
  of: 'simulator' | 'simulator-http',
): Promise<SimulatedPorts> {
  const simulated: SimulatedPorts = {};
  for (const carrier of configuration.carriers) {
    if (carrier.simulate !== null) simulated[carrier.name] = await ports.choose(`${of}:${carrier.name}`);
  }
  return simulated;
}

function server(name: string, start: (halted: AbortSignal) => Promise<EmbeddedServer>): ChildSpec {
  return {
    name,
    after: [],
    startWithinMs: limits.supervision.startMs,
    stopWithinMs: limits.supervision.embeddedStopMs,
    stopRank: 6,
    hung: limits.supervision.hungServer,
    start: async (halted) => managed(await start(halted)),
  };
}

function managed(embedded: EmbeddedServer): ManagedProcess {
  return {
    ...embedded,
    async ready(limitMs) {
      await embedded.ready(limitMs);
      return { port: new URL(embedded.url).port };
    },
    health: () => embedded.health?.() ?? { ok: true, detail: '' },
    heartbeats: () => embedded.answers(),
    metrics: async () => [],
    configure: () => {},
  };
}

/** Checked before anything starts: one sentence instead of a crash of the ingress. */
export async function portTaken(settings: Settings): Promise<string | null> {
  const { roles, httpPort, httpHost, adminPort, adminHost } = settings;
  const wanted = [
    ...(roles.includes('ingress') ? [{ port: httpPort, host: httpHost, setting: 'HELIOGRAPH_HTTP_PORT' }] : []),
    { port: adminPort, host: adminHost, setting: 'HELIOGRAPH_ADMIN_PORT' },
  ];
  for (const { port, host, setting } of wanted) {
    if (port === 0 || (await isFree(port, host))) continue;
    return `Port ${port} on ${host} is taken by another process: set ${setting} to a free one`;
  }
  return null;
}

// The settings and secrets of each role, and the parts of heliograph.yaml it uses. They are sent over the channel to
// the child, not in its environment, which every process of the user can read and every child inherits.
import { createHmac } from 'node:crypto';
import { secretBytes } from '../../platform/random.ts';
import type { BindConfig, Configuration } from '../../config/configuration.ts';

export type RoleChild = 'simulator' | 'analytics' | 'control' | 'actors' | 'ingress' | 'delivery';

/** Settings by variable name, as `loadSettings` and others read them. */
type Settings = Readonly<Record<string, string>>;

const everyRole = ['HELIOGRAPH_DATA', 'HELIOGRAPH_NODE'] as const;
/** Of a role that uses NATS, and of one that seals or opens bodies there. */
const onBus = [...everyRole, 'NATS_URL', 'HELIOGRAPH_OWN_BUS'] as const;
const withBodies = [...onBus, 'HELIOGRAPH_BODY_KEY'] as const;
const managementApi = ['HELIOGRAPH_CONTROL_PORT', 'HELIOGRAPH_CONTROL_SECRET'] as const;
export const settingsOfRole: Readonly<Record<RoleChild, readonly string[]>> = {
  ingress: [...withBodies, 'HELIOGRAPH_HTTP_HOST', 'HELIOGRAPH_HTTP_PORT', ...managementApi],
  actors: [...withBodies, 'HELIOGRAPH_SIMULATED'],
  // The audit log names the file when it is reloaded.
  control: [...withBodies, 'HELIOGRAPH_CONFIG', 'DATABASE_URL', 'DATABASE_OWNER_URL', ...managementApi],
  analytics: [...onBus, 'CLICKHOUSE_URL', 'HELIOGRAPH_SQL_TOKEN'],
  delivery: withBodies,
  simulator: [...everyRole, 'HELIOGRAPH_SIMULATED', 'HELIOGRAPH_SIMULATED_HTTP', 'HELIOGRAPH_SIMULATOR_TOKEN'],
};

export function settingsFor(role: RoleChild, all: Readonly<Record<string, string | undefined>>): Settings {
  return Object.fromEntries(
    settingsOfRole[role].flatMap((name) => {
      const value = all[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
}

/** The configuration for one role: only roles that bind get the carriers' passwords. */
export function configurationFor(role: RoleChild, configuration: Configuration): Configuration {
  const { carriers } = configuration;
  if (role === 'actors') return configuration;
  if (role === 'simulator') return { ...configuration, carriers: carriers.filter(({ simulate }) => simulate !== null) };
  return { ...configuration, carriers: carriers.map((each) => ({ ...each, binds: each.binds.map(noSecret) })) };
}

/** A keyed hash in place of the password shows that it changed; no role has the key. */
const noSecret = (bind: BindConfig): BindConfig => ({
  ...bind,
  password: createHmac('sha256', markKey).update(bind.password).digest('hex').slice(0, 8),
});

const markKey = secretBytes(32);

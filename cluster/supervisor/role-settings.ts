// The settings and secrets of each role, and the parts of heliograph.yaml it reads. They go over the channel to the
// child and not into its environment, which every process of the same user can read and every child of it would
// inherit.
import { createHmac } from 'node:crypto';
import { secretBytes } from '../../platform/random.ts';
import type { BindConfig, Configuration } from '../../config/configuration.ts';

export type RoleChild = 'simulator' | 'analytics' | 'control' | 'actors' | 'ingress';

/** Settings by the name of their variable: what `loadSettings` and its neighbours read. */
type Settings = Readonly<Record<string, string>>;

const everyRole = ['HELIOGRAPH_DATA', 'HELIOGRAPH_NODE'] as const;
export const settingsOfRole: Readonly<Record<RoleChild, readonly string[]>> = {
  ingress: [
    ...everyRole,
    'NATS_URL',
    'HELIOGRAPH_OWN_BUS',
    'HELIOGRAPH_BODY_KEY',
    'HELIOGRAPH_HTTP_HOST',
    'HELIOGRAPH_HTTP_PORT',
    'HELIOGRAPH_CONTROL_PORT',
    'HELIOGRAPH_CONTROL_SECRET',
  ],
  actors: [...everyRole, 'NATS_URL', 'HELIOGRAPH_OWN_BUS', 'HELIOGRAPH_BODY_KEY', 'HELIOGRAPH_SIMULATED'],
  control: [
    ...everyRole,
    // Named in the audit log when the file is reloaded.
    'HELIOGRAPH_CONFIG',
    'NATS_URL',
    'HELIOGRAPH_OWN_BUS',
    'HELIOGRAPH_BODY_KEY',
    'DATABASE_URL',
    'DATABASE_OWNER_URL',
    'HELIOGRAPH_CONTROL_PORT',
    'HELIOGRAPH_CONTROL_SECRET',
  ],
  analytics: [...everyRole, 'NATS_URL', 'HELIOGRAPH_OWN_BUS', 'CLICKHOUSE_URL'],
  simulator: [...everyRole, 'HELIOGRAPH_SIMULATED'],
};

/** The settings of one role out of all. */
export function settingsFor(role: RoleChild, all: Readonly<Record<string, string | undefined>>): Settings {
  return Object.fromEntries(
    settingsOfRole[role].flatMap((name) => {
      const value = all[name];
      return value === undefined || value === '' ? [] : [[name, value]];
    }),
  );
}

/** The configuration as one role may know it: passwords of carriers are for those who bind. */
export function configurationFor(role: RoleChild, configuration: Configuration): Configuration {
  const { carriers } = configuration;
  switch (role) {
    case 'actors':
      return configuration;
    case 'simulator':
      return { ...configuration, carriers: carriers.filter(({ simulate }) => simulate !== null) };
    case 'ingress':
    case 'control':
    case 'analytics':
      return { ...configuration, carriers: carriers.map((each) => ({ ...each, binds: each.binds.map(noSecret) })) };
  }
}

/** That a password has changed stays visible: what is used instead is made with a key that no role is given. */
const noSecret = (bind: BindConfig): BindConfig => ({
  ...bind,
  password: createHmac('sha256', markKey).update(bind.password).digest('hex').slice(0, 8),
});

const markKey = secretBytes(32);

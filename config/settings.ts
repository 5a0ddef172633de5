// The settings of one process, from the environment. Read once at the start; an invalid value stops the start with a
// SetupError. No other code reads these variables.
import { existsSync } from 'node:fs';
import { resolve } from 'node:path';
import { SetupError } from '../platform/errors.ts';
import { logLevels } from '../platform/log.ts';
import type { SimulatedPorts } from './configuration.ts';

const rolesAll = ['ingress', 'carriers', 'webhooks', 'analytics', 'control', 'smpp'] as const;
/** Named in HELIOGRAPH_ROLES and `--roles`. */
export type Role = (typeof rolesAll)[number];
export type BuiltRole = Exclude<Role, 'smpp'>;
/** The default of `npm start`: all roles that exist. */
export const rolesBuilt: readonly BuiltRole[] = ['ingress', 'carriers', 'webhooks', 'analytics', 'control'];

export type Settings = ReturnType<typeof loadSettings>;

type Env = Record<string, string | undefined>;

/** Throws SetupError naming the setting, what was found and what was expected. */
export function loadSettings(env: Env = process.env) {
  checkLogLevel(env['HELIOGRAPH_LOG']);
  return {
    configFile: resolve(env['HELIOGRAPH_CONFIG'] || 'heliograph.yaml'),
    dataDir: resolve(env['HELIOGRAPH_DATA'] || 'data'),
    httpHost: env['HELIOGRAPH_HTTP_HOST'] || '127.0.0.1',
    httpPort: portOf(env, 'HELIOGRAPH_HTTP_PORT', 8080),
    adminHost: env['HELIOGRAPH_ADMIN_HOST'] || '127.0.0.1',
    adminPort: portOf(env, 'HELIOGRAPH_ADMIN_PORT', 9464),
    /** The loopback port of the control role, to which the ingress forwards; 0 until the supervisor chose it. */
    controlPort: portOf(env, 'HELIOGRAPH_CONTROL_PORT', 0),
    /** The secret with which the ingress authenticates to the control role; '' (no check) when a role is run by hand. */
    controlSecret: env['HELIOGRAPH_CONTROL_SECRET'] || '',
    roles: parseRoles(env['HELIOGRAPH_ROLES'], 'HELIOGRAPH_ROLES'),
    /** Null: the supervisor starts an embedded server. Always set in a child. */
    natsUrl: natsUrlOf(env),
    /** The nats-server belongs to this machine alone: no other node uses it. */
    ownBus: env['HELIOGRAPH_OWN_BUS'] === 'yes' || !env['NATS_URL'],
    /** With the application's role: used while the system runs. */
    databaseUrl: urlOf(env, 'DATABASE_URL', ['postgres:', 'postgresql:']),
    /** With the role that owns the tables: for migrations and `audit detach`. Null: `databaseUrl` serves these too. */
    databaseOwnerUrl: ownerUrlOf(env),
    /** Null: chDB in the analytics process. */
    clickhouseUrl: urlOf(env, 'CLICKHOUSE_URL', ['http:', 'https:']),
    /** Of the operator's SQL endpoint (`analytics.sql_endpoint` in heliograph.yaml); null: not given. */
    sqlToken: sqlTokenOf(env),
    simulatedPorts: simulatedOf(env['HELIOGRAPH_SIMULATED']),
    /** Of the simulators' HTTP servers, with the token that they ask for. From the supervisor. */
    simulatedHttpPorts: simulatedOf(env['HELIOGRAPH_SIMULATED_HTTP']),
    simulatorToken: env['HELIOGRAPH_SIMULATOR_TOKEN'] || null,
  };
}

/** `ingress,control` → roles. Empty or missing: all that exist. */
export function parseRoles(text: string | undefined, source: string): Role[] {
  const names = (text ?? '').split(',').flatMap((name) => name.trim() || []);
  if (names.length === 0) return [...rolesBuilt];
  return [...new Set(names)].map((name) => {
    const role = rolesAll.find((known) => known === name);
    if (role === undefined)
      throw new SetupError(`${source}: found "${name}", expected roles of ${rolesBuilt.join(', ')}`);
    if (!rolesBuilt.some((built) => built === role)) {
      throw new SetupError(
        `${source}: not_available: the role "${role}" is not built yet; choose of ${rolesBuilt.join(', ')}`,
      );
    }
    return role;
  });
}

function checkLogLevel(level: string | undefined): void {
  if (!level || logLevels.includes(level)) return;
  throw new SetupError(`HELIOGRAPH_LOG: found "${level}", expected one of ${logLevels.join(', ')}`);
}

function portOf(env: Env, name: string, fallback: number): number {
  const text = env[name];
  if (text === undefined || text === '') return fallback;
  const port = Number(text);
  if (!/^\d+$/.test(text) || port > 65_535) {
    throw new SetupError(`${name}: found "${text}", expected a port from 1 to 65535 (0 lets the system choose)`);
  }
  return port;
}

function urlOf(env: Env, name: string, protocols: string[]): string | null {
  const text = env[name];
  if (text === undefined || text === '') return null;
  // NATS accepts a list of servers; each must be valid.
  for (const part of text.split(',')) {
    if (!URL.canParse(part) || !protocols.includes(new URL(part).protocol)) {
      throw new SetupError(`${name}: expected a URL that starts with ${protocols.join('//, ')}//`);
    }
  }
  return text;
}

function sqlTokenOf(env: Env): string | null {
  const token = env['HELIOGRAPH_SQL_TOKEN'];
  if (token === undefined || token === '') return null;
  if (/^\S{32,256}$/.test(token)) return token;
  throw new SetupError(
    'HELIOGRAPH_SQL_TOKEN: expected 32 to 256 characters without spaces, as of `openssl rand -hex 32`',
  );
}

function ownerUrlOf(env: Env): string | null {
  const url = urlOf(env, 'DATABASE_OWNER_URL', ['postgres:', 'postgresql:']);
  if (url !== null && !env['DATABASE_URL']) {
    throw new SetupError('DATABASE_OWNER_URL: expected DATABASE_URL beside it, with the role of the application');
  }
  return url;
}

const natsFiles = [
  ['NATS_CA_FILE', 'ca_file'],
  ['NATS_CERT_FILE', 'cert_file'],
  ['NATS_KEY_FILE', 'key_file'],
] as const;

/** Includes the files for TLS: the connection is made from the URL alone. */
function natsUrlOf(env: Env): string | null {
  const text = urlOf(env, 'NATS_URL', ['nats:', 'tls:']);
  const files = natsFiles.flatMap(([name, key]) => (env[name] ? [{ name, key, path: resolve(env[name]) }] : []));
  const isTls = text?.split(',').map((part) => new URL(part).protocol === 'tls:') ?? [];
  if (isTls.includes(true) && isTls.includes(false)) {
    throw new SetupError('NATS_URL: found tls:// beside nats://, expected the same for all servers');
  }
  for (const { name, path } of files) {
    if (isTls[0] !== true) throw new SetupError(`${name}: expected a NATS_URL that starts with tls:// beside it`);
    if (!existsSync(path)) throw new SetupError(`${name}: there is no file ${path}`);
  }
  if (files.some(({ key }) => key === 'cert_file') !== files.some(({ key }) => key === 'key_file')) {
    throw new SetupError('NATS_CERT_FILE, NATS_KEY_FILE: expected both or none');
  }
  if (text === null || files.length === 0) return text;
  const url = new URL(text.split(',')[0] ?? '');
  for (const { key, path } of files) url.searchParams.set(key, path);
  // A comma separates servers, so those in paths are escaped.
  return [url.href.replaceAll(',', '%2C'), ...text.split(',').slice(1)].join(',');
}

function simulatedOf(text: string | undefined): SimulatedPorts {
  return text === undefined || text === '' ? {} : (JSON.parse(text) as SimulatedPorts);
}

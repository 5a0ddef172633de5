// Warnings at the start about settings that are allowed but rarely intended: embedded servers that every machine would
// have for itself, HTTP ports that others on the network can use, and hedging without a second carrier. control/projection/owner.ts refuses a control
// role with the wrong database.
import type { Configuration } from '../../config/configuration.ts';
import type { Settings } from '../../config/settings.ts';
import { isLoopback } from '../../config/loopback.ts';

type Warned = Pick<Configuration, 'ingress'> & Hedged;

export function startWarnings(settings: Settings, { ingress, ...configuration }: Warned): string[] {
  return [
    ...nothingToHedgeWith(settings, configuration),
    ...historyOfItsOwn(settings),
    ...openHttpServer(settings, ingress.trustedProxies),
    ...plainConnections(settings),
  ];
}

type Hedged = Pick<Configuration, 'otp' | 'routes'> & {
  readonly carriers: readonly Pick<Configuration['carriers'][number], 'name' | 'classes' | 'simulate'>[];
  readonly routing: Pick<Configuration['routing'], 'fallback'>;
};

/** Simulated carriers alone need no second one: the demo has none, and says nothing. */
function nothingToHedgeWith({ roles }: Settings, { otp, carriers, routes, routing }: Hedged): string[] {
  if (!roles.includes('ingress') || !otp.hedging.enabled || carriers.every(({ simulate }) => simulate !== null))
    return [];
  const able = new Set(carriers.filter(({ classes }) => classes.includes('otp')).map(({ name }) => name));
  const ofRoutes = routes.filter(({ classes }) => classes.length === 0 || classes.includes('otp'));
  const hasSecond = ofRoutes.some((route) => route.carriers.filter((name) => able.has(name)).length > 1);
  if (hasSecond || (able.size > 1 && routing.fallback.some((name) => able.has(name)))) return [];
  return [
    'otp.hedging is enabled, and no one-time password has a second carrier: name it in routing.fallback, or two carriers in a ' +
      'route (docs/otp.md, Hedging)',
  ];
}

function historyOfItsOwn({ roles, natsUrl, clickhouseUrl }: Settings): string[] {
  if (!roles.includes('analytics') || natsUrl === null || clickhouseUrl !== null) return [];
  return [
    'NATS_URL is set and CLICKHOUSE_URL is not: this machine keeps the history in its own ClickHouse. With more ' +
      'than one machine on that NATS set CLICKHOUSE_URL on all of them, or each will have only a part of it',
  ];
}

/** Without a proxy that ends TLS, keys and texts cross the network in clear text. */
function openHttpServer({ roles, httpHost, httpPort }: Settings, trustedProxies: readonly string[]): string[] {
  if (!roles.includes('ingress') || isLoopback(httpHost) || trustedProxies.length > 0) return [];
  return [
    `The API listens on ${httpHost}:${httpPort} without TLS, and ingress.trusted_proxies names no proxy that ends TLS in ` +
      'front of it: API keys and texts cross the network in clear text (docs/operations.md, Behind a proxy)',
  ];
}

/** Connections that carry passwords, numbers and names without encryption. */
function plainConnections({ natsUrl, databaseUrl, databaseOwnerUrl, clickhouseUrl }: Settings): string[] {
  const elsewhere = (url: string | null) =>
    (url?.split(',') ?? []).map((each) => new URL(each)).filter(({ hostname }) => !isLocal(hostname));
  const plainNats = elsewhere(natsUrl).some(({ protocol }) => protocol === 'nats:');
  const plainDatabases = Object.entries({ DATABASE_URL: databaseUrl, DATABASE_OWNER_URL: databaseOwnerUrl }).filter(
    ([, url]) => elsewhere(url).some(({ searchParams }) => !isVerified(searchParams.get('sslmode'))),
  );
  const plainHistory = elsewhere(clickhouseUrl).some(({ protocol }) => protocol === 'http:');
  return [
    ...(plainNats ? ['NATS_URL: nats:// to another machine is not encrypted: use tls://, with NATS_CA_FILE'] : []),
    ...plainDatabases.map(
      ([name]) =>
        `${name}: another machine, and no sslmode that verifies it: add ?sslmode=verify-full&sslrootcert=<file>`,
    ),
    ...(plainHistory ? ['CLICKHOUSE_URL: http:// to another machine is not encrypted: use https://'] : []),
  ];
}

const isLocal = (host: string) => host === '' || isLoopback(host);
/** As node-postgres reads it: `require` and stricter verify the certificate. */
const isVerified = (sslmode: string | null) => ['require', 'verify-ca', 'verify-full'].includes(sslmode ?? '');

// What a start warns of: a part of its own that each other machine on the same NATS would have too, and an unprotected
// entry point.
import { expect, test } from 'vitest';
import { loadSettings } from '../../../config/settings.ts';
import { startWarnings } from '../../../cluster/supervisor/start-warnings.ts';

const shared = { NATS_URL: 'nats://127.0.0.1:4222' };
const httpServer = (trustedProxies: string[]) => ({
  ingress: { threads: 1, trustedProxies, proxyHeader: 'x-forwarded-for' as const },
});
const warnings = (env: Record<string, string>, trustedProxies: string[] = []) =>
  startWarnings(loadSettings(env), httpServer(trustedProxies));

test('a shared NATS without a shared ClickHouse is warned of, where there is analytics', () => {
  expect(warnings(shared)).toEqual([expect.stringContaining('CLICKHOUSE_URL')]);
});

test.each([
  ['everything of its own', {}],
  ['both are shared', { ...shared, CLICKHOUSE_URL: 'http://127.0.0.1:8123' }],
  ['no analytics here', { ...shared, HELIOGRAPH_ROLES: 'ingress,carriers' }],
])('nothing is said when %s', (_, env) => {
  expect(warnings(env)).toEqual([]);
});

test.each(['0.0.0.0', '::', '10.0.0.5'])('an API on %s without a proxy in front is warned of', (host) => {
  const env = { HELIOGRAPH_HTTP_HOST: host };
  expect(warnings(env)).toEqual([expect.stringContaining('without TLS')]);
  expect(warnings(env, ['10.0.0.1'])).toEqual([]);
  expect(warnings({ ...env, HELIOGRAPH_ROLES: 'carriers' })).toEqual([]);
});

test.each(['127.0.0.1', 'localhost', '::1'])('one on %s is not', (host) => {
  expect(warnings({ HELIOGRAPH_HTTP_HOST: host })).toEqual([]);
});

const far = 'db.example.net';
test.each([
  [{ NATS_URL: `nats://${far}:4222`, CLICKHOUSE_URL: 'http://127.0.0.1:8123' }, 'NATS_URL'],
  [{ NATS_URL: `nats://127.0.0.1:4222,nats://${far}:4222`, CLICKHOUSE_URL: 'http://localhost:8123' }, 'NATS_URL'],
  [{ DATABASE_URL: `postgres://a:b@${far}/x` }, 'DATABASE_URL'],
  [{ DATABASE_URL: `postgres://a:b@${far}/x?sslmode=prefer` }, 'DATABASE_URL'],
  [{ DATABASE_URL: 'postgres://a:b@127.0.0.1/x', DATABASE_OWNER_URL: `postgres://a:b@${far}/x` }, 'DATABASE_OWNER_URL'],
  [{ CLICKHOUSE_URL: `http://${far}:8123` }, 'CLICKHOUSE_URL'],
])('%j is warned of: it is not encrypted', (env, name) => {
  expect(warnings(env)).toEqual([expect.stringContaining(name)]);
});

test.each<Record<string, string>>([
  { NATS_URL: `tls://${far}:4222`, CLICKHOUSE_URL: `https://${far}` },
  { DATABASE_URL: `postgres://a:b@${far}/x?sslmode=verify-full` },
  { DATABASE_URL: 'postgres://a:b@127.0.0.1/x' },
  { DATABASE_URL: 'postgres:///x?host=/run/postgresql' },
])('%j is not', (env) => {
  expect(warnings(env)).toEqual([]);
});

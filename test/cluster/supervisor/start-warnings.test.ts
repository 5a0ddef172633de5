// What a start warns of: a part of its own that each other machine on the same NATS would have too, an unprotected entry point,
// and hedging without a second carrier.
import { expect, test } from 'vitest';
import { loadSettings } from '../../../config/settings.ts';
import { startWarnings } from '../../../cluster/supervisor/start-warnings.ts';
import { parseText } from '../../../config/load.ts';
import { otpRulesDefault } from '../../../policy/otp/contract.ts';

const shared = { NATS_URL: 'nats://127.0.0.1:4222' };
const httpServer = (trustedProxies: string[]) => ({
  ingress: { threads: 1, trustedProxies, proxyHeader: 'x-forwarded-for' as const },
  ...{ otp: otpRulesDefault, carriers: [], routes: [], routing: { fallback: [] } },
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

const real = (name: string, more = '') =>
  `  - { name: ${name}, tps: 10, ${more}binds: [{ host: smsc.example.net, system_id: heliograph, password: secret }] }`;
const simulated = (name: string) => `  - { name: ${name}, tps: 10, simulate: true }`;
const two = `${real('alpha')}\n${real('beta')}`;
const route = (classes: string, carriers: string) =>
  `routes: [{ prefix: "+88017", ${classes}carriers: [${carriers}] }]`;
const country = 'country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }';

const ofHedging = async (carriers: string, more: string, env: Record<string, string> = {}) => {
  const configuration = await parseText(`${country}\ncarriers:\n${carriers}\n${more}`, 'heliograph.yaml');
  return startWarnings(loadSettings(env), configuration).filter((text) => text.includes('hedging'));
};

test.each([
  ['one carrier', real('alpha'), ''],
  ['two and no way to the second', two, ''],
  [
    'a fallback that takes no one-time passwords',
    `${real('alpha')}\n${real('beta', 'classes: [promotional], ')}`,
    fallback('beta'),
  ],
  ['a route with two that is for other messages', two, route('classes: [promotional], ', 'alpha, beta')],
  ['a route with one', two, route('', 'beta')],
])('hedging with %s is warned of', async (_, carriers, more) => {
  expect(await ofHedging(carriers, more)).toEqual([expect.stringContaining('routing.fallback')]);
});

test.each([
  ['a fallback', two, fallback('beta')],
  ['a route with two', two, route('', 'alpha, beta')],
  ['a route with two for one-time passwords', two, route('classes: [otp], ', 'alpha, beta')],
  ['simulated carriers only, as in the demo', `${simulated('alpha')}\n${simulated('beta')}`, ''],
  ['hedging off', two, 'otp: { hedging: { enabled: false } }'],
])('with %s it is not', async (_, carriers, more) => {
  expect(await ofHedging(carriers, more)).toEqual([]);
});

test('nor on a machine without the ingress', async () => {
  expect(await ofHedging(two, '', { HELIOGRAPH_ROLES: 'carriers' })).toEqual([]);
});

function fallback(name: string): string {
  return `routing: { fallback: [${name}] }`;
}

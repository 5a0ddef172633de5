// What a start warns of: a part of its own that other machines on the same NATS would each have too.
import { expect, test } from 'vitest';
import { loadSettings } from '../../../cluster/config/settings.ts';
import { startWarnings } from '../../../cluster/supervisor/start-warnings.ts';

const shared = { NATS_URL: 'nats://a:4222' };
const warnings = (env: Record<string, string>) => startWarnings(loadSettings(env)).length;

test('a shared NATS without a shared ClickHouse is warned of, where there is analytics', () => {
  expect(warnings(shared)).toBe(1);
  expect(startWarnings(loadSettings(shared))[0]).toContain('CLICKHOUSE_URL');
});

test.each([
  ['everything of its own', {}],
  ['both are shared', { ...shared, CLICKHOUSE_URL: 'http://a:8123' }],
  ['no analytics here', { ...shared, HELIOGRAPH_ROLES: 'ingress,carriers' }],
])('nothing is said when %s', (_, env) => {
  expect(warnings(env)).toBe(0);
});

// Analytics processes of several machines that begin an upgrade together, over one ClickHouse behind HTTP: one of them does
// it, once, and when it is killed another one ends it.
import type { ChildProcess } from 'node:child_process';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { openEngine } from '../../analytics/store/engine.ts';
import { applySchema, schemaFiles } from '../../analytics/store/schema.ts';
import { type LeaseRecord, upgradeKey } from '../../analytics/store/upgrade-lease.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { until } from '../support/until.ts';
import { type TestClickHouse, startClickHouse } from './support/clickhouse-server.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { insertClickCounts, olderFiles, totalsOf } from './support/older-store.ts';
import { type RunningRole, startRole } from './support/role.ts';

let events: EventBus;
let clickhouse: TestClickHouse;
let applied: (sql: string) => void = () => {};
let roles: RunningRole[] = [];

beforeEach(async () => {
  applied = () => {};
  [events, clickhouse] = await Promise.all([startEventBus(), startClickHouse({ applied: (sql) => applied(sql) })]);
  const engine = openEngine({ clickhouseUrl: clickhouse.url, dataDir: '' });
  await applySchema(engine, { files: olderFiles });
  await insertClickCounts(engine, 2_000);
  await engine.close();
});
afterEach(async () => {
  await Promise.all(roles.map((role) => role.end('SIGTERM')));
  roles = [];
  await events.stop();
  await clickhouse.stop();
});

async function start(spawned?: (child: ChildProcess) => void): Promise<void> {
  const settings = { CLICKHOUSE_URL: clickhouse.url };
  roles.push(await startRole(events.nats.url, events.dataDir, settings, spawned));
}

async function expectUpgradedOnce(): Promise<void> {
  const versions = await clickhouse.rows('SELECT version FROM schema_versions ORDER BY version');
  expect(versions.map(([version]) => version)).toEqual(schemaFiles().map(({ version }) => version));
  const { found, expected } = await totalsOf((sql) => clickhouse.rows(sql));
  expect(found).toEqual(expected);
  await until('what was filled is compared', async () => {
    const [left] = await clickhouse.rows('SELECT toUInt32(count()) FROM schema_fills FINAL WHERE is_checked = 0');
    return left?.[0] === 0;
  });
  const after = await totalsOf((sql) => clickhouse.rows(sql));
  expect(after.found).toEqual(expected);
}

test('three at once', async () => {
  await Promise.all([start(), start(), start()]);
  await expectUpgradedOnce();
});

test('one that is killed after a part of a fill, and one that began beside it', async () => {
  let first: ChildProcess | null = null;
  const isFilling = Promise.withResolvers<void>();
  applied = (sql) => {
    if (!sql.startsWith('INSERT INTO click_tiers ')) return;
    isFilling.resolve();
    // It does not get the answer.
    first?.kill('SIGKILL');
    first = null;
  };
  const killed = start((child) => (first = child));
  const other = until('the first one upgrades', async () => (await owner()) !== null).then(() => start());
  await expect(killed).rejects.toThrow('SIGKILL');
  await isFilling.promise;
  const [done] = await clickhouse.rows('SELECT toUInt32(max(version)) FROM schema_versions');
  expect(done).toEqual([olderFiles.length]);
  // It waits until the first one has been silent for as long as a lease lasts.
  await other;
  await expectUpgradedOnce();
});

async function owner(): Promise<string | null> {
  const entry = await (await openBucket(events.bus, 'recorder')).get(upgradeKey);
  return entry?.json<LeaseRecord>().owner ?? null;
}

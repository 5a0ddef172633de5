// The analytics role, a process of its own: chDB runs inside it, and a native abort there must end nothing else. It is
// ready when the schema is in place, the recorder reads and queries are answered.
import { startAnalytics } from '../../analytics/analytics-node.ts';
import { type Engine, openEngine, clickhouseDir } from '../../analytics/store/engine.ts';
import { keepRowsFor } from '../../analytics/store/retention.ts';
import { applySchema } from '../../analytics/store/schema.ts';
import { upgradeLease } from '../../analytics/store/upgrade-lease.ts';
import { openOperatorReader } from '../../analytics/sql/operator-reader.ts';
import { startSqlEndpoint } from '../../api/sql/endpoint.ts';
import type { Configuration } from '../../config/configuration.ts';
import { untilDone } from '../../platform/deadline.ts';
import { SetupError } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import type { Settings } from '../../config/settings.ts';
import type { Bus } from '../bus/connect.ts';
import { openBucket } from '../bus/ensure.ts';
import { readErasuresFile } from '../bus/erasures-file.ts';
import { runRole } from '../supervisor/child-link.ts';
import { joinBus, roleClock } from './role-start.ts';
import { yieldProcessor } from './yield-processor.ts';

const schemaRetryMs = 1_000;

runRole('analytics', async (link) => {
  const joined = await joinBus('analytics', 'analytics', link);
  const { settings, configuration, bus } = joined;
  const engine = openEngine({ clickhouseUrl: settings.clickhouseUrl, dataDir: clickhouseDir(settings.dataDir) });
  await schemaInPlace(bus, engine, configuration, link.stopping);
  const clock = await roleClock(joined, link);
  const node = await startAnalytics(bus, engine, {
    shares: configuration.limits.shares,
    retention: configuration.retention,
    linkDays: configuration.limits.linkDays,
    knownErasures: () => readErasuresFile(settings.dataDir),
    clock,
  });
  const stopYielding = yieldProcessor(() => node.lateMs, clock);
  const sql = await operatorSql(settings, configuration.analytics.sqlEndpoint, () => node.unreadable);
  return {
    health: () => node.health(),
    async drain(deadlineMs) {
      stopYielding();
      await sql?.close();
      await node.stop(deadlineMs * 0.8);
      clock.stop();
      await engine.close();
      await bus.close();
    },
  };
});

/** The operator's SQL endpoint; null: off. An answer that is not given at a stop is cut off. */
async function operatorSql(
  { clickhouseUrl, dataDir, sqlToken }: Settings,
  endpoint: Configuration['analytics']['sqlEndpoint'],
  unreadable: () => string | null,
): Promise<{ close(): Promise<void> } | null> {
  if (endpoint === null) return null;
  if (clickhouseUrl !== null) {
    log.warn('analytics.sql_endpoint is for the embedded ClickHouse: with CLICKHOUSE_URL ask that server');
    return null;
  }
  if (sqlToken === null) {
    throw new SetupError('analytics.sql_endpoint: expected HELIOGRAPH_SQL_TOKEN with the token that it asks for');
  }
  const reader = openOperatorReader(clickhouseDir(dataDir), unreadable);
  const server = await startSqlEndpoint({ port: endpoint.port, token: sqlToken, reader });
  return {
    async close() {
      await server.close();
      await reader.close();
    },
  };
}

/** Waits for a server that is down at the start; events wait in the stream meanwhile. */
async function schemaInPlace(bus: Bus, engine: Engine, of: Configuration, stopping: AbortSignal): Promise<void> {
  // The embedded engine is open in one process: an upgrader that left an entry is gone.
  const silence = engine.kind === 'chdb' ? { silentMs: 0 } : {};
  const lease = upgradeLease({ bucket: await openBucket(bus, 'recorder'), stopping, ...silence });
  await untilDone(
    () => applySchema(engine, { lease }).then(() => keepRowsFor(engine, of.retention, of.limits.linkDays)),
    (error) => log.warn({ error }, 'the ClickHouse schema cannot be applied yet'),
    { everyMs: schemaRetryMs, stopping },
  );
  stopping.throwIfAborted();
}

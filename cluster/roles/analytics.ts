// The analytics role, a process of its own: chDB runs inside it, and a native abort there must end nothing else. It is
// ready when the schema is in place, the recorder reads and queries are answered.
import { startAnalytics } from '../../analytics/analytics-node.ts';
import { type Engine, openEngine, clickhouseDir } from '../../analytics/store/engine.ts';
import { type KeptDays, keepRowsFor } from '../../analytics/store/retention.ts';
import { applySchema } from '../../analytics/store/schema.ts';
import { assert } from '../../platform/assert.ts';
import { systemClock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { connectBus } from '../bus/connect.ts';
import { ensureStreams } from '../bus/ensure.ts';
import { loadConfiguration } from '../../config/load.ts';
import { loadSettings } from '../../config/settings.ts';
import { runRole } from '../supervisor/child-link.ts';
import { roleClock } from './role-clock.ts';

const schemaRetryMs = 1_000;

runRole('analytics', async ({ env, stopping }) => {
  const settings = loadSettings(env);
  const { configFile, natsUrl, clickhouseUrl, dataDir } = settings;
  const configuration = await loadConfiguration(configFile, env);
  assert(natsUrl !== null, 'the supervisor tells its children where NATS is');
  const bus = await connectBus(natsUrl, 'analytics');
  await ensureStreams(bus, configuration.limits);
  const engine = openEngine({ clickhouseUrl, dataDir: clickhouseDir(dataDir) });
  await schemaInPlace(engine, configuration.retention, stopping);
  const clock = await roleClock({ bus, settings, env, limits: configuration.limits });
  const node = await startAnalytics(bus, engine, {
    shares: configuration.limits.shares,
    retention: configuration.retention,
    clock,
  });
  return {
    health: () => node.health(),
    async drain(deadlineMs) {
      await node.stop(deadlineMs * 0.8);
      clock.stop();
      await engine.close();
      await bus.close();
    },
  };
});

/** Waits for a server that is down at the start; events wait in the stream meanwhile. */
async function schemaInPlace(engine: Engine, retention: KeptDays, stopping: AbortSignal): Promise<void> {
  for (;;) {
    try {
      await applySchema(engine);
      await keepRowsFor(engine, retention);
      return;
    } catch (error) {
      log.warn({ error: messageOf(error) }, 'the ClickHouse schema cannot be applied yet');
      await systemClock.sleep(schemaRetryMs, stopping);
    }
  }
}

// An event bus and beside it the event store with its schema, chDB in this process, for tests that read what was
// recorded. chDB binds one directory per process: one store at a time.
import { type Engine, openEngine, clickhouseDir } from '../../../analytics/store/engine.ts';
import { applySchema } from '../../../analytics/store/schema.ts';
import { patienceMs } from '../../support/until.ts';
import { type EventBus, startEventBus } from './event-bus.ts';

export type EventStore = EventBus & {
  readonly engine: Engine;
  /** The schema versions that were applied to the new store. */
  readonly applied: readonly number[];
};

export async function startEventStore(): Promise<EventStore> {
  const events = await startEventBus();
  const engine = openEngine({ clickhouseUrl: null, dataDir: clickhouseDir(events.dataDir) });
  const applied = await applySchema(engine);
  // A query of a test waits as long as a busy machine needs; those of the product have their own limits.
  const rows: Engine['rows'] = (sql, params = {}, limitMs = patienceMs, turn) =>
    engine.rows(sql, params, limitMs, turn);
  return {
    ...events,
    engine: { ...engine, rows },
    applied,
    async stop() {
      await engine.close();
      await events.stop();
    },
  };
}

// From the database to an entry point's memory on real PostgreSQL and NATS. No projector runs until the test starts
// one.
import type { Directory } from '../../directory/contract.ts';
import { openDirectory } from '../../directory/directory.ts';
import { type Projector, startProjector } from '../../control/projection/projector.ts';
import { readOutbox } from '../../control/store/outbox.ts';
import { until } from './until.ts';
import { type TestBus, startBus } from './bus.ts';
import { type TestDatabase, startDatabase } from './database.ts';

export type DirectoryHarness = TestDatabase &
  TestBus & {
    /** What an entry point has in memory. */
    readonly directory: Directory;
    /** Starts a projector. */
    project(): Projector;
    /** Waits until every change was projected. */
    outboxEmpty(): Promise<void>;
    /** Ends all projectors. */
    endProjectors(): Promise<void>;
  };

export async function openDirectoryHarness(): Promise<DirectoryHarness> {
  const [database, bus] = await Promise.all([startDatabase(), startBus()]);
  const directory = await openDirectory(bus.bus);
  const projectors: Projector[] = [];
  const endProjectors = async () => {
    await Promise.all(projectors.splice(0).map((projector) => projector.close()));
  };
  return {
    ...database,
    ...bus,
    directory,
    project() {
      const projector = startProjector({ databaseUrl: database.postgres.applicationUrl, bus: bus.bus });
      projectors.push(projector);
      return projector;
    },
    async outboxEmpty() {
      await until('the outbox is empty', async () => (await readOutbox(database.store, 1)).length === 0);
    },
    endProjectors,
    async stop() {
      await endProjectors();
      await directory.close();
      await Promise.all([bus.stop(), database.stop()]);
    },
  };
}

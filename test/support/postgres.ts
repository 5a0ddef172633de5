// A private PostgreSQL for tests: its own folder, port and password, ended with the test process even when that
// is killed. The database `heliograph` exists and is empty.
import { chmodSync, mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { freePort } from '../../cluster/embedded/ports.ts';
import { startPostgresServer } from '../../cluster/embedded/postgres.ts';

export type TestPostgres = {
  readonly url: string;
  readonly dataDir: string;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
  kill9(): Promise<void>;
  /** Starts it again on the same port and data, after kill9 or while it runs. */
  restart(): Promise<void>;
};

export async function startPostgres(): Promise<TestPostgres> {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-postgres-'));
  // Run by root, the server belongs to another user, who must be able to come in.
  chmodSync(dataDir, 0o755);
  const options = { dataDir, port: await freePort(), password: 'test-only', graceMs: 0 };
  let server = await startPostgresServer(options);
  await server.ready(20_000);
  return {
    url: server.url,
    dataDir,
    async stop() {
      await server.stop(5_000);
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
    async kill9() {
      server.kill();
      await server.exited;
    },
    async restart() {
      await server.stop(5_000);
      server = await startPostgresServer(options);
      await server.ready(20_000);
    },
  };
}

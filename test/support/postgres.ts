// A private PostgreSQL for tests: its own folder, port and password. The database `heliograph` exists and is empty.
import { chmodSync, mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startPostgresServer } from '../../cluster/embedded/postgres.ts';
import { freePort } from '../../cluster/embedded/ports.ts';
import { type RestartableServer, startRestartable } from './restartable-server.ts';

export type TestPostgres = RestartableServer;

export async function startPostgres(): Promise<TestPostgres> {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-postgres-'));
  // Run by root, the server belongs to another user, who must be able to come in.
  chmodSync(dataDir, 0o755);
  const options = { dataDir, port: await freePort(), password: 'test-only', graceMs: 0 };
  return startRestartable(dataDir, 20_000, () => startPostgresServer(options));
}

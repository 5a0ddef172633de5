// A private nats-server for tests: its own folder, port and password.
import { mkdtempSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { startNatsServer } from '../../cluster/embedded/nats.ts';
import { freePort } from '../../cluster/embedded/ports.ts';
import { type RestartableServer, startRestartable } from './restartable-server.ts';

export type TestNats = RestartableServer;

export async function startNats(): Promise<TestNats> {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-nats-'));
  // Room for every stream's bound several times over: tests delete and create them again, many at once.
  const options = { dataDir, port: await freePort(), password: 'test-only', graceMs: 0, storeMbMax: 100_000 };
  return startRestartable(dataDir, 10_000, () => startNatsServer(options));
}

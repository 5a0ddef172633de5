// A private nats-server for tests: its own folder, port and password, ended with the test process even when
// that is killed. `kill9` and `restart` are for tests of what survives.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { type EmbeddedServer } from '../../cluster/embedded/embedded-server.ts';
import { startNatsServer } from '../../cluster/embedded/nats.ts';
import { freePort } from '../../cluster/embedded/ports.ts';

export type TestNats = {
  /** With user and password in it. */
  readonly url: string;
  readonly dataDir: string;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
  kill9(): Promise<void>;
  /** Starts it again on the same port and store, after kill9 or while it runs. */
  restart(): Promise<void>;
};

export async function startNats(): Promise<TestNats> {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-nats-'));
  // Room for every stream's bound several times over: tests delete and make them again, at once from many sides.
  const options = { dataDir, port: await freePort(), password: 'test-only', graceMs: 0, storeMbMax: 100_000 };
  let server: EmbeddedServer = startNatsServer(options);
  await server.ready(10_000);
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
      server = startNatsServer(options);
      await server.ready(10_000);
    },
  };
}

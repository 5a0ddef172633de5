// A private server for tests: a folder of its own, ended with the test process even when that is killed. `kill9` and
// `restart` are for tests of what survives.
import { rmSync } from 'node:fs';
import type { EmbeddedServer } from '../../cluster/embedded/server-process.ts';

export type RestartableServer = {
  /** Includes user and password. */
  readonly url: string;
  readonly dataDir: string;
  /** Ends the server and removes its folder. */
  stop(): Promise<void>;
  kill9(): Promise<void>;
  /** Starts it again on the same port and data, after kill9 or while it runs. */
  restart(): Promise<void>;
};

/** `start` starts the server of this folder, always at the same port. */
export async function startRestartable(
  dataDir: string,
  readyWithinMs: number,
  start: () => EmbeddedServer | Promise<EmbeddedServer>,
): Promise<RestartableServer> {
  let server = await start();
  await server.ready(readyWithinMs);
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
      server = await start();
      await server.ready(readyWithinMs);
    },
  };
}

// A cluster of three real nats-servers on loopback, like many nodes share in production. Each can be killed and
// restarted on its own store.
import { mkdirSync, mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { connectBus } from '../../cluster/bus/connect.ts';
import { ensureStreams } from '../../cluster/bus/ensure.ts';
import { natsServerBinary } from '../../cluster/embedded/nats-binary.ts';
import { startServerProcess } from '../../cluster/embedded/server-process.ts';
import { suspend } from './processes.ts';
import { until } from './until.ts';
import { ignoring } from '../../platform/errors.ts';
import { freePort } from '../../cluster/embedded/ports.ts';

export type NatsCluster = {
  /** All three, in the order that begins with the given one. */
  url(first?: number): string;
  /** One server alone. */
  urlOf(server: number): string;
  kill9(server: number): Promise<void>;
  /** It answers nothing and closes nothing. */
  pause(server: number): Promise<void>;
  /** SIGCONT */
  resume(server: number): void;
  restart(server: number): void;
  stop(): Promise<void>;
};

export const clusterSize = 3;

/** Resolves when every stream and bucket exists with three copies. */
export async function startNatsCluster(): Promise<NatsCluster> {
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-cluster-'));
  const ports: number[] = [];
  while (ports.length < 2 * clusterSize) ports.push(await freePort());
  const clients = ports.slice(0, clusterSize);
  const routes = ports.slice(clusterSize);
  const start = (server: number) => {
    const folder = join(dataDir, `server-${server}`);
    mkdirSync(join(folder, 'run'), { recursive: true });
    const configFile = join(folder, 'nats-server.conf');
    writeFileSync(
      configFile,
      `listen: "127.0.0.1:${clients[server]}"
server_name: "server-${server}"
authorization { user: "test", password: "test-only" }
cluster {
  name: "test"
  listen: "127.0.0.1:${routes[server]}"
  routes: [${routes.map((port) => `"nats://127.0.0.1:${port}"`).join(', ')}]
}
jetstream { store_dir: ${JSON.stringify(join(folder, 'store'))}, max_file_store: 100000MB, max_memory_store: 64MB }
`,
    );
    return startServerProcess({
      name: `nats-server-${server}`,
      command: natsServerBinary(),
      args: ['--config', configFile],
      logFile: join(folder, 'nats-server.log'),
      pidFile: join(folder, 'run', 'nats-server.pid'),
      stopSignal: 'TERM',
      graceMs: 0,
    });
  };
  const servers = [0, 1, 2].map(start);
  const urlOf = (server: number) => `nats://test:test-only@127.0.0.1:${clients[server]}`;
  const url = (first = 0) => [0, 1, 2].map((each) => urlOf((first + each) % clusterSize)).join(',');
  await until(
    'the cluster takes streams',
    async () => {
      try {
        const bus = await connectBus(url(), 'set-up', 2_000);
        await ensureStreams(bus, { queueMessagesMax: 1_000_000, streamReplicas: clusterSize }).finally(() =>
          bus.close(),
        );
        return true;
      } catch (error) {
        ignoring(error, 'the cluster has not found itself yet');
        return false;
      }
    },
    { everyMs: 250 },
  );
  return {
    url,
    urlOf,
    async kill9(server) {
      servers[server]?.kill();
      await servers[server]?.exited;
    },
    // The whole group: the server and the shell that holds it.
    pause: (server) => suspend(-(servers[server]?.pid ?? Number.NaN)),
    resume: (server) => void process.kill(-(servers[server]?.pid ?? 0), 'SIGCONT'),
    restart(server) {
      servers[server] = start(server);
    },
    async stop() {
      await Promise.all(servers.map((each) => each.stop(5_000)));
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 5 });
    },
  };
}

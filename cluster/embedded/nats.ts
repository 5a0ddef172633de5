// The embedded nats-server: its configuration file, its start and the check that JetStream answers. On loopback and
// with its own users: otherwise everybody on this machine could read the streams.
import { mkdirSync, writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { withDeadline } from '../../platform/deadline.ts';
import { connectBus } from '../bus/connect.ts';
import type { EmbeddedServer } from './embedded-server.ts';
import { natsServerBinary } from './nats-binary.ts';
import { inboxOf } from './nats-permissions.ts';
import { type NatsUser, authorizationText, userSeed } from './nats-users.ts';
import { type NatsWatchOptions, watchedNats } from './nats-watch.ts';
import { untilReady } from './ready.ts';
import { startServerProcess } from './server-process.ts';

export type NatsOptions = {
  dataDir: string;
  port: number;
  /** The users' keys are derived from it. */
  password: string;
  storeMbMax?: number;
  graceMs?: number;
  watch?: NatsWatchOptions;
};

export function startNatsServer(options: NatsOptions): EmbeddedServer {
  const folder = join(options.dataDir, 'nats');
  mkdirSync(folder, { recursive: true, mode: 0o700 });
  const configFile = join(folder, 'nats-server.conf');
  writeFileSync(configFile, configText(options, folder), { mode: 0o600 });

  const running = startServerProcess({
    name: 'nats-server',
    command: natsServerBinary(),
    args: ['--config', configFile],
    logFile: join(options.dataDir, 'logs', 'nats-server.log'),
    pidFile: join(options.dataDir, 'run', 'nats-server.pid'),
    stopSignal: 'TERM',
    graceMs: options.graceMs,
  });
  const url = natsUrl(options);
  const server: EmbeddedServer = {
    url,
    ...running,
    ready: (limitMs) => natsReady(url, limitMs, running.exited),
  };
  return watchedNats(server, () => askJetStream(url), options.watch);
}

/** Waits until a connection is accepted and JetStream answers. `ended` ends the wait early. */
export function natsReady(url: string, limitMs: number, ended?: Promise<unknown>): Promise<void> {
  return untilReady({ name: 'nats-server', ask: () => askJetStream(url), limitMs, ended });
}

async function askJetStream(url: string): Promise<void> {
  const bus = await connectBus(url, 'readiness', 2_000);
  try {
    await withDeadline('JetStream account info', 2_000, bus.manager.getAccountInfo());
  } finally {
    await bus.close();
  }
}

/** The URL with the user's private key in place of a user name. */
export function natsUrl(options: { port: number; password: string }, user: NatsUser = 'operator'): string {
  const inbox = user === 'operator' ? '' : `?inbox=${inboxOf(user)}`;
  return `nats://${userSeed(options.password, user)}@127.0.0.1:${options.port}${inbox}`;
}

const storeMbDefault = 24_576;

function configText(options: NatsOptions, folder: string): string {
  return `# Written by the supervisor at every start: changes are lost.
listen: "127.0.0.1:${options.port}"
server_name: "heliograph-embedded"
max_payload: 1MB
max_connections: 1024
write_deadline: "5s"
${authorizationText(options.password)}
jetstream {
  store_dir: ${JSON.stringify(join(folder, 'store'))}
  max_file_store: ${options.storeMbMax ?? storeMbDefault}MB
  max_memory_store: 64MB
}
`;
}

// The embedded nats-server: its configuration file, its start and the check that JetStream answers. On loopback and
// with its own users: otherwise any user of this machine could read the streams.
import { mkdirSync, writeFileSync } from 'node:fs';
import { availableParallelism } from 'node:os';
import { join } from 'node:path';
import { createHmac } from 'node:crypto';
import { withDeadline } from '../../platform/deadline.ts';
import { connectBus } from '../bus/connect.ts';
import { publicKeyOf, userSeedOf } from '../bus/nkeys.ts';
import { type EmbeddedServer, startServerProcess, untilReady } from './server-process.ts';
import { type Unwatched, watchServer } from './server-watch.ts';
import { natsServerBinary } from './nats-binary.ts';
import { hasSpaceIn, writeErrorsIn } from './write-errors.ts';
import { inboxOf, natsRoles, permissionsOf, permissionsText } from './nats-permissions.ts';
import type { Clock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';

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

  const logFile = join(options.dataDir, 'logs', 'nats-server.log');
  const running = startServerProcess({
    name: 'nats-server',
    command: natsServerBinary(),
    args: ['--config', configFile],
    env: { GOMAXPROCS: String(threadsOf(availableParallelism())) },
    logFile,
    pidFile: join(options.dataDir, 'run', 'nats-server.pid'),
    stopSignal: 'TERM',
    graceMs: options.graceMs,
  });
  const url = natsUrl(options);
  const ready = (limitMs: number) => natsReady(url, limitMs, running.exited);
  const writeError = writeErrorsIn(logFile, () => hasSpaceIn(folder));
  const ask = async () => {
    await askJetStream(url);
    const error = writeError();
    if (error !== null) throw new Error(error);
  };
  return watchedNats({ url, ...running, ready }, ask, options.watch);
}

/**
 * How many threads of nats-server run at once: half as many as the machine has processors, which the processes that it serves
 * need, too. With as many as processors, most of its records wake a thread that sleeps again at once (decision 272).
 */
export const threadsOf = (processors: number): number => Math.max(1, Math.floor(processors / 2));

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

const storeMbDefault = 28_672;

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

type NatsWatchOptions = {
  readonly lookEveryMs?: number;
  /** Consecutive unanswered checks before it is ended. */
  readonly silencesMax?: number;
  readonly clock?: Clock;
};

/**
 * Ends a nats-server that runs but does not answer or write, so that the supervisor restarts it: when a stream’s file cannot
 * grow (disk full), 2.9.10 waits for a lock, 2.15.1 refuses the stream, and neither recovers when there is space again. Killing
 * it loses nothing that was acknowledged. `ask` rejects when JetStream does not answer.
 */
function watchedNats(
  server: Unwatched,
  ask: () => Promise<void>,
  { silencesMax = limits.supervision.natsWatch.silencesMax, ...given }: NatsWatchOptions = {},
): EmbeddedServer {
  const { lookEveryMs } = { ...limits.supervision.natsWatch, ...given };
  let silences = 0;
  const watched = watchServer(server, {
    ask,
    lookEveryMs,
    clock: given.clock,
    onAnswer() {
      silences = 0;
    },
    onSilence(error) {
      silences += 1;
      if (silences !== silencesMax) return;
      log.error(
        { alarm: 'nats_unresponsive', silences, error: messageOf(error) },
        'nats-server runs and does not answer or write: it is ended and restarted. Is its disk full?',
      );
      server.kill();
    },
  });
  const health = () => ({ ok: silences === 0, detail: silences === 0 ? '' : `does not answer (${silences} times)` });
  return { ...watched, health };
}

/** `operator`: the supervisor and the command line, with all permissions. */
export const natsUsers = ['operator', ...natsRoles] as const;
export type NatsUser = (typeof natsUsers)[number];

/**
 * Users authenticate with an nkey, by signing the server's challenge: a process that takes the server's port after a
 * crash receives no password. The `authorization` block of the server's configuration. Only public keys.
 */
function authorizationText(secret: string): string {
  const users = natsUsers.map((user) => {
    const key = publicKeyOf(userSeed(secret, user));
    return `    { nkey: ${key}${user === 'operator' ? '' : `, permissions: ${permissionsText(permissionsOf(user))}`} }`;
  });
  return `authorization {\n  users: [\n${users.join('\n')}\n  ]\n}`;
}

/** The private key of a user in NATS form (SU…). Other users' keys cannot be derived from it. */
export function userSeed(secret: string, user: NatsUser): string {
  return userSeedOf(createHmac('sha256', secret).update(`heliograph nats user ${user}`).digest());
}

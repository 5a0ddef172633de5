// Opens a connection to NATS with the settings that matter: reconnect for ever, detect a dead peer in ten seconds, no
// stack trace per request. One URL holds everything, because it is passed to threads, child processes and the command
// line. `tls://` means a verified certificate or no connection; it never falls back to plain text.
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type ConnectionOptions, type NatsConnection, type TlsOptions, createInbox } from '@nats-io/transport-node';
import { connectGathering } from './gathering-transport.ts';
import { seedAuthenticator } from './nkeys.ts';
import type { Cancel } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { type PeerCertificate, checkServerIdentity } from 'node:tls';

export type Bus = {
  readonly connection: NatsConnection;
  readonly jetstream: JetStreamClient;
  readonly manager: JetStreamManager;
  /** A new reply subject that this user may subscribe to. */
  newInbox(): string;
  /** False while the connection is lost: what is published then may never arrive. */
  connected(): boolean;
  /** Runs after every reconnect until canceled: treat everything that was in flight as lost. */
  onReconnect(run: () => void): Cancel;
  close(): Promise<void>;
};

/** Closes a silent connection at the third missing PONG, after 6 to 9 seconds. */
const pingIntervalMs = 3_000;
const pingsUnansweredMax = 2;

/** `url`: see natsAddress. Rejects when no server answers within `timeoutMs`. */
export async function connectBus(url: string, name: string, timeoutMs = 5_000): Promise<Bus> {
  const address = natsAddress(url);
  const connection = await connectGathering({
    ...address,
    name,
    timeout: timeoutMs,
    maxReconnectAttempts: -1,
    // On a busy machine a server refuses who does not authenticate within two seconds. At the second refusal in a row the
    // client would close the connection for good.
    ignoreAuthErrorAbort: true,
    reconnectTimeWait: 100,
    reconnectJitter: 100,
    pingInterval: pingIntervalMs,
    maxPingOut: pingsUnansweredMax,
    noAsyncTraces: true,
  });
  const manager = await jetstreamManager(connection, { timeout: 5_000 }).catch(async (error: unknown) => {
    // JetStream is off or starting: without this, the unused connection would reconnect for ever.
    await connection.close();
    throw error;
  });
  const listeners = new Set<{ readonly run: () => void }>();
  let up = true;
  async function watchStatus(): Promise<void> {
    try {
      for await (const status of connection.status()) {
        if (status.type === 'error')
          log.warn({ connection: name, error: messageOf(status.error) }, 'NATS connection error');
        if (status.type === 'disconnect') {
          up = false;
          log.warn({ connection: name }, 'NATS connection lost');
        }
        if (status.type !== 'reconnect') continue;
        up = true;
        // At the level of the loss, so that a log that shows the one shows the other.
        log.warn({ connection: name }, 'NATS connection restored');
        for (const { run } of [...listeners]) run();
      }
    } catch (error) {
      ignoring(error, 'the status stream of a closed connection ended');
    }
  }
  void watchStatus();
  return {
    connection,
    jetstream: jetstream(connection, { timeout: 5_000 }),
    manager,
    newInbox: () => createInbox(address.inboxPrefix),
    connected: () => up && !connection.isClosed(),
    onReconnect(run) {
      const listener = { run };
      listeners.add(listener);
      return () => void listeners.delete(listener);
    },
    async close() {
      await connection.close().catch((error) => ignoring(error, 'the connection was already closed'));
    },
  };
}

/**
 * `nats://[user:password@]host:port[,…]` or `tls://…`. A user that is an nkey seed (SU…) signs the server's challenge
 * instead of sending a password. `?inbox=_INBOX.ingress` sets the prefix of reply subjects.
 * `?ca_file=…&cert_file=…&key_file=…` come from the NATS_… settings.
 */
function natsAddress(url: string): ConnectionOptions {
  const parts = url.split(',').map((each) => new URL(each.includes('://') ? each.trim() : `nats://${each.trim()}`));
  const servers = parts.map(({ hostname, port }) => `${hostname}:${port || 4222}`);
  const user = parts.map(({ username }) => decodeURIComponent(username)).findLast((name) => name !== '');
  const pass = parts.map(({ password }) => decodeURIComponent(password)).findLast((text) => text !== '');
  const tls = parts.some(({ protocol }) => protocol === 'tls:') ? { tls: tlsOf(parts) } : {};
  const inbox = parts.map(({ searchParams }) => searchParams.get('inbox')).find((prefix) => prefix !== null);
  const rest = { ...tls, ...(inbox === undefined || inbox === null ? {} : { inboxPrefix: inbox }) };
  if (user === undefined) return { servers, ...rest };
  if (pass === undefined && isUserSeed(user)) return { servers, authenticator: seedAuthenticator(user), ...rest };
  return { servers, user, pass: pass ?? '', ...rest };
}

const isUserSeed = (text: string) => /^SU[A-Z2-7]{56}$/.test(text);

function tlsOf(parts: readonly URL[]): TlsOptions {
  const file = (name: string) => parts.map(({ searchParams }) => searchParams.get(name)).find((path) => path !== null);
  const options = { caFile: file('ca_file'), certFile: file('cert_file'), keyFile: file('key_file') };
  const given = Object.entries(options).filter(([, path]) => path !== undefined);
  const names = parts.map(({ hostname }) => hostname.replace(/^\[|\]$/g, ''));
  return {
    ...Object.fromEntries(given),
    // The client checks for `localhost` when it has dialed an address, and knows the servers of a cluster by address
    // only: the certificate must match one of the names in the URL.
    checkServerIdentity: (_: string, certificate: PeerCertificate) => {
      const errors = names.map((name) => checkServerIdentity(name, certificate));
      return errors.includes(undefined) ? undefined : errors[0];
    },
  } as TlsOptions;
}

// Opens a connection to NATS with the settings that matter: reconnect for ever, detect a dead peer in ten seconds, no
// stack trace per request. Credentials may be part of the URL.
import { type JetStreamClient, type JetStreamManager, jetstream, jetstreamManager } from '@nats-io/jetstream';
import { type NatsConnection, connect, createInbox } from '@nats-io/transport-node';
import type { Cancel } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { natsAddress } from './nats-address.ts';

export type Bus = {
  readonly connection: NatsConnection;
  readonly jetstream: JetStreamClient;
  readonly manager: JetStreamManager;
  /** A new subject for answers, which this user may hear. */
  newInbox(): string;
  /** False while the connection is lost: what is written then may never arrive. */
  connected(): boolean;
  /** Runs after every reconnect, until it is called off: whatever was in flight must be taken as lost. */
  onReconnect(run: () => void): Cancel;
  close(): Promise<void>;
};

/** A silent peer is given up at the third missing pong: after 6 to 9 seconds. */
const pingIntervalMs = 3_000;
const pingsUnansweredMax = 2;

/** `url`: see natsAddress. Rejects when no server answers within `timeoutMs`. */
export async function connectBus(url: string, name: string, timeoutMs = 5_000): Promise<Bus> {
  const address = natsAddress(url);
  const connection = await connect({
    ...address,
    name,
    timeout: timeoutMs,
    maxReconnectAttempts: -1,
    reconnectTimeWait: 100,
    reconnectJitter: 100,
    pingInterval: pingIntervalMs,
    maxPingOut: pingsUnansweredMax,
    noAsyncTraces: true,
  });
  const manager = await jetstreamManager(connection, { timeout: 5_000 }).catch(async (error: unknown) => {
    // JetStream is off or starting: a connection nobody holds would reconnect for ever.
    await connection.close();
    throw error;
  });
  const listeners = new Set<{ readonly run: () => void }>();
  const link = { up: true };
  void watchStatus(connection, name, link, listeners);
  return {
    connection,
    jetstream: jetstream(connection, { timeout: 5_000 }),
    manager,
    newInbox: () => createInbox(address.inboxPrefix),
    connected: () => link.up && !connection.isClosed(),
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

async function watchStatus(
  connection: NatsConnection,
  name: string,
  link: { up: boolean },
  listeners: ReadonlySet<{ readonly run: () => void }>,
): Promise<void> {
  try {
    for await (const status of connection.status()) {
      if (status.type === 'error')
        log.warn({ connection: name, error: messageOf(status.error) }, 'NATS connection error');
      if (status.type === 'disconnect') {
        link.up = false;
        log.warn({ connection: name }, 'NATS connection lost');
      }
      if (status.type !== 'reconnect') continue;
      link.up = true;
      log.info({ connection: name }, 'NATS connection restored');
      for (const { run } of [...listeners]) run();
    }
  } catch (error) {
    ignoring(error, 'the status stream of a closed connection ended');
  }
}

// Shared by tests of the bus: a real server with its streams, the content of a stream, and a TCP proxy that can go
// silent without closing, like a half-open connection.
import net from 'node:net';
import { DeliverPolicy } from '@nats-io/jetstream';
import { type Bus, connectBus } from '../../cluster/bus/connect.ts';
import { type StreamPosition, nanosOf } from '../../cluster/bus/stream-position.ts';
import { ensureStreams } from '../../cluster/bus/ensure.ts';
import { ignoring } from '../../platform/errors.ts';
import { type TestNats, startNats } from './nats.ts';

export type TestBus = { readonly nats: TestNats; readonly bus: Bus; stop(): Promise<void> };

export async function startBus(name = 'test'): Promise<TestBus> {
  const nats = await startNats();
  const bus = await connectBus(nats.url, name);
  await ensureStreams(bus);
  return {
    nats,
    bus,
    async stop() {
      await bus.close();
      await nats.stop();
    },
  };
}

/** The last record of a stream as a stream position. */
export async function endOf(bus: Bus, stream: string): Promise<StreamPosition> {
  const { created, state } = await bus.manager.streams.info(stream);
  const last = await bus.manager.streams.getMessage(stream, { seq: state.last_seq });
  const storedAtNs = last === null ? null : nanosOf(last.timestamp);
  return { made: String(created), seq: state.last_seq, storedAtNs };
}

export type StoredRecord = {
  readonly seq: number;
  readonly subject: string;
  readonly data: Uint8Array;
  readonly header: (name: string) => string;
};

/**
 * Everything a stream (no work queue) holds under a filter, in stream order, without changing it. `firstSeq`: only what
 * is there from that sequence on.
 */
export async function recordsOf(bus: Bus, stream: string, filter = '>', firstSeq = 1): Promise<StoredRecord[]> {
  const consumer = await bus.jetstream.consumers.get(stream, {
    filter_subjects: filter,
    ...(firstSeq === 1 ? {} : { deliver_policy: DeliverPolicy.StartSequence, opt_start_seq: firstSeq }),
  });
  const records: StoredRecord[] = [];
  const { num_pending: pending } = await consumer.info();
  if (pending > 0) {
    const messages = await consumer.consume({ max_messages: 1_000 });
    for await (const record of messages) {
      records.push({
        seq: record.seq,
        subject: record.subject,
        data: record.data,
        header: (name) => record.headers?.get(name) ?? '',
      });
      if (record.info.pending === 0) break;
    }
    await messages.close();
  }
  // Else the server keeps it for minutes, and tests that look again and again leave hundreds of them.
  void consumer.delete().catch((error: unknown) => ignoring(error, 'the server deletes it later'));
  return records;
}

/** What waits in a work queue, which only its own consumers may read: record by record. */
export async function waitingIn(bus: Bus, stream: string): Promise<StoredRecord[]> {
  const { state } = await bus.manager.streams.info(stream);
  const records: StoredRecord[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq && state.messages > 0; seq += 1) {
    const record = await bus.manager.streams.getMessage(stream, { seq });
    if (record === null) continue;
    records.push({ seq, subject: record.subject, data: record.data, header: (name) => record.header.get(name) });
  }
  return records;
}

export type Proxy = {
  /** `nats://…` through the proxy. */
  readonly url: string;
  /** Forwards nothing any more, on connections old and new, and closes none. */
  silence(): void;
  /** New connections are forwarded again; the silent ones stay silent. */
  heal(): void;
  close(): Promise<void>;
};

export async function startProxy(target: string): Promise<Proxy> {
  const { hostname, port, username, password } = new URL(target);
  const sockets = new Set<net.Socket>();
  let silent = false;
  const server = net.createServer((client) => {
    const upstream = net.connect(Number(port), hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.on('error', () => socket.destroy());
      socket.on('close', () => sockets.delete(socket));
    }
    let dead = silent;
    pairs.push(() => (dead = true));
    client.on('data', (data) => void (dead || upstream.write(data)));
    upstream.on('data', (data) => void (dead || client.write(data)));
    client.on('close', () => void (dead || upstream.destroy()));
    upstream.on('close', () => void (dead || client.destroy()));
  });
  const pairs: (() => void)[] = [];
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  const address = server.address() as net.AddressInfo;
  const user = username ? `${username}:${password}@` : '';
  return {
    url: `nats://${user}127.0.0.1:${address.port}`,
    silence() {
      silent = true;
      for (const kill of pairs) kill();
    },
    heal() {
      silent = false;
    },
    async close() {
      for (const socket of sockets) socket.destroy();
      await new Promise<void>((resolve) => server.close(() => resolve()));
    },
  };
}

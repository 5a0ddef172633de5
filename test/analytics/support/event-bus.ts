// A private nats-server with its streams and a way to publish events, for tests of the analytics role.
import { mkdtempSync, rmSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { encodeEvents } from '../../../model/records/event-record.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import { patienceMs, until } from '../../support/until.ts';
import { type TestBus, startBus } from '../../support/bus.ts';

export type EventBus = TestBus & {
  readonly dataDir: string;
  /** Resolves when the batch is durable. */
  publish(events: readonly DeliveryEvent[]): Promise<void>;
  publishOctets(octets: Uint8Array): Promise<void>;
  /** Resolves when the recorder has announced everything that was published; its last insert may not have ended. */
  taken(limitMs?: number): Promise<void>;
};

export async function startEventBus(): Promise<EventBus> {
  const { nats, bus, stop } = await startBus();
  const dataDir = mkdtempSync(join(tmpdir(), 'heliograph-analytics-'));
  const publisher = new Publisher(bus, { deadlineMs: 20_000 });
  const bucket = await openBucket(bus, 'recorder');

  async function publishOctets(octets: Uint8Array): Promise<void> {
    const result = await publisher.publishOne('ev.sandbox.0', octets, null);
    if (!result.ok) throw new Error(`the event was not taken: ${result.failure}`);
  }
  return {
    bus,
    nats,
    dataDir,
    publish: (events) => publishOctets(encodeEvents(events)),
    publishOctets,
    async taken(limitMs = patienceMs) {
      const { state } = await bus.manager.streams.info('EVENTS');
      const announced = async () => {
        const entry = await bucket.get('events');
        const record = entry?.json<{ recordedTo: number; pending: { last: number } | null }>();
        return (record?.pending?.last ?? record?.recordedTo ?? 0) >= state.last_seq;
      };
      await until('the recorder to take everything', announced, { limitMs });
    },
    async stop() {
      publisher.close();
      await stop();
      rmSync(dataDir, { recursive: true, force: true, maxRetries: 3 });
    },
  };
}

// What a NATS connection sends in one turn of the event loop is one write of its socket, and nothing of it is lost when the
// connection is closed in that turn.
import { Socket } from 'node:net';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { connectBus } from '../../../cluster/bus/connect.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { until } from '../../support/until.ts';

let bus: TestBus;
beforeAll(async () => {
  bus = await startBus();
});
afterAll(() => bus.stop());

const count = 50;

async function publishInOneTurn(publish: (at: number) => void): Promise<void> {
  for (let at = 0; at < count; at += 1) {
    publish(at);
    // The client writes when the microtask queue is empty; the turn goes on.
    await new Promise<void>((resolve) => {
      process.nextTick(resolve);
    });
  }
}

test('messages of one turn share a write, in their order, also when the connection is closed right after', async () => {
  const taken: string[] = [];
  bus.bus.connection.subscribe('turn.*', { callback: (_, { subject }) => void taken.push(subject) });
  await bus.bus.connection.flush();
  const sender = await connectBus(bus.nats.url, 'sender');
  await sender.connection.flush();
  const written: unknown[] = [];
  const each = vi.spyOn(Socket.prototype, '_write').mockName('one');
  const together = vi.spyOn(Socket.prototype, '_writev' as '_write');
  try {
    await publishInOneTurn((at) => sender.connection.publish(`turn.${String(at)}`));
    written.push(each.mock.calls.length, together.mock.calls.length);
    await sender.close();
    written.push(each.mock.calls.length > 5);
  } finally {
    each.mockRestore();
    together.mockRestore();
  }
  // Within the turn nothing was written yet.
  expect(written).toEqual([0, 0, false]);
  await until('all are taken', () => taken.length === count);
  expect(taken).toEqual(Array.from({ length: count }, (_, at) => `turn.${String(at)}`));
});

// An endpoint that takes everything, in a thread of the bench, so that its cost is none of the system's. It counts what
// came by the id of the event: a repeat is no second event.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { Worker, isMainThread, parentPort } from 'node:worker_threads';
import { systemClock } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import type { WholeSystem } from '../../test/support/whole-system.ts';
import { jsonClient } from './json-client.ts';

export type WebhookReceiver = {
  /** Waits for so many events; how many have not come. */
  missingOf(expected: number): Promise<number>;
  stop(): Promise<void>;
};

const waitMs = 60_000;
const countEveryMs = 100;
const batchWaitMs = 1_000;

/** Registers it for `sms.delivered`, with at most `batch` events in one request. */
export async function registerReceiver({ httpPort, keys }: WholeSystem, batch?: number): Promise<WebhookReceiver> {
  const worker = new Worker(new URL(import.meta.url));
  const port = await new Promise<number>((resolve) => worker.once('message', resolve));
  let came = 0;
  worker.on('message', (count: number) => {
    came = count;
  });
  const client = jsonClient(httpPort, keys.liveKey);
  const batches = batch === undefined ? {} : { batch: { max_events: batch, max_wait_ms: batchWaitMs } };
  const hook = { url: `http://127.0.0.1:${port}/hook`, events: ['sms.delivered'], ...batches };
  const { status, body } = await client('/v1/webhooks', hook);
  if (status !== 201) throw new Error(`the endpoint could not be registered: ${JSON.stringify(body)}`);
  return {
    async missingOf(expected) {
      await until(`${expected} webhooks`, () => came >= expected, { limitMs: waitMs, everyMs: 250 }).catch(
        (error: unknown) => ignoring(error, 'what has not come is counted as missing'),
      );
      return expected - came;
    },
    async stop() {
      await worker.terminate();
    },
  };
}

/** The thread: its port first, then how many events have come. */
function receive(): void {
  const ids = new Set<string>();
  const server = createServer((request, response) => {
    const chunks: Buffer[] = [];
    request.on('data', (chunk: Buffer) => chunks.push(chunk));
    request.on('end', () => {
      const id = String(request.headers['webhook-id']);
      const { data } = JSON.parse(Buffer.concat(chunks).toString()) as { data: { events?: { id: string }[] } };
      for (const event of data.events ?? [{ id }]) ids.add(event.id);
      response.writeHead(204).end();
    });
  });
  server.listen(0, '127.0.0.1', () => {
    parentPort?.postMessage((server.address() as AddressInfo).port);
    systemClock.every(countEveryMs, () => parentPort?.postMessage(ids.size));
  });
}

if (!isMainThread) receive();

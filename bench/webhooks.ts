// Webhooks with bad company: 1,000 endpoints of 100 accounts, 10 % of which hang and 10 % refuse connections, 2,000
// events a second. Measured is the time from an event's publish to its request at the endpoints that work, and that each
// of their events arrives. The receivers are servers of this process, so their cost counts too.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import type { AccountId } from '../model/ids.ts';
import { systemClock } from '../platform/clock.ts';
import { ignoring } from '../platform/errors.ts';
import { seededRandom } from '../platform/random.ts';
import { LatencyHistogram } from '../smpp/simulator/latency-histogram.ts';
import { startBus } from '../test/support/bus.ts';
import { until } from '../test/support/until.ts';
import { eventOf, kindsOfEndpoints as kinds } from '../test/support/webhook-backlog.ts';
import { eventPublisher, putAccount, putEndpoint, startDelivery, startReceiver } from '../test/support/webhooks.ts';
import { type Bench, seedOption } from './harness/bench.ts';
import { cpuBetween, processTree } from './harness/processes.ts';
import { latencyFigures } from './harness/latency-figures.ts';

const accountsCount = 100;
const endpointsOfAccount = 10;
const everyMs = 10;
const settleMs = 60_000;
/** Code gets compiled, connections are made, and endpoints that do not answer become known as such. */
const warmUpSeconds = 6;

export const bench: Bench<'seconds' | 'rate' | 'seed'> = {
  about: 'events to 1,000 webhook endpoints, 10 % hanging and 10 % dead: latency of the others, nothing lost',
  takes: 'about a minute',
  options: {
    seconds: { about: `seconds of load, after ${warmUpSeconds} that are not measured`, default: 20 },
    rate: { about: 'events a second to all endpoints together', default: 2_000 },
    seed: seedOption,
  },
  targets: () => [
    { figure: 'received_p99_ms', op: '<=', bound: 500 },
    { figure: 'missing', op: '==', bound: 0 },
  ],
  async run({ seconds, seed, rate }) {
    const bus = await startBus('bench');
    const random = seededRandom(seed);
    const publishedAtMs = new Map<string, number>();
    let latencies = new LatencyHistogram();
    let arrived = 0;
    let cpu: ReadonlyMap<string, number> = new Map();
    const healthy = await startLightReceiver((path, id) => {
      const key = `${path}|${id}`;
      const atMs = publishedAtMs.get(key);
      if (atMs !== undefined && publishedAtMs.delete(key)) latencies.add((systemClock.monotonicMs() - atMs) * 1_000);
      arrived += 1;
    });
    const hanging = await startReceiver(() => null);
    const dead = await startReceiver();
    await dead.close();
    const accounts: { id: AccountId; endpoints: number }[] = [];
    // Of each account the first endpoint hangs, the second is dead, and the others work. One gets each event.
    for (let count = 0; count < accountsCount; count += 1) {
      const id = await putAccount(bus.bus);
      const urls = [hanging.url, dead.url, ...Array.from({ length: endpointsOfAccount - 2 }, () => healthy.url)];
      for (const [at, url] of urls.entries()) {
        await putEndpoint(bus.bus, {
          accountId: id,
          url: `${url}/${count}/${at}`,
          events: [kinds[at % kinds.length]?.type ?? ''],
        });
      }
      accounts.push({ id, endpoints: urls.length });
    }
    const end = await startDelivery(bus.nats.url);
    const events = eventPublisher(bus.bus);
    let published = 0;
    const offer = async (duration: number): Promise<void> => {
      const began = systemClock.monotonicMs();
      for (let offered = 0; offered < duration * rate; ) {
        const due = Math.floor(((systemClock.monotonicMs() - began) / 1_000) * rate) - offered;
        const batch = Array.from({ length: Math.min(due, duration * rate - offered) }, () => {
          const number = Math.floor(random.unit() * accountsCount);
          const at = Math.floor(random.unit() * endpointsOfAccount);
          const event = eventOf(accounts[number]?.id as AccountId, kinds[at]?.kind ?? 'delivered');
          if (at > 1) {
            publishedAtMs.set(`/hook/${number}/${at}|${event.eventId}`, systemClock.monotonicMs());
            published += 1;
          }
          return event;
        });
        offered += batch.length;
        if (batch.length > 0) void events.publish(batch);
        await systemClock.sleep(everyMs);
      }
    };
    const settled = (): Promise<unknown> =>
      until('every event has arrived', () => publishedAtMs.size === 0, { limitMs: settleMs }).catch((error: unknown) =>
        ignoring(error, 'what has not arrived is counted as lost'),
      );
    try {
      // The process has begun when one event has arrived.
      const [one] = accounts;
      await events.publish([eventOf(one?.id as AccountId, 'undelivered')]);
      await until('the first event has arrived', () => arrived > 0);
      await offer(warmUpSeconds);
      await settled();
      latencies = new LatencyHistogram();
      published = 0;
      const before = processTree(process.pid);
      await offer(seconds);
      await settled();
      cpu = cpuBetween(before, processTree(process.pid));
    } finally {
      await end();
      events.close();
      await Promise.all([healthy.close(), hanging.close()]);
      await bus.stop();
    }
    return {
      load: `${rate} events/s to 1,000 endpoints, 100 of which hang and 100 are dead`,
      figures: {
        ...latencyFigures('received', latencies.summary(), ['p50', 'p99', 'max']),
        received_healthy: published,
        missing: publishedAtMs.size,
        cpu_delivery_us_per_event: (cpu.get('delivery') ?? 0) / (seconds * rate),
        cpu_nats_us_per_event: (cpu.get('nats') ?? 0) / (seconds * rate),
      },
    };
  },
};

type LightReceiver = { readonly url: string; close(): Promise<void> };

/** Takes everything and reads no body: it shares two cores with what is measured. */
async function startLightReceiver(arrived: (path: string, id: string) => void): Promise<LightReceiver> {
  const server = createServer((request, response) => {
    request.resume();
    arrived(request.url ?? '', String(request.headers['webhook-id']));
    response.writeHead(204).end();
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  return {
    url: `http://127.0.0.1:${(server.address() as AddressInfo).port}/hook`,
    async close() {
      server.closeAllConnections();
      await new Promise((resolve) => server.close(resolve));
    },
  };
}

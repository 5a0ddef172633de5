// A day of idempotency keys, and the rate after it: the bucket is filled with as many keys as --rate leaves in 24 hours
// (--count), laid out as the product lays them out, then keys are claimed and answered at --rate through the product's own
// code on a real nats-server. What is counted is counted at the far end: every key of the load must be found
// answered by another store, and a sample of the filled ones too.
import { bodyPrinter } from '../api/http/idempotency/body-print.ts';
import { type Page, encodePage, keyPlace, printOctets } from '../api/http/idempotency/entry.ts';
import { IdempotentRequests, type KeyedRequest } from '../api/http/idempotency/requests.ts';
import { idempotencyStore } from '../api/http/idempotency/store.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { Publisher } from '../cluster/bus/publisher.ts';
import { streamOfBucket, subjectInBucket } from '../cluster/bus/streams.ts';
import type { AccountId } from '../model/ids.ts';
import { epochUs, systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { limits } from '../platform/limits.ts';
import { seededRandom } from '../platform/random.ts';
import { LatencyHistogram } from '../smpp/simulator/latency-histogram.ts';
import { type TestBus, startBus } from '../test/support/bus.ts';
import { latencyFigures } from './harness/latency-figures.ts';
import { processTree } from './harness/processes.ts';
import { endedBehindMs, servedPerS, servedShareMin } from './harness/rates.ts';
import type { BenchResult } from './harness/report.ts';
import type { Bench, BenchOptions } from './main.ts';

const rateDefault = 300;
const daySeconds = 86_400;
const account = 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId;
const operation = 'POST /v1/sms';
/** What is kept of a 202 of one message. */
const keptOctets = 10;
const sampled = 1_000;
const memoryMbMax = 1_024;

export const bench: Bench = {
  about:
    'idempotency keys: a day of them in the bucket, then claimed and answered (--rate a second, --count in the bucket)',
  secondsDefault: 20,
  takes: ['rate', 'count'],
  run,
};

async function run({
  seconds,
  seed,
  rate = rateDefault,
  count = rate * daySeconds,
}: BenchOptions): Promise<BenchResult> {
  const bus = await startBus('bench');
  try {
    await openBucket(bus.bus, 'idempotency');
    return await measure(bus, { seconds, seed, rate, count });
  } finally {
    await bus.stop();
  }
}

type Wanted = { readonly seconds: number; readonly seed: number; readonly rate: number; readonly count: number };

async function measure(bus: TestBus, { seconds, seed, rate, count }: Wanted): Promise<BenchResult> {
  const emptyMb = serverMb();
  const filled = await fill(bus, count, seed);
  const filledMb = serverMb();
  const { state } = await bus.bus.manager.streams.info(streamOfBucket('idempotency'));
  const octets = state.bytes;

  const publisher = new Publisher(bus.bus, limits.http.idempotencyWrites);
  const requests = new IdempotentRequests(idempotencyStore(bus.bus, publisher));
  const load = await offer(requests, { seconds, rate });
  const peakMb = serverMb();

  // Another process would read the same: its own store, nothing remembered.
  const other = new Publisher(bus.bus);
  const reader = new IdempotentRequests(idempotencyStore(bus.bus, other));
  let notReplayed = 0;
  for (const key of [...load.keys, ...filled.sample]) {
    if ((await reader.stored(requestOf(key))) === null) notReplayed += 1;
  }
  publisher.close();
  other.close();
  const total = count + load.keys.length;
  return {
    bench: 'idempotency',
    seconds,
    seed,
    load: `${count} keys of a day on ${limits.idempotency.pages} pages, then ${rate}/s, open loop, claimed and answered`,
    figures: {
      rate_per_s: servedPerS(load.doneUs),
      offered_per_s: rate,
      ended_behind_ms: endedBehindMs(load.doneUs, load.lastIntendedUs),
      ...latencyFigures('claim_and_answer', load.latency),
      failed: load.failed,
      not_replayed: notReplayed,
      nats_rss_empty_mb: emptyMb,
      nats_rss_mb: Math.max(filledMb, peakMb),
      memory_octets_per_key: ((Math.max(filledMb, peakMb) - emptyMb) * 1e6) / count,
      disk_octets_per_key: octets / total,
      disk_mb: octets / 1e6,
      fill_per_s: filled.perS,
    },
    targets: [
      { figure: 'rate_per_s', op: '>=', bound: rate * servedShareMin },
      { figure: 'ended_behind_ms', op: '<=', bound: 1_000 },
      { figure: 'nats_rss_mb', op: '<=', bound: memoryMbMax },
      { figure: 'failed', op: '==', bound: 0 },
      { figure: 'not_replayed', op: '==', bound: 0 },
    ],
  };
}

const prints = bodyPrinter([Buffer.alloc(32, 7)]);
const body = Buffer.from('{"to":"+8801712345678","from":"HELIO","message":"Your code is 482913","category":"otp"}');
const bodyPrint = prints(body);
const kept = Buffer.alloc(keptOctets, 1);

const requestOf = (key: string): KeyedRequest => ({
  place: keyPlace(account, true, operation, key),
  bodyPrints: bodyPrint,
  accountId: account,
  livemode: true,
  idempotencyKey: key,
  answerOf: (answer) => answer.toString('base64'),
  quota: { refuse: () => null, use: () => {} },
});

/** Fills pages directly, each with the keys that fell on it. Some keys are real ones, to be found again. */
async function fill(bus: TestBus, count: number, seed: number): Promise<{ sample: string[]; perS: number }> {
  const publisher = new Publisher(bus.bus, { deadlineMs: 60_000 });
  const random = seededRandom(seed);
  const sample = Array.from({ length: Math.min(sampled, count) }, (_, n) => `filled-${seed}-${n}`);
  const byPage = Map.groupBy(
    sample.map((key) => keyPlace(account, true, operation, key)),
    ({ page }) => page,
  );
  const { pages } = limits.idempotency;
  const perPage = count / pages;
  const beganMs = systemClock.monotonicMs();
  const createdAtMs = Math.floor(systemClock.nowMs());
  let failed = 0;
  for (let number = 0; number < pages; number += 1) {
    const name = `p.${number.toString(36)}`;
    const page: Page = new Map();
    for (const { hash } of byPage.get(name) ?? []) page.set(hash, doneAt(createdAtMs));
    const wanted = Math.floor(perPage) + (random.unit() < perPage % 1 ? 1 : 0);
    while (page.size < wanted) page.set(hashOf(number, page.size), doneAt(createdAtMs));
    if (page.size === 0) continue;
    const subject = subjectInBucket('idempotency', name);
    if (!publisher.hasRoom(subject))
      await until('room', () => publisher.hasRoom(subject), { limitMs: 60_000, everyMs: 1 });
    publisher.publish(subject, encodePage(page), null, ({ ok }) => {
      if (!ok) failed += 1;
    });
  }
  await publisher.idle();
  publisher.close();
  if (failed > 0) throw new Error(`${failed} pages were not stored: the bucket is too small for ${count} keys`);
  return { sample, perS: (count * 1_000) / (systemClock.monotonicMs() - beganMs) };
}

const doneAt = (createdAtMs: number) => ({
  stamp: 1,
  entry: { bodyPrint: bodyPrint[0], createdAtMs, state: 'done' as const, answer: kept },
});

/** Any 16 octets that no other entry of the page has: hashing 26 million keys would take longer than storing them. */
function hashOf(page: number, at: number): string {
  const octets = Buffer.alloc(printOctets, 0xee);
  octets.writeUInt32BE(page, 0);
  octets.writeUInt32BE(at, 4);
  return octets.toString('latin1');
}

async function offer(requests: IdempotentRequests, { seconds, rate }: Pick<Wanted, 'seconds' | 'rate'>) {
  const histogram = new LatencyHistogram();
  const doneUs: number[] = [];
  const keys: string[] = [];
  const total = Math.round(rate * seconds);
  let offered = 0;
  let failed = 0;
  const startMs = systemClock.monotonicMs();
  const intendedMs = (n: number) => startMs + (n * 1_000) / rate;
  await new Promise<void>((resolve) => {
    const stop = systemClock.every(1, () => {
      const due = Math.min(total, Math.floor(((systemClock.monotonicMs() - startMs) * rate) / 1_000) + 1);
      for (; offered < due; offered += 1) {
        const [key, atMs] = [`load-${offered}`, intendedMs(offered)];
        void requests
          .run(requestOf(key), () => Promise.resolve({ body: '{}', kept }))
          .then(({ ok }) => {
            if (ok) {
              keys.push(key);
              doneUs.push(epochUs(systemClock.monotonicMs()));
              histogram.add((systemClock.monotonicMs() - atMs) * 1_000);
            } else failed += 1;
            if (keys.length + failed < total) return;
            stop();
            resolve();
          });
      }
    });
  });
  return { keys, failed, doneUs, latency: histogram.summary(), lastIntendedUs: epochUs(intendedMs(total - 1)) };
}

function serverMb(): number {
  const servers = processTree(process.pid).filter(({ name }) => name === 'nats');
  return Math.max(0, ...servers.map(({ rssBytes }) => rssBytes)) / 1e6;
}

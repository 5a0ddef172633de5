// A day of idempotency keys, a restart of nats-server, and the rate after it: the bucket is filled with as many keys as
// --rate leaves in 24 hours (--count), laid out as the product lays them out: pages with a full period, and the
// archives of eleven before. The pages are written again in any order, because a store that is written at random has
// holes, and the server keeps those in memory too. After a restart a thread reads ahead as the ingress does, and keys
// are claimed and answered at --rate through the product's own code. What is counted is counted at the SMSC peer: every
// key of the load must be found answered by another store, and a sample of the filled ones too.
import { readdirSync, statSync } from 'node:fs';
import { join } from 'node:path';
import { keptOfAccepted, type AcceptedFacts } from '../api/http/sms-answer.ts';
import { bodyPrinter, keyPlaces } from '../acceptance/idempotency/key-place.ts';
import { type Page, changedPage, doneStamp, emptyPage, turnedPage } from '../acceptance/idempotency/entry.ts';
import { periodOf } from '../acceptance/idempotency/archived-keys.ts';
import { IdempotentRequests, type KeyedRequest } from '../acceptance/idempotency/requests.ts';
import { idempotencyStore } from '../acceptance/idempotency/store.ts';
import { expectSequence } from '../cluster/bus/bucket.ts';
import { connectBus } from '../cluster/bus/connect.ts';
import { openBucket } from '../cluster/bus/ensure.ts';
import { type PublishResult, Publisher } from '../cluster/bus/publisher.ts';
import { streamOfBucket, subjectInBucket } from '../cluster/bus/streams.ts';
import type { AccountId } from '../model/ids.ts';
import { epochUs, systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { limits } from '../platform/limits.ts';
import { seededRandom } from '../platform/random.ts';
import { LatencyHistogram } from '../smpp/simulator/latency-histogram.ts';
import { type TestBus, startBus } from '../test/support/bus.ts';
import { latencyFigures } from './harness/latency-figures.ts';
import { natsMemoryMb } from './harness/processes.ts';
import { endedBehindMs, servedPerS, servedShareMin } from './harness/rates.ts';
import { type BenchResult, zero } from './harness/report.ts';
import { openLoop } from './load/open-loop.ts';
import { type Bench, type BenchOptions, seedOption, withStarted } from './harness/bench.ts';

const rateDefault = 300;
const daySeconds = 86_400;
const account = 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId;
const operation = 'POST /v1/sms';
/** How often each page is rewritten on average; in the product some 260 times in its two hours. */
const roundsAgain = 4;
const sampled = 1_000;
const memoryMbMax = 1_024;

export const bench: Bench<'seconds' | 'rate' | 'count' | 'seed'> = {
  about: 'idempotency keys: a day of them in the bucket, nats-server restarted, then claimed and answered',
  takes: 'the time to fill the bucket, which is most of it, and --seconds',
  options: {
    seconds: { about: 'seconds of load after the restart', default: 60 },
    rate: { about: 'keys a second', default: rateDefault },
    count: {
      about: 'keys in the bucket; as many as --rate leaves in a day',
      default: ({ rate = rateDefault }) => rate * daySeconds,
    },
    seed: seedOption,
  },
  targets: ({ rate }) => [
    { figure: 'rate_per_s', op: '>=', bound: rate * servedShareMin },
    { figure: 'ended_behind_ms', op: '<=', bound: 1_000 },
    { figure: 'nats_rss_mb', op: '<=', bound: memoryMbMax },
    ...zero('failed', 'not_replayed'),
  ],
  run,
};

async function run({
  seconds,
  seed,
  rate,
  count,
}: BenchOptions<'seconds' | 'rate' | 'count' | 'seed'>): Promise<BenchResult> {
  return withStarted(startBus('bench'), async (bus) => {
    await openBucket(bus.bus, 'idempotency');
    return measure(bus, { seconds, seed, rate, count });
  });
}

type Wanted = { readonly seconds: number; readonly seed: number; readonly rate: number; readonly count: number };

async function measure(bus: TestBus, { seconds, seed, rate, count }: Wanted): Promise<BenchResult> {
  const emptyMb = natsMemoryMb();
  const filled = await fill(bus, count, seed);
  const filledMb = natsMemoryMb();
  const restartedMs = await restart(bus);
  const { state } = await bus.bus.manager.streams.info(streamOfBucket('idempotency'));
  const octets = state.bytes;
  const onDiskMb = directoryMb(bus.nats.dataDir);

  const pages = await connectBus(bus.nats.url, 'bench-pages');
  const publisher = new Publisher(bus.bus, limits.http.idempotencyWrites);
  const store = idempotencyStore(bus.bus, publisher, systemClock, pages);
  const requests = new IdempotentRequests(store);
  let peakMb = natsMemoryMb();
  const stopLooking = systemClock.every(250, () => {
    peakMb = Math.max(peakMb, natsMemoryMb());
  });
  const readAheadMs = await timeOf(() => store.readAhead());
  const load = await offer(requests, { seconds, rate });
  stopLooking();

  // What another process would read: a store of its own, with nothing cached.
  const other = new Publisher(bus.bus);
  const reader = new IdempotentRequests(idempotencyStore(bus.bus, other));
  let notReplayed = 0;
  for (const key of [...load.keys, ...filled.sample]) {
    const looked = await reader.lookUp(requestOf(key));
    if (!('outcome' in looked) || !looked.outcome.ok) notReplayed += 1;
  }
  publisher.close();
  other.close();
  await pages.close();
  const total = count + load.keys.length;
  return {
    load: `${count} keys of a day on ${limits.idempotency.pages} pages, restart, then ${rate}/s, open loop, claimed and answered`,
    figures: {
      rate_per_s: servedPerS(load.doneUs),
      offered_per_s: rate,
      ended_behind_ms: endedBehindMs(load.doneUs, load.lastIntendedUs),
      ...latencyFigures('claim_and_answer', load.latency),
      failed: load.failed,
      not_replayed: notReplayed,
      nats_rss_empty_mb: emptyMb,
      nats_rss_filled_mb: filledMb,
      nats_rss_mb: peakMb,
      memory_octets_per_key: ((peakMb - emptyMb) * 1e6) / count,
      stored_octets_per_key: octets / total,
      stored_mb: octets / 1e6,
      disk_mb: onDiskMb,
      restart_ms: restartedMs,
      read_ahead_ms: readAheadMs,
      fill_ms: filled.ms,
    },
  };
}

const prints = bodyPrinter([Buffer.alloc(32, 7)]);
const places = keyPlaces(Buffer.alloc(32, 8));
const body = Buffer.from('{"to":"+8801712345678","from":"HELIO","message":"Your code is 482913","category":"otp"}');
const bodyPrint = prints(body);
/** Every other message is GSM-7, the others are UCS-2 because of their first character. */
const kepts = [null, { character: 'আ', index: 0 }].map((ucs2Because) => {
  const encoding = ucs2Because === null ? ('gsm7' as const) : ('ucs2' as const);
  const facts = { encoding, segments: 1, acceptedAtMs: 0, scheduledAtMs: null } as AcceptedFacts;
  return keptOfAccepted(facts, { ucs2Because, links: null }, 0);
}) as [Buffer, Buffer];

const requestOf = (key: string): KeyedRequest => ({
  place: places(account, true, operation, key),
  bodyPrints: bodyPrint,
  accountId: account,
  livemode: true,
  idempotencyKey: key,
  answerOf: (answer) => answer.toString('base64'),
  quota: { refuse: () => null, use: () => {} },
});

type Filled = { readonly sample: string[]; readonly ms: number };

/** Fills pages and archives directly, and rewrites pages at random. Some keys are real ones, to be found again. */
async function fill(bus: TestBus, count: number, seed: number): Promise<Filled> {
  const publisher = new Publisher(bus.bus, { deadlineMs: 60_000, timeoutMs: 20_000 });
  const random = seededRandom(seed);
  const sample = Array.from({ length: Math.min(sampled, count) }, (_, n) => `filled-${seed}-${n}`);
  const byPage = Map.groupBy(
    sample.map((key) => places(account, true, operation, key)),
    ({ page }) => page,
  );
  const { pages, periodMs, ttlMs } = limits.idempotency;
  const periods = ttlMs / periodMs;
  const perPage = count / pages / periods;
  const beganMs = systemClock.monotonicMs();
  const nowMs = systemClock.nowMs();
  const period = periodOf(nowMs);
  let failed = 0;

  /** The page of that many periods ago: unique random keys, and the real ones, spread over the periods. */
  function pageOf(number: number, ago: number): Page {
    const real = (byPage.get(number.toString(36)) ?? []).filter(({ own }) => own % periods === ago);
    const owns = real.map(({ own }) => own);
    const wanted = Math.floor(perPage) + (random.unit() < perPage % 1 ? 1 : 0);
    while (owns.length < wanted) owns.push(Math.floor(random.unit() * 2 ** 48));
    return owns.reduce<Page>((page, own, at) => {
      return changedPage(page, own, doneAt(nowMs - ago * periodMs, kepts[at % 2 === 0 ? 0 : 1]), 0);
    }, emptyPage);
  }

  async function write(name: string, page: Page, revision: number, done: (revision: number) => void): Promise<void> {
    const subject = subjectInBucket('idempotency', name);
    const hasCapacity = () => publisher.hasCapacity(subject);
    if (!hasCapacity()) await until('room', hasCapacity, { limitMs: 60_000, everyMs: 1 });
    const expected = expectSequence(revision);
    const ended = (result: PublishResult) => {
      if (result.ok) done(result.seq);
      else failed += 1;
    };
    publisher.publish(subject, page, null, ended, expected);
  }

  for (let ago = periods - 1; ago > 0; ago -= 1) {
    for (let number = 0; number < pages; number += 1) {
      await write(`p.${number.toString(36)}.${(period - ago).toString(36)}`, pageOf(number, ago), 0, () => {});
    }
  }
  // Like a page that turned in each of the periods.
  let head = turnedPage(emptyPage, period - periods + 1, false);
  for (let ago = periods - 2; ago >= 0; ago -= 1) head = turnedPage(head, period - ago, true);
  const revisions = new Int32Array(pages);
  const isOnItsWay = new Uint8Array(pages);
  for (let n = 0; n < pages * (1 + roundsAgain); n += 1) {
    const number = n < pages ? n : Math.floor(random.unit() * pages);
    if (isOnItsWay[number] === 1) continue;
    isOnItsWay[number] = 1;
    const page = Buffer.concat([head, pageOf(number, 0).subarray(head.length)]) as Page;
    await write(`p.${number.toString(36)}`, page, revisions[number] ?? 0, (revision) => {
      revisions[number] = revision;
      isOnItsWay[number] = 0;
    });
  }
  await publisher.idle();
  publisher.close();
  if (failed > 0) throw new Error(`${failed} records were not stored: the bucket is too small for ${count} keys`);
  return { sample, ms: systemClock.monotonicMs() - beganMs };
}

async function timeOf(work: () => Promise<void>): Promise<number> {
  const beganMs = systemClock.monotonicMs();
  await work();
  return systemClock.monotonicMs() - beganMs;
}

const doneAt = (createdAtMs: number, answer: Buffer) => ({
  stamp: doneStamp,
  entry: { bodyPrint: bodyPrint[0], createdAtMs, state: 'done' as const, answer },
});

/** How long it takes until the server answers for the bucket again. */
async function restart(bus: TestBus): Promise<number> {
  const beganMs = systemClock.monotonicMs();
  await bus.nats.restart();
  const { manager } = bus.bus;
  const isThere = () => manager.streams.info(streamOfBucket('idempotency')).then(Boolean, () => false);
  await until('the bucket', isThere, { limitMs: 60_000, everyMs: 20 });
  return systemClock.monotonicMs() - beganMs;
}

async function offer(requests: IdempotentRequests, { seconds, rate }: Pick<Wanted, 'seconds' | 'rate'>) {
  const histogram = new LatencyHistogram();
  const doneUs: number[] = [];
  const keys: string[] = [];
  const total = Math.round(rate * seconds);
  let failed = 0;
  let lastIntendedMs = 0;
  const running: Promise<void>[] = [];
  await openLoop(total, rate, (n, atMs) => {
    lastIntendedMs = atMs;
    const key = `load-${n}`;
    const claimed = requests.run(requestOf(key), () => Promise.resolve({ body: '{}', kept: kepts[0] }));
    const ended = claimed.then(({ ok }) => {
      if (!ok) return void (failed += 1);
      keys.push(key);
      doneUs.push(epochUs(systemClock.monotonicMs()));
      histogram.add((systemClock.monotonicMs() - atMs) * 1_000);
    });
    running.push(ended);
  });
  await Promise.all(running);
  return { keys, failed, doneUs, latency: histogram.summary(), lastIntendedUs: epochUs(lastIntendedMs) };
}

/** Disk usage of the server's files, including holes. */
function directoryMb(folder: string): number {
  const files = readdirSync(folder, { recursive: true, withFileTypes: true }).filter((each) => each.isFile());
  return files.reduce((sum, { parentPath, name }) => sum + statSync(join(parentPath, name)).size, 0) / 1e6;
}

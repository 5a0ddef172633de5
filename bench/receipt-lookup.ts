// How long the event store takes to find the submit of a receipt that no carrier has in memory, by the number of
// submits. ClickHouse generates events, and the view of sms_submits makes rows of them; ids and recipients are scattered,
// so that each day's parts have to be searched, and submits spread over four days.
import { submittedSearch } from '../analytics/queries/find-submitted.ts';
import type { Engine } from '../analytics/store/engine.ts';
import { systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { RetryLater } from '../platform/errors.ts';
import { seededRandom } from '../platform/random.ts';
import { withEngine } from './harness/event-store.ts';
import { quantile } from './harness/latency-figures.ts';
import type { BenchResult } from './harness/report.ts';
import { type Bench, type BenchOptions, seedOption } from './harness/bench.ts';

export const bench: Bench<'seconds' | 'count' | 'seed'> = {
  about: 'finding the submit of an old receipt in the event store, by the number of submits',
  takes: 'about a minute; more submits take longer to write and to merge',
  options: {
    seconds: { about: 'seconds of look-ups', default: 10 },
    count: { about: 'submits in the store', default: 2_000_000 },
    seed: seedOption,
  },
  targets: () => [
    { figure: 'look_up_p99_ms', op: '<=', bound: 50 },
    { figure: 'not_found', op: '==', bound: 0 },
  ],
  run,
};

const rowsPerInsert = 1_000_000;
const spanSeconds = 4 * 86_400;
const insertLimitMs = 120_000;
const mergesMs = 600_000;
/** Receipts that arrive at once after an outage. */
const atOnce = 1_000;
const askAgainMs = 500;

/** Twelve digits; an odd factor scatters them, each once. The same in SQL: `fill`. */
const idOf = (at: number) => (0x100000000000n + ((BigInt(at) * 2_654_435_761n) % 0x10000000000n)).toString(16);
const idInSql = 'lower(hex(17592186044416 + (number * 2654435761) % 1099511627776))';
const messageIdOf = (at: number) => `sms_${String(at).padStart(10, '0')}`;
const recipientOf = (at: number) => `+88017${String((at * 7_919) % 100_000_000).padStart(8, '0')}`;

async function run({ seconds, seed, count }: BenchOptions<'seconds' | 'count' | 'seed'>): Promise<BenchResult> {
  return withEngine((engine) => measure(engine, seconds, seed, count));
}

async function measure(engine: Engine, seconds: number, seed: number, count: number): Promise<BenchResult> {
  await openGenerated(engine);
  for (let from = 0; from < count; from += rowsPerInsert) {
    await fill(engine, from, Math.min(rowsPerInsert, count - from), count);
  }
  await merged(engine);
  const random = seededRandom(seed);
  const search = submittedSearch(
    engine,
    { eventsOf: () => [], messages: () => [] },
    { recordedTo: () => 1, surely: async (read) => ({ result: 'sure', recordedTo: 1, value: await read() }) },
  );
  const oneMs: number[] = [];
  const cpuBefore = process.cpuUsage();
  let missed = 0;
  const ask = async () => {
    const at = Math.floor(random.unit() * count);
    // A query for a receipt whose id has three readings.
    const carrierMessageIds = [`${idOf(at)}0`, idOf(at), `9${idOf(at)}`];
    const reply = await search({ carrier: 'alpha', recipients: [recipientOf(at)], carrierMessageIds });
    if (reply.result !== 'found' || !reply.submitted.messageId.startsWith(messageIdOf(at))) missed += 1;
  };
  const beganMs = systemClock.monotonicMs();
  while (systemClock.monotonicMs() - beganMs < seconds * 1_000) {
    const askedMs = systemClock.monotonicMs();
    await ask();
    oneMs.push(systemClock.monotonicMs() - askedMs);
  }
  const { user, system } = process.cpuUsage(cpuBefore);
  const floodMs = systemClock.monotonicMs();
  let refused = 0;
  await Promise.all(
    Array.from({ length: atOnce }, async () => {
      while (!(await answered(ask))) refused += 1;
    }),
  );
  const flood = systemClock.monotonicMs() - floodMs;
  const [parts] = await engine.rows(
    "SELECT toUInt32(count()), toUInt32(sum(marks)), toUInt64(sum(bytes_on_disk)), toUInt64(sum(primary_key_bytes_in_memory)) FROM system.parts WHERE table = 'sms_submits' AND active",
  );
  return {
    load: `${count} submits, ${oneMs.length} look-ups one after the other, then ${atOnce} at once`,
    figures: {
      look_up_p50_ms: quantile(oneMs, 0.5),
      look_up_p99_ms: quantile(oneMs, 0.99),
      look_up_cpu_ms: (user + system) / 1_000 / oneMs.length,
      flood_ms: flood,
      flood_refused: refused,
      parts: Number(parts?.[0]),
      granules: Number(parts?.[1]),
      bytes_per_submit: Number(parts?.[2]) / count,
      index_bytes_per_submit: Number(parts?.[3]) / count,
      not_found: missed,
    },
  };
}

/** False: too many waited, and it was not looked up. */
async function answered(ask: () => Promise<void>): Promise<boolean> {
  try {
    await ask();
    return true;
  } catch (error) {
    if (!(error instanceof RetryLater)) throw error;
    await systemClock.sleep(askAgainMs);
    return false;
  }
}

/** In production rows arrive over days: their merges are not part of a look-up. */
async function merged(engine: Engine): Promise<void> {
  const underWay = 'SELECT toUInt32(count()) FROM system.merges';
  const none = async () => Number((await engine.rows(underWay, {}, insertLimitMs))[0]?.[0]) === 0;
  await until('the merges', none, { limitMs: mergesMs, everyMs: 1_000 });
}

/** Where generated events go instead of sms_events: the view of the submits gets them, and nothing else does. */
async function openGenerated(engine: Engine): Promise<void> {
  const [row] = await engine.rows("SELECT as_select FROM system.tables WHERE name = 'sms_submits_feed'");
  const select = String(row?.[0]);
  const ofEvents = /\bFROM [a-z_.]*sms_events\b/;
  if (!ofEvents.test(select)) throw new Error(`the view of the submits does not read sms_events: ${select}`);
  await engine.command('CREATE TABLE generated AS sms_events ENGINE = Null');
  await engine.command(
    `CREATE MATERIALIZED VIEW generated_feed TO sms_submits AS ${select.replace(ofEvents, 'FROM generated')}`,
  );
}

async function fill(engine: Engine, from: number, rows: number, count: number): Promise<void> {
  await engine.command(
    `INSERT INTO generated (carrier, recipient, at, event_id, kind, message_id, account_id, attempt, segment, segments,
       carrier_message_id, category, sender, encoding, livemode, accepted_at, valid_until)
     SELECT 'alpha', concat('+88017', leftPad(toString((number * 7919) % 100000000), 8, '0')),
       now64(3) - toIntervalSecond(intDiv((${count} - number) * ${spanSeconds}, ${count})) AS at, substring(hex(sipHash128(number, 1)), 1, 26),
       'submitted', concat('sms_', leftPad(toString(number), 10, '0'), substring(hex(sipHash128(number)), 1, 16)), concat('acc_', toString(number % 50)), 1, 1, 1,
       ${idInSql}, 'transactional', 'BRAND', 'gsm7', true, at, at
     FROM numbers(${from}, ${rows})`,
    insertLimitMs,
  );
}

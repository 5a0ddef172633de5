// Scheduled messages in bulk: `--count` of them wait for weeks, as many are due in a burst of 16,667 a second (--rate),
// which is a million in a minute. Real records through the real releaser and its rules; the output is counted at the
// carriers' queues. Releaser and counter share this process, so the figures are a lower bound.
import { ReleaseRules } from '../actors/later/release-rules.ts';
import { LaterReleaser } from '../actors/later/releaser.ts';
import { bodyCipher } from '../model/records/body-cipher.ts';
import { cancellations } from '../cluster/bus/cancellations.ts';
import { EventWriter } from '../cluster/bus/event-writer.ts';
import { publishLater } from '../cluster/bus/later.ts';
import { encodeMessage } from '../model/records/message-record.ts';
import { Publisher } from '../cluster/bus/publisher.ts';
import { streamNames } from '../cluster/bus/streams.ts';
import { messageSubject, waitFilter } from '../cluster/bus/subjects.ts';
import { epochUs, systemClock } from '../platform/clock.ts';
import { until } from '../platform/deadline.ts';
import { everyCarrierIsGood } from '../policy/routing/avoid.ts';
import { rules } from '../test/policy/rules.ts';
import { startBus } from '../test/support/bus.ts';
import { messageWith } from '../test/support/messages.ts';
import { quantile } from './harness/latency-figures.ts';
import { natsMemoryMb } from './harness/processes.ts';
import { servedPerS } from './harness/rates.ts';
import { type BenchResult, zero } from './harness/report.ts';
import { type Bench, type BenchOptions, seedOption } from './harness/bench.ts';

const countDefault = 50_000;
const duePerSecondDefault = Math.ceil(1_000_000 / 60);
const dayMs = 86_400_000;
const cancelsMax = 200;
/** Longer than publishing takes, and than the releaser needs to notice the burst. */
const aheadMs = (count: number) => 5_000 + count / 30;

export const bench: Bench<'seconds' | 'count' | 'rate' | 'seed'> = {
  about: 'messages that wait: many pending, a million a minute due',
  takes: 'about a minute',
  options: {
    seconds: { about: 'seconds after the last message is due in which all must have been released', default: 60 },
    count: { about: 'messages that wait, and as many that fall due', default: countDefault },
    rate: { about: 'messages that fall due a second', default: duePerSecondDefault },
    seed: seedOption,
  },
  targets: ({ rate: duePerSecond }) => [
    { figure: 'late_p99_ms', op: '<=', bound: 1_000 },
    // A whole second is released at once, so the burst may take up to one second less than it lasts.
    { figure: 'release_rate_per_s', op: '>=', bound: duePerSecond * 0.9 },
    ...zero('not_stored', 'early', 'lost', 'duplicated', 'canceled_and_sent'),
  ],
  run,
};

async function run({
  seconds,
  seed,
  count,
  rate: duePerSecond,
}: BenchOptions<'seconds' | 'count' | 'rate' | 'seed'>): Promise<BenchResult> {
  const { bus, stop } = await startBus('bench');
  const cipher = bodyCipher(Buffer.alloc(32, seed % 256));
  const publisher = new Publisher(bus, { deadlineMs: Number.POSITIVE_INFINITY });
  const message = messageWith();
  const payload = encodeMessage(message, cipher);
  const subject = messageSubject(message.category, message.carrier, message.accountId);

  let notStored = 0;
  const publishAll = async (prefix: string, dueOf: (index: number) => number) => {
    const beganMs = systemClock.monotonicMs();
    let next = 0;
    const { landed, refused } = await new Promise<{ landed: number; refused: number }>((resolve) => {
      let landed = 0;
      let refused = 0;
      const fill = () => {
        while (next < count && publisher.hasCapacity(waitFilter('scheduled'))) {
          const id = `${prefix}${next}`;
          const record = { subject, payload, dueAtMs: dueOf(next), id, shardKey: id, cancelable: id };
          next += 1;
          publishLater(publisher, record, systemClock.nowMs(), ({ ok }) => {
            if (ok) landed += 1;
            else refused += 1;
            if (landed + refused === count) return resolve({ landed, refused });
            if (publisher.inFlight < 512) fill();
          });
        }
      };
      fill();
    });
    notStored += refused;
    return (landed * 1_000) / (systemClock.monotonicMs() - beganMs);
  };

  const emptyMb = natsMemoryMb();
  const pendingFrom = systemClock.nowMs() + dayMs;
  const publishRate = await publishAll('p', (index) => pendingFrom + (index % 30) * dayMs + index * 7);
  const pendingMb = natsMemoryMb();

  const beginAtMs = Math.ceil((systemClock.nowMs() + aheadMs(count)) / 1_000) * 1_000;
  const dueOf = (index: number) => Math.floor(beginAtMs + (index * 1_000) / duePerSecond);
  const came = new Uint8Array(count);
  const lateMs: number[] = [];
  const releasedUs: number[] = [];
  let early = 0;
  bus.connection.subscribe('mt.>', {
    callback: (_error, msg) => {
      const index = Number(msg.headers?.get('Nats-Msg-Id').slice('released.d'.length));
      came[index] = (came[index] ?? 0) + 1;
      if ((came[index] ?? 0) > 1) return;
      const late = systemClock.nowMs() - dueOf(index);
      if (late < 0) early += 1;
      lateMs.push(late);
      releasedUs.push(epochUs(systemClock.monotonicMs()));
    },
  });
  await publishAll('d', dueOf);
  const events = new EventWriter(publisher);
  const releaser = new LaterReleaser(bus, publisher, {
    scheduled: { rules: new ReleaseRules(rules, cipher, everyCarrierIsGood), events },
  });
  await releaser.start();
  // Some of the burst are canceled, spread over all of it.
  const canceled = new Set<number>();
  const cancels = cancellations(bus, publisher);
  const step = Math.max(1, Math.floor(count / cancelsMax));
  for (let index = 0; index < count; index += step) {
    if ((await cancels.cancel(`d${index}`, dueOf(index))) === 'canceled') canceled.add(index);
  }
  const wanted = count - canceled.size;
  const lastDueMs = dueOf(count - 1);
  const limitMs = lastDueMs - systemClock.nowMs() + seconds * 1_000;
  const isThere = until('all released', () => lateMs.length >= wanted, { limitMs, everyMs: 50 });
  await isThere.catch((error: unknown) => process.stderr.write(`${String(error)}\n`));
  const releasedMb = natsMemoryMb();
  // A repeated publish is seen twice on the subject, and stored once: stored messages count.
  const stored = (await bus.manager.streams.info(streamNames.messages.txn)).state.messages;
  await releaser.stop();
  publisher.close();
  await stop();

  const sentAnyway = [...canceled].filter((index) => (came[index] ?? 0) > 0).length;
  return {
    load: `${count} pending over 30 days, ${count} due at ${Math.round(duePerSecond)}/s, ${canceled.size} of them canceled`,
    figures: {
      publish_rate_per_s: publishRate,
      release_rate_per_s: servedPerS(releasedUs),
      due_per_s: duePerSecond,
      not_stored: notStored,
      nats_rss_empty_mb: emptyMb,
      nats_rss_pending_mb: pendingMb,
      nats_rss_peak_mb: releasedMb,
      late_p50_ms: quantile(lateMs, 0.5),
      late_p99_ms: quantile(lateMs, 0.99),
      late_max_ms: quantile(lateMs, 1),
      early,
      lost: came.reduce((sum, times, index) => sum + (times === 0 && !canceled.has(index) ? 1 : 0), 0),
      duplicated: stored - came.reduce((sum, times) => sum + (times > 0 ? 1 : 0), 0),
      canceled_and_sent: sentAnyway,
    },
  };
}

// Detects a pull that ended silently. A nats-server before 2.9.16 drops a pull request without an answer when a record
// arrives as it expires; the client then waits for two missed heartbeats, which delays an OTP by a second (decision
// 52).
import type { Consumer, ConsumerMessages } from '@nats-io/jetstream';
import { type Cancel, type Clock, nextTurn } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import type { Bus } from './connect.ts';

/** How long the server keeps a low-latency pull. */
export const pullLastsMs = 5_000;
/**
 * A lost pull or consumer is noticed after two missed heartbeats, one second; by default the client takes thirty.
 * watchPulls notices a pull that ended silently at once.
 */
export const lowLatencyPull = { expires: pullLastsMs, idle_heartbeat: 500 } as const;
/**
 * For reading old records: a server that searches a long stream for one subject sends nothing meanwhile, and a reopened
 * consumer would search from the beginning. Lost after ten seconds.
 */
export const patientPull = { expires: 30_000, idle_heartbeat: 5_000 } as const;

/** Timers of both sides are inexact. */
const graceMs = 20;
const answerWithinMs = 2_000;

/**
 * Calls `onLost` once when every pull has outlived `lastsMs`, none was added, the server has none left, and all it sent
 * has been handled. A busy client reads the end of a pull late, and a busy server begins a pull late: neither is lost.
 * Reopening such a consumer would leave what it is being given to the ack wait. Ends with the consumption.
 */
export function watchPulls(
  bus: Bus,
  consumer: Consumer,
  messages: ConsumerMessages,
  lastsMs: number,
  clock: Clock,
  onLost: () => void,
): void {
  let over = false;
  let pulledAtMs = clock.monotonicMs();
  let cancel: Cancel = clock.after(lastsMs + graceMs, () => void look());
  const leftMs = () => pulledAtMs + lastsMs + graceMs - clock.monotonicMs();
  const isDue = () => !over && leftMs() <= 0 && bus.connected();

  async function look(): Promise<void> {
    if (isDue()) await answered(bus);
    const lost = isDue() && (await hasNoPull(consumer)) && isDue();
    if (over) return;
    if (lost) return onLost();
    // Without a connection there is no pull; the client sends one after the reconnect.
    cancel = clock.after(bus.connected() ? Math.max(graceMs, leftMs()) : lastsMs, () => void look());
  }

  const ended = followStatus(messages, (type) => {
    if (type === 'next') pulledAtMs = clock.monotonicMs();
  });
  void ended.finally(() => {
    over = true;
    cancel();
  });
}

/** Calls `take` with each status until the consumption ends or `take` returns true. Never rejects. */
export async function followStatus(messages: ConsumerMessages, take: (type: string) => boolean | void): Promise<void> {
  try {
    for await (const { type } of messages.status()) if (take(type) === true) return;
  } catch (error) {
    ignoring(error, 'the status stream of a stopped consumption ended');
  }
}

/** Statuses of a lost consumer, or of one that the client recreated without checking that the stream is the same. */
const lostStatuses: ReadonlySet<string> = new Set([
  'heartbeats_missed',
  'consumer_not_found',
  'consumer_deleted',
  'stream_not_found',
  'reset',
]);

/** Calls `onLost` when the consumer must be recreated, without waiting for the client's own recovery. */
export function watchConsumer(messages: ConsumerMessages, onLost: () => void): void {
  void followStatus(messages, (type) => {
    if (lostStatuses.has(type)) onLost();
    return lostStatuses.has(type);
  });
}

/**
 * After this, everything that the server had sent has been handled: it answers in order, and the client reports a new
 * pull some microtasks after it has read the end of the last one.
 */
async function answered(bus: Bus): Promise<void> {
  await withDeadline('the bus', answerWithinMs, bus.connection.flush()).catch((error) =>
    ignoring(error, 'the connection does not answer: the client will notice that it is lost'),
  );
  await nextTurn();
}

/** False also when the server does not say: the client misses its heartbeats then. */
async function hasNoPull(consumer: Consumer): Promise<boolean> {
  try {
    const { num_waiting } = await withDeadline('the consumer', answerWithinMs, consumer.info());
    await nextTurn();
    return num_waiting === 0;
  } catch (error) {
    ignoring(error, 'the pull is looked at again in a moment');
    return false;
  }
}

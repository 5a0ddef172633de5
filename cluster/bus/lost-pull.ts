// Detects a pull that ended silently. A nats-server before 2.9.16 drops a pull request without an answer when a record
// arrives as it expires; the client then waits for two missed heartbeats, which delays an OTP by a second (decision
// 52).
import type { ConsumerMessages } from '@nats-io/jetstream';
import type { Cancel, Clock } from '../../platform/clock.ts';
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
 * Calls `onLost` once when every pull has outlived `lastsMs` and none was added: the server has none left, and all it
 * sent has been handled. Ends with the consumption.
 */
export function watchPulls(
  bus: Bus,
  messages: ConsumerMessages,
  lastsMs: number,
  clock: Clock,
  onLost: () => void,
): void {
  let over = false;
  let pulledAtMs = clock.monotonicMs();
  let cancel: Cancel = clock.after(lastsMs + graceMs, () => void look());
  const leftMs = () => pulledAtMs + lastsMs + graceMs - clock.monotonicMs();

  async function look(): Promise<void> {
    // A server answers in order, and a blocked event loop reads first: after this, everything sent has arrived.
    if (leftMs() <= 0 && bus.connected()) await answered(bus);
    if (over) return;
    if (leftMs() <= 0 && bus.connected()) return onLost();
    // Without a connection there is no pull; the client sends one after the reconnect.
    cancel = clock.after(bus.connected() ? leftMs() : lastsMs, () => void look());
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

async function answered(bus: Bus): Promise<void> {
  await withDeadline('the bus', answerWithinMs, bus.connection.flush()).catch((error) =>
    ignoring(error, 'the connection does not answer: the client will notice that it is lost'),
  );
}

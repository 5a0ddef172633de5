// Detects a pull that ended silently. A nats-server before 2.9.16 drops a pull request without an answer when a
// record arrives at the moment it expires; the client then waits until it has missed two heartbeats, and an OTP waits
// a second (decision 52).
import type { ConsumerMessages } from '@nats-io/jetstream';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import type { Bus } from './connect.ts';

/** How long one pull of those that cannot wait lasts at the server. */
export const pullLastsMs = 5_000;
/**
 * A lost pull or consumer is noticed after two missed heartbeats: a second, instead of the client's default thirty. A
 * pull that ended in silence is noticed at once by those who watch their pulls.
 */
export const lowLatencyPull = { expires: pullLastsMs, idle_heartbeat: 500 } as const;
/**
 * For reading what is there: a server that searches a long stream for the records of one subject sends nothing
 * meanwhile, and a consumer that is opened again makes it search from the beginning. Lost after ten seconds.
 */
export const patientPull = { expires: 30_000, idle_heartbeat: 5_000 } as const;

/** The server's timers are not exact, nor are ours. */
const graceMs = 20;
const answerWithinMs = 2_000;

/**
 * Calls `onLost` once when every pull of a consumption has outlived its `lastsMs` and no other was made: none is left at
 * the server. What the server sent before that has been handed over by then. Ends with the consumption.
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
    // A server answers in order, and an event loop that was blocked reads before this goes on: what is on its way has
    // come.
    if (leftMs() <= 0 && bus.connected()) await answered(bus);
    if (over) return;
    if (leftMs() <= 0 && bus.connected()) return onLost();
    // Without a connection there is no pull: the client makes one when it is back.
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

/** Calls `take` with each status of a consumption until that ends, or `take` returns true. Never rejects. */
export async function followStatus(messages: ConsumerMessages, take: (type: string) => boolean | void): Promise<void> {
  try {
    for await (const { type } of messages.status()) if (take(type) === true) return;
  } catch (error) {
    ignoring(error, 'the status stream of a stopped consumption ended');
  }
}

/** Of a consumer that is lost, or that the client has recreated without looking whether the stream is the same. */
const lostStatuses: ReadonlySet<string> = new Set([
  'heartbeats_missed',
  'consumer_not_found',
  'consumer_deleted',
  'stream_not_found',
  'reset',
]);

/** Calls `onLost` when the consumer has to be recreated; the client's own mending is not waited for. */
export function watchConsumer(messages: ConsumerMessages, onLost: () => void): void {
  void followStatus(messages, (type) => {
    if (lostStatuses.has(type)) onLost();
    return lostStatuses.has(type);
  });
}

async function answered(bus: Bus): Promise<void> {
  await withDeadline('the bus', answerWithinMs, bus.connection.flush()).catch((error) =>
    ignoring(error, 'the connection is as good as lost, and will be noticed'),
  );
}

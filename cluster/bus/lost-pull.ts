// Notices a pull that ended without a word. A nats-server before 2.9.16 drops a request in silence when a record comes
// in the very moment its time is over; the client then waits for a pull that is no more until it has missed two
// heartbeats, a second in which an OTP stands still (decision 52).
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
export const promptPull = { expires: pullLastsMs, idle_heartbeat: 500 } as const;

export type PullWatch = {
  /** The client asked for records. */
  pulled(): void;
  stop(): void;
};

/** The server's timers are not exact, nor are ours. */
const graceMs = 20;
const answerWithinMs = 2_000;

/**
 * Calls `onLost` once when every pull has outlived its `lastMs` and no other was made: none is left at the server. What
 * the server sent before that has been handed over by then.
 */
export function watchPulls(bus: Bus, lastMs: number, clock: Clock, onLost: () => void): PullWatch {
  let stopped = false;
  let pulledAtMs = clock.monotonicMs();
  let cancel: Cancel = clock.after(lastMs + graceMs, () => void look());

  async function look(): Promise<void> {
    // A server answers in order, and a loop that stood still reads before this goes on: what is on its way has come.
    if (leftMs() <= 0 && bus.connected()) await answered(bus);
    if (stopped) return;
    if (leftMs() <= 0 && bus.connected()) return onLost();
    // Without a connection there is no pull: the client makes one when it is back.
    cancel = clock.after(bus.connected() ? leftMs() : lastMs, () => void look());
  }

  const leftMs = () => pulledAtMs + lastMs + graceMs - clock.monotonicMs();

  return {
    pulled: () => void (pulledAtMs = clock.monotonicMs()),
    stop() {
      stopped = true;
      cancel();
    },
  };
}

async function answered(bus: Bus): Promise<void> {
  await withDeadline('the bus', answerWithinMs, bus.connection.flush()).catch((error) =>
    ignoring(error, 'the connection is as good as lost, and will be noticed'),
  );
}

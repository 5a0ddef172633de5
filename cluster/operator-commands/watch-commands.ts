// The operator commands in effect, for a thread that serves carriers: read at the start, at each notification, and once
// a second in case a notification was lost. While NATS is away the known commands stay in effect: a stream that cannot
// be read never means "running".
import { systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { Bus } from '../bus/connect.ts';
import { streamNames } from '../bus/streams.ts';
import { commandsChangedSubject } from '../bus/subjects.ts';
import type { CarrierCommands } from './contract.ts';
import { noCommands, readCommands } from './commands.ts';

/** Resolves when all commands are known: a carrier must not send before it knows that it may. */
export async function watchCommands(bus: Bus) {
  let known: ReadonlyMap<string, CarrierCommands> = new Map();
  let seenSeq = -1;
  let looking: Promise<void> | null = null;
  let again = false;
  let stopped = false;
  let failing = false;
  let notify: (carrier: string) => void = () => {};

  async function read(): Promise<void> {
    const info = bus.manager.streams.info(streamNames.orders);
    const { state } = await withDeadline('checking for operator commands', limits.operations.callTimeoutMs, info);
    // Read before the commands: a command published in between is read again, not missed.
    if (state.last_seq === seenSeq) return;
    const next = await readCommands(bus);
    const before = known;
    known = next;
    seenSeq = state.last_seq;
    for (const carrier of new Set([...before.keys(), ...next.keys()])) {
      if (fingerprint(before.get(carrier)) !== fingerprint(next.get(carrier))) notify(carrier);
    }
  }

  function look(): void {
    again = looking !== null;
    if (again || stopped || !bus.connected()) return;
    looking = read()
      .then(() => {
        failing = false;
      })
      .catch((error: unknown) => {
        if (stopped) return ignoring(error, 'the watch of operator commands ended');
        // Logged once, not every second.
        if (!failing)
          log.warn({ error: messageOf(error) }, 'operator commands cannot be read: the known ones stay in effect');
        failing = true;
      })
      .finally(() => {
        looking = null;
        if (again) look();
      });
  }

  const registryUpdate = bus.connection.subscribe(commandsChangedSubject, { callback: () => look() });
  await read().catch((error: unknown) => {
    registryUpdate.unsubscribe();
    throw error;
  });
  const stopLooks = systemClock.every(limits.operations.lookEveryMs, look);
  return {
    of: (carrier: string) => known.get(carrier) ?? noCommands,
    /** Calls `run` with the name of a carrier whose commands changed. */
    onChange(run: (carrier: string) => void) {
      notify = run;
    },
    stop() {
      stopped = true;
      stopLooks();
      registryUpdate.unsubscribe();
    },
  };
}

const fingerprint = (commands: CarrierCommands | undefined) => commandIds(commands ?? noCommands).join();

/** The ids of the carrier's commands: threads report which ones they follow. */
export function commandIds({ carrier, binds }: CarrierCommands): string[] {
  return [...(carrier === null ? [] : [carrier.id]), ...[...binds.values()].map(({ id }) => id)].sort();
}

// The orders that stand, as a thread that serves carriers knows them: read at the start, again at every word of a new
// one, and once a second for a word that was lost. While NATS is away what was known stays in force; it never goes
// back to "running" because it cannot look.
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { Bus } from '../bus/connect.ts';
import { streamNames } from '../bus/streams.ts';
import { ordersNewsSubject } from '../bus/subjects.ts';
import type { CarrierOrders } from './contract.ts';
import { noOrders, readOrders } from './orders.ts';

export type OrdersWatch = {
  of(carrier: string): CarrierOrders;
  /** Calls `run` with a carrier's name when its orders are others than before. */
  onChange(run: (carrier: string) => void): void;
  stop(): void;
};

/** Resolves when all standing orders are known: a carrier must not send a message before it knows that it may. */
export async function watchOrders(bus: Bus, clock: Clock = systemClock): Promise<OrdersWatch> {
  let known: ReadonlyMap<string, CarrierOrders> = new Map();
  let seenSeq = -1;
  let looking: Promise<void> | null = null;
  let again = false;
  let stopped = false;
  let failing = false;
  let tell: (carrier: string) => void = () => {};

  async function read(): Promise<void> {
    const info = bus.manager.streams.info(streamNames.orders);
    const { state } = await withDeadline('looking for orders', limits.operations.callTimeoutMs, info);
    // Asked before the reading: an order that comes in between is read again, not missed.
    if (state.last_seq === seenSeq) return;
    const next = await readOrders(bus);
    const before = known;
    known = next;
    seenSeq = state.last_seq;
    for (const carrier of new Set([...before.keys(), ...next.keys()])) {
      if (fingerprint(before.get(carrier)) !== fingerprint(next.get(carrier))) tell(carrier);
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
        if (stopped) return ignoring(error, 'the watch of orders ended');
        // Said once, not once a second.
        if (!failing) log.warn({ error: messageOf(error) }, 'orders cannot be read: those known stay in force');
        failing = true;
      })
      .finally(() => {
        looking = null;
        if (again) look();
      });
  }

  const news = bus.connection.subscribe(ordersNewsSubject, { callback: () => look() });
  await read().catch((error: unknown) => {
    news.unsubscribe();
    throw error;
  });
  const stopLooks = clock.every(limits.operations.lookEveryMs, look);
  return {
    of: (carrier) => known.get(carrier) ?? noOrders,
    onChange(run) {
      tell = run;
    },
    stop() {
      stopped = true;
      stopLooks();
      news.unsubscribe();
    },
  };
}

const fingerprint = (orders: CarrierOrders | undefined) => orderIds(orders ?? noOrders).join();

/** The ids of all orders that stand for a carrier: how everybody says which they know. */
export function orderIds({ carrier, binds }: CarrierOrders): string[] {
  return [...(carrier === null ? [] : [carrier.id]), ...[...binds.values()].map(({ id }) => id)].sort();
}

// The invariant that every fault is measured by: accepted = terminal + in flight, and at the SMSC peer no nonce twice
// unless the test allows it. States come from EVENTS by the one fold, copies from the simulator's own count.
import type { Bus } from '../../cluster/bus/connect.ts';
import { decodeEvents } from '../../model/records/event-record.ts';
import { type DeliveryEvent, expandEvent } from '../../model/delivery-event.ts';
import { type MessageState, foldEvents } from '../../model/fold.ts';
import { isTerminal } from '../../model/status.ts';
import type { Simulator } from '../../smpp/simulator/simulator.ts';
import { recordsOf } from './bus.ts';

export type SentMessage = { readonly messageId: string; readonly nonce: string };

export async function eventsOf(bus: Bus): Promise<DeliveryEvent[]> {
  return (await recordsOf(bus, 'EVENTS')).flatMap((record) => decodeEvents(record.data));
}

export async function statesOf(bus: Bus): Promise<Map<string, MessageState>> {
  const byMessage = Map.groupBy(await eventsOf(bus), (event) => event.messageId);
  const states = new Map<string, MessageState>();
  for (const [messageId, events] of byMessage) {
    const state = foldEvents(events.flatMap(expandEvent));
    if (state !== null) states.set(messageId, state);
  }
  return states;
}

/** Messages that the SMSC peer never had and that are not reported as unknown: silent losses. */
export async function silentlyLost(
  bus: Bus,
  sent: readonly SentMessage[],
  { never }: Pick<Account, 'never'>,
): Promise<readonly SentMessage[]> {
  const states = await statesOf(bus);
  const neverCame = new Set(never);
  return sent.filter(({ messageId, nonce }) => neverCame.has(nonce) && states.get(messageId)?.status !== 'unknown');
}

export type Account = {
  /** How many of the accepted messages are in which status; `none` has no event yet. */
  readonly statuses: Readonly<Record<string, number>>;
  readonly terminal: number;
  /** Nonces the SMSC peer counted more than once, and never. */
  readonly twice: readonly string[];
  readonly never: readonly string[];
};

export async function account(bus: Bus, simulator: Simulator, sent: readonly SentMessage[]): Promise<Account> {
  const states = await statesOf(bus);
  const statuses: Record<string, number> = {};
  let terminal = 0;
  for (const { messageId } of sent) {
    const status = states.get(messageId)?.status ?? 'none';
    statuses[status] = (statuses[status] ?? 0) + 1;
    if (status !== 'none' && isTerminal(status)) terminal += 1;
  }
  return {
    statuses,
    terminal,
    twice: sent.filter(({ nonce }) => simulator.nonceCount(nonce) > 1).map(({ nonce }) => nonce),
    never: sent.filter(({ nonce }) => simulator.nonceCount(nonce) === 0).map(({ nonce }) => nonce),
  };
}

/**
 * Which messages have ended, by EVENTS. It reads each record once, however often a test looks: most tests look until
 * the last of thousands has ended.
 */
export class EndedMessages {
  #made = '';
  #nextSeq = 1;
  readonly #events = new Map<string, DeliveryEvent[]>();
  readonly #ended = new Set<string>();

  async include(bus: Bus, sent: readonly SentMessage[]): Promise<boolean> {
    await this.#read(bus);
    return sent.every(({ messageId }) => this.#ended.has(messageId));
  }

  async #read(bus: Bus): Promise<void> {
    const { created, state } = await bus.manager.streams.info('EVENTS');
    if (String(created) !== this.#made || state.last_seq < this.#nextSeq - 1) {
      this.#made = String(created);
      this.#nextSeq = 1;
      this.#events.clear();
      this.#ended.clear();
    }
    if (state.last_seq < this.#nextSeq) return;
    const changed = new Set<string>();
    for (const { seq, data } of await recordsOf(bus, 'EVENTS', '>', this.#nextSeq)) {
      this.#nextSeq = seq + 1;
      for (const event of decodeEvents(data)) {
        changed.add(event.messageId);
        this.#events.set(event.messageId, [...(this.#events.get(event.messageId) ?? []), event]);
      }
    }
    for (const messageId of changed) {
      const folded = foldEvents((this.#events.get(messageId) ?? []).flatMap(expandEvent));
      if (folded !== null && isTerminal(folded.status)) this.#ended.add(messageId);
      else this.#ended.delete(messageId);
    }
  }
}

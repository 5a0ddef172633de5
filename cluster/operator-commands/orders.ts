// Orders as records of the stream ORDERS: one publish is at once what is in force (the last record of its subject) and
// what the audit log will say, so that neither can be without the other. No database is needed for it. Pure but for
// giveOrder, readOrders and their bus.
import type { StoredMsg } from '@nats-io/jetstream';
import { type AuditId, newAuditId } from '../../model/ids.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { RejectMessage, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { Bus } from '../bus/connect.ts';
import { streamNames } from '../bus/streams.ts';
import { orderSubject, ordersNewsSubject } from '../bus/subjects.ts';
import type { CarrierOrders, Order, OrderVerb, Ordered } from './contract.ts';

const verbs: readonly OrderVerb[] = ['pause', 'drain', 'resume'];
export const noOrders: CarrierOrders = { carrier: null, binds: new Map() };

export const orderedBy = (order: Order | null | undefined): Ordered =>
  order === null || order === undefined ? 'running' : comesTo[order.verb];

const comesTo = { pause: 'paused', drain: 'drained', resume: 'running' } as const;
const strictness: readonly Ordered[] = ['running', 'paused', 'drained'];

/** What a bind is to be: its own order and its carrier's, the stricter of them. */
export function orderedOfBind(orders: CarrierOrders, bind: number): Ordered {
  const [own, carriers] = [orderedBy(orders.binds.get(bind)), orderedBy(orders.carrier)];
  return strictness.indexOf(own) > strictness.indexOf(carriers) ? own : carriers;
}

export type NewOrder = Pick<Order, 'verb' | 'carrier' | 'bind' | 'reason' | 'actor' | 'from'>;

/** Resolves when the order is durable; those who serve the carrier hear of it at once. Rejects when unsure. */
export async function giveOrder(bus: Bus, given: NewOrder, clock: Clock = systemClock): Promise<Order> {
  const atMs = clock.nowMs();
  const order: Order = { v: 1, id: newAuditId(atMs), atMs, ...given };
  const publish = () =>
    withDeadline(
      'the order',
      limits.operations.callTimeoutMs,
      bus.jetstream.publish(orderSubject(order.carrier, order.bind), JSON.stringify(order), { msgID: order.id }),
    );
  // A lost answer is no lost order: the id makes the second publish harmless.
  await publish().catch(publish);
  bus.connection.publish(ordersNewsSubject, order.carrier);
  return order;
}

/** Every order that stands, by carrier. */
export async function readOrders(bus: Bus): Promise<ReadonlyMap<string, CarrierOrders>> {
  const call = <T>(work: Promise<T>) => withDeadline('reading orders', limits.operations.callTimeoutMs, work);
  const { state } = await call(bus.manager.streams.info(streamNames.orders, { subjects_filter: 'ops.>' }));
  const subjects = Object.keys(state.subjects ?? {});
  const stored = await Promise.all(
    subjects.map((subject) => call(bus.manager.streams.getMessage(streamNames.orders, { last_by_subj: subject }))),
  );
  const all = new Map<string, { carrier: Order | null; binds: Map<number, Order> }>();
  for (const record of stored) {
    const order = record === null ? null : readable(record);
    if (order === null) continue;
    const of = all.get(order.carrier) ?? { carrier: null, binds: new Map<number, Order>() };
    all.set(order.carrier, of);
    if (order.bind === null) of.carrier = order;
    else of.binds.set(order.bind, order);
  }
  return all;
}

/** One that cannot be read is not in force, and must not keep the others from being read. */
function readable({ data, seq, subject }: StoredMsg): Order | null {
  try {
    return decodeOrder(data);
  } catch (error) {
    log.error({ alarm: 'order_unreadable', seq, subject, error: messageOf(error) }, 'an order cannot be read');
    return null;
  }
}

/** Throws RejectMessage('poison_record') for what is no order of this version. */
export function decodeOrder(octets: Uint8Array): Order {
  try {
    const read = JSON.parse(Buffer.from(octets).toString('utf8')) as Record<keyof Order, unknown>;
    const { v, id, atMs, verb, carrier, bind, reason, actor, from } = read;
    const isSound =
      v === 1 &&
      [id, carrier, reason, actor, from].every((each) => typeof each === 'string') &&
      Number.isInteger(atMs) &&
      verbs.includes(verb as OrderVerb) &&
      (bind === null || (Number.isInteger(bind) && (bind as number) > 0));
    if (!isSound) throw new Error('a field is missing or has another kind of value');
    return {
      v: 1,
      id: id as AuditId,
      atMs: atMs as number,
      verb: verb as OrderVerb,
      carrier: carrier as string,
      bind: bind as number | null,
      reason: reason as string,
      actor: actor as string,
      from: from as string,
    };
  } catch (error) {
    throw new RejectMessage('poison_record', `not a readable order: ${messageOf(error)}`);
  }
}

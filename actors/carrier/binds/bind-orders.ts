// What operators ordered of a carrier's binds, brought about: a paused bind takes no submit and keeps its session, a
// drained one lets what is out be answered and unbinds, one that runs again is woken. Receivers go last, so that the
// receipts of what was answered meanwhile still come in. It gives no order and sends nothing.
import type { CarrierOrders, Order, Ordered } from '../../../cluster/operator-commands/contract.ts';
import { orderedBy, orderedOfBind } from '../../../cluster/operator-commands/orders.ts';
import type { BindGate } from '../submit/bind-gate.ts';

export type OrderedBind<T> = {
  readonly type: 'transceiver' | 'transmitter' | 'receiver';
  readonly gate: Pick<BindGate<T>, 'rest' | 'wake' | 'retry'>;
  ordered: Ordered;
};

/** Longer than any answer is waited for: a submit ends with its answer or as unknown, never with the session. */
const marginMs = 1_000;

export class BindOrders<T> {
  readonly #binds: readonly OrderedBind<T>[];
  readonly #drainMs: number;
  #orders: CarrierOrders = { carrier: null, binds: new Map() };

  constructor(binds: readonly OrderedBind<T>[], responseTimerMs: number) {
    this.#binds = binds;
    this.#drainMs = responseTimerMs + marginMs;
  }

  get orders(): CarrierOrders {
    return this.#orders;
  }

  /** Of the carrier as a whole: it submits nothing when none of its binds may. */
  get ordered(): Ordered {
    const whole = orderedBy(this.#orders.carrier);
    if (whole !== 'running') return whole;
    const submitting = this.#binds.filter((bind) => bind.type !== 'receiver');
    if (submitting.length === 0 || submitting.some((bind) => bind.ordered === 'running')) return 'running';
    return submitting.every((bind) => bind.ordered === 'drained') ? 'drained' : 'paused';
  }

  take(orders: CarrierOrders): void {
    const before = this.#orders;
    this.#orders = orders;
    const draining: Promise<void>[] = [];
    const receivers: OrderedBind<T>[] = [];
    for (const [index, bind] of this.#binds.entries()) {
      const next = orderedOfBind(orders, index + 1);
      const was = bind.ordered;
      bind.ordered = next;
      if (was === 'drained' && next !== 'drained') bind.gate.wake();
      if (next === 'drained' && was !== 'drained') {
        if (bind.type === 'receiver') receivers.push(bind);
        else draining.push(bind.gate.rest(whyDrained, this.#drainMs));
      }
      const resumes =
        isNewResume(before.carrier, orders.carrier) ||
        isNewResume(before.binds.get(index + 1), orders.binds.get(index + 1));
      if (resumes && next === 'running') bind.gate.retry();
    }
    if (receivers.length > 0) void this.#restReceivers(draining, receivers);
  }

  async #restReceivers(draining: Promise<void>[], receivers: OrderedBind<T>[]): Promise<void> {
    await Promise.all(draining);
    for (const bind of receivers) if (bind.ordered === 'drained') void bind.gate.rest(whyDrained, this.#drainMs);
  }
}

const whyDrained = 'drained by an operator';

function isNewResume(before: Order | null | undefined, after: Order | null | undefined): boolean {
  return after?.verb === 'resume' && after.id !== before?.id;
}

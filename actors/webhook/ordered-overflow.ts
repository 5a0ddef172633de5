// Events of an endpoint with an order (`per_message`) for which their account's share of WEBHOOKS was used up. In the line of the
// endpoint at once they would be sent before events that are still in WEBHOOKS. So they wait here until everything has left
// WEBHOOKS that was there before them, which needs no answer of the receiver, and what comes later for the endpoint waits behind
// them. Not durable: the process that reads their events next puts them again.
import type { Bus } from '../../cluster/bus/connect.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { webhookSubject } from '../../cluster/bus/subjects.ts';
import type { AccountId, WebhookEndpointId } from '../../model/ids.ts';
import type { WebhookRecord } from '../../model/records/webhook-record.ts';
import type { Cancel, Clock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { ParkedLog } from './delivery/parked-log.ts';

const { overflowLookMs, overflowMax, answerMs } = limits.delivery;
const stream = streamNames.webhooks;

type Waiting = { readonly record: WebhookRecord; readonly done: () => void };
type Overflow = {
  readonly accountId: AccountId;
  readonly waiting: Waiting[];
  /** Up to here WEBHOOKS has what was put before them; null: not asked yet. */
  lastSeq: number | null;
};

export class OrderedOverflow {
  readonly #bus: Bus;
  readonly #parked: ParkedLog;
  readonly #clock: Clock;
  readonly #of = new Map<WebhookEndpointId, Overflow>();
  #count = 0;
  #cancelLook: Cancel | null = null;
  #isStopped = false;
  /** Called when some have left. */
  onLeft: () => void = () => {};

  constructor(bus: Bus, parked: ParkedLog, clock: Clock) {
    this.#bus = bus;
    this.#parked = parked;
    this.#clock = clock;
  }

  get hasRoom(): boolean {
    return this.#count < overflowMax;
  }

  /** What comes for this endpoint has to wait behind others. */
  has(endpointId: WebhookEndpointId): boolean {
    return this.#of.has(endpointId);
  }

  /** `done` when it is in the line. */
  add(accountId: AccountId, record: WebhookRecord, done: () => void): void {
    const overflow = this.#of.get(record.endpointId) ?? { accountId, waiting: [], lastSeq: null };
    this.#of.set(record.endpointId, overflow);
    overflow.waiting.push({ record, done });
    this.#count += 1;
    this.#lookLater();
  }

  stop(): void {
    this.#isStopped = true;
    this.#cancelLook?.();
  }

  #lookLater(): void {
    if (this.#isStopped || this.#cancelLook !== null || this.#of.size === 0) return;
    this.#cancelLook = this.#clock.after(overflowLookMs, () => void this.#look());
  }

  async #look(): Promise<void> {
    for (const [endpointId, overflow] of this.#of) {
      try {
        if (await this.#isBehind(endpointId, overflow)) this.#move(endpointId, overflow);
      } catch (error) {
        ignoring(error, 'WEBHOOKS is asked again in a moment');
      }
    }
    this.#cancelLook = null;
    this.#lookLater();
  }

  /** Whether all that was put before has left WEBHOOKS. */
  async #isBehind(endpointId: WebhookEndpointId, overflow: Overflow): Promise<boolean> {
    const { streams } = this.#bus.manager;
    const answered = <T>(asked: Promise<T>) => withDeadline('the queue of webhooks', answerMs, asked, this.#clock);
    overflow.lastSeq ??= (await answered(streams.info(stream))).state.last_seq;
    const query = { seq: 1, next_by_subj: webhookSubject(endpointId, overflow.accountId) };
    const first = await answered(streams.getMessage(stream, query));
    return first === null || first.seq > overflow.lastSeq;
  }

  #move(endpointId: WebhookEndpointId, { accountId, waiting }: Overflow): void {
    if (this.#isStopped) return;
    this.#of.delete(endpointId);
    this.#count -= waiting.length;
    // They count as parked at once: what is put into WEBHOOKS from now on is parked behind them.
    for (const { record, done } of waiting) this.#parked.park(accountId, record, done);
    this.onLeft();
  }
}

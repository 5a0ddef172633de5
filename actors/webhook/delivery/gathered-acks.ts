// Acks of WEBHOOKS, in their order, several in one write: a write to the socket costs as much as a request's signature.
// What is not acked when the process is killed is sent again, as after any lost answer.
import type { JsMsg } from '@nats-io/jetstream';
import type { Cancel, Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';

export class GatheredAcks {
  readonly #clock: Clock;
  readonly #acked: (seq: number) => void;
  #gathered: JsMsg[] = [];
  #cancel: Cancel | null = null;

  /** `acked` is called for each record when its ack goes out. */
  constructor(clock: Clock, acked: (seq: number) => void) {
    this.#clock = clock;
    this.#acked = acked;
  }

  add(msg: JsMsg): void {
    this.#gathered.push(msg);
    this.#cancel ??= this.#clock.after(limits.delivery.gatherMs, () => this.flush());
  }

  flush(): void {
    this.#cancel?.();
    this.#cancel = null;
    const all = this.#gathered;
    this.#gathered = [];
    for (const msg of all) {
      this.#acked(msg.seq);
      msg.ack();
    }
  }
}

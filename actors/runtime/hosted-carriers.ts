// The carriers of one host thread: started together, and brought to a changed configuration one after the other. A
// change a running actor can take is handed to it; any other drains that one actor and starts it anew, while its
// siblings go on. It never takes a carrier away: reload.ts has refused that before it gets here.
import type { CarrierConfig } from '../../cluster/config/configuration.ts';
import { isLiveChange } from '../../cluster/config/reload.ts';
import type { CarrierOrders, CarrierReport } from '../../cluster/operations/contract.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { CarrierActor } from '../carrier/carrier-actor.ts';
import type { MoveRules } from '../carrier/health/health-decision.ts';
import type { CarrierStatus } from '../contract.ts';

export type NewActor = (carrier: CarrierConfig, moves: MoveRules) => CarrierActor;

type Hosted = { carrier: CarrierConfig; actor: CarrierActor };

export class HostedCarriers {
  readonly #newActor: NewActor;
  readonly #hosted = new Map<string, Hosted>();
  /** Changes and the drain wait for each other. */
  #work: Promise<void> = Promise.resolve();
  #draining = false;

  constructor(newActor: NewActor) {
    this.#newActor = newActor;
  }

  get status(): CarrierStatus[] {
    return [...this.#hosted.values()].map(({ actor }) => actor.status);
  }

  get reports(): CarrierReport[] {
    return [...this.#hosted.values()].map(({ actor }) => actor.report);
  }

  /** What operators order of a carrier from now on; one that is not here is somebody else's. */
  order(carrier: string, orders: CarrierOrders): void {
    this.#hosted.get(carrier)?.actor.order(orders);
  }

  /** Rejects when one of them cannot start: then the thread cannot do its work. */
  start(carriers: readonly CarrierConfig[], moves: MoveRules): Promise<void> {
    this.#work = Promise.all(carriers.map((carrier) => this.#begin(carrier, moves))).then(() => {});
    return this.#work;
  }

  /** Resolves when all of it is in force. A carrier that cannot start anew takes the thread with it, to be restarted. */
  configure(carriers: readonly CarrierConfig[], moves: MoveRules): Promise<void> {
    this.#work = this.#work.then(async () => {
      for (const carrier of carriers) {
        if (this.#draining) return;
        await this.#bring(carrier, moves);
      }
    });
    return this.#work;
  }

  async drain(deadlineMs: number): Promise<void> {
    this.#draining = true;
    await this.#work.catch((error: unknown) =>
      log.warn({ error: messageOf(error) }, 'drained in the middle of a change'),
    );
    await Promise.all([...this.#hosted.values()].map(({ actor }) => actor.drain(deadlineMs)));
  }

  async #bring(carrier: CarrierConfig, moves: MoveRules): Promise<void> {
    const hosted = this.#hosted.get(carrier.name);
    if (hosted === undefined) return this.#begin(carrier, moves);
    if (isLiveChange(hosted.carrier, carrier)) {
      hosted.carrier = carrier;
      return hosted.actor.configure(carrier, moves);
    }
    log.info({ carrier: carrier.name }, 'the carrier is drained and started with its new configuration');
    await hosted.actor.drain(limits.configuration.carrierDrainMs);
    await this.#begin(carrier, moves);
  }

  async #begin(carrier: CarrierConfig, moves: MoveRules): Promise<void> {
    const actor = this.#newActor(carrier, moves);
    this.#hosted.set(carrier.name, { carrier, actor });
    await actor.start();
  }
}

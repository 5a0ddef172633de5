// Chooses the one node that serves a removed carrier: the holder of its lease, like the lease of a bind (actors/lease).
// Two nodes would act on what each read at its start: a message that one had moved and could not ack, the other would
// move again when the stream has forgotten the first.
import { systemClock } from '../../platform/clock.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { BindLeases, LeaseHandlers, ServedCarrier } from '../lease/contract.ts';
import { bindKey } from '../lease/lease-records.ts';
import type { RemovedCarrier } from './removed-carriers.ts';

export type ServingRemoved = RemovedCarrier & {
  /** Another node may serve it from now on: nothing more is published. */
  cut(): void;
};

export class ServedByOne implements RemovedCarrier {
  readonly #begin: () => Promise<ServingRemoved>;
  readonly #carrier: string;
  readonly #served: ServedCarrier;
  #isOurs = false;
  /** Counts calls of cut(): what began before one must not continue. */
  #cuts = 0;
  #running: ServingRemoved | null = null;
  #settling: Promise<void> | null = null;

  constructor(leases: BindLeases, carrier: string, begin: () => Promise<ServingRemoved>) {
    this.#begin = begin;
    this.#carrier = carrier;
    // No carrier's name begins with an underscore: a node that still has it configured uses other leases.
    const name = `_removed-${carrier}`;
    const bind = { key: bindKey(name, [], 1), name: `${carrier} (removed)`, submits: true, local: false };
    this.#served = leases.serve(name, [bind], this.#handlers);
    this.#served.ready();
  }

  /** Waits for what is in progress, then frees the lease. */
  async stop(): Promise<void> {
    this.#isOurs = false;
    await this.#settle();
    await this.#served.close();
  }

  readonly #handlers: LeaseHandlers = {
    onGranted: () => this.#have(),
    onUnfenced: () => this.#have(),
    onFenced: () => this.#cut(),
    onLost: () => this.#cut(),
    onHandOver: () => {
      this.#isOurs = false;
      return this.#settle();
    },
  };

  #have(): void {
    this.#isOurs = true;
    void this.#settle();
  }

  #cut(): void {
    this.#isOurs = false;
    this.#cuts += 1;
    this.#running?.cut();
    void this.#settle();
  }

  #settle(): Promise<void> {
    this.#settling ??= this.#follow().finally(() => {
      this.#settling = null;
      if (this.#isOurs !== (this.#running !== null)) void this.#settle();
    });
    return this.#settling;
  }

  async #follow(): Promise<void> {
    while (this.#isOurs !== (this.#running !== null)) {
      const running = this.#running;
      if (running !== null) {
        this.#running = null;
        await running.stop();
        continue;
      }
      const cuts = this.#cuts;
      try {
        const begun = await this.#begin();
        if (cuts !== this.#cuts) begun.cut();
        this.#running = begun;
        // Lost and regained meanwhile: what began under the previous lease has missed the time between.
        if (cuts !== this.#cuts) {
          this.#running = null;
          await begun.stop();
        }
      } catch (error) {
        log.warn({ carrier: this.#carrier, error: messageOf(error) }, 'a removed carrier cannot be served yet');
        await systemClock.sleep(limits.removedCarriers.lookSoonMs);
      }
    }
  }
}

/** A node without removed carriers needs no such leases, and writes nothing to the bucket. */
export function leasesWhenNeeded(open: () => Promise<BindLeases>): {
  open(): Promise<BindLeases>;
  close(): Promise<void>;
} {
  let opened: Promise<BindLeases> | null = null;
  return {
    open() {
      opened ??= open().catch((error: unknown) => {
        opened = null;
        throw error;
      });
      return opened;
    },
    async close() {
      await opened?.then((leases) => leases.close());
    },
  };
}

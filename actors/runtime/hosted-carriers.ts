// The carriers of one host thread: started together, reconfigured one after the other. A change that a running actor
// can apply is given to it; any other drains and restarts that actor while the others run. It never removes a carrier:
// reload.ts refuses that.
import type { CarrierConfig } from '../../config/configuration.ts';
import { carrierDrainMs } from '../../config/drain-times.ts';
import { isLiveChange } from '../../config/reload.ts';
import type { CarrierCommands, CarrierReport } from '../../cluster/operator-commands/contract.ts';
import { systemClock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { CarrierActor } from '../carrier/carrier-actor.ts';
import type { FailoverPolicy } from '../carrier/failover/health-decision.ts';
import type { CarrierStatus } from '../contract.ts';

export type NewActor = (carrier: CarrierConfig, moves: FailoverPolicy) => CarrierActor;

/** `started` is pending while the carrier still reads its events. */
type Hosted = { carrier: CarrierConfig; actor: CarrierActor; started: Promise<void> };

const eventsLookMs = 50;

export class HostedCarriers {
  readonly #newActor: NewActor;
  readonly #hosted = new Map<string, Hosted>();
  /** Changes and the drain wait for each other. */
  #work: Promise<void> = Promise.resolve();
  #draining = false;
  /** Drained for a change. */
  readonly #leaving = new Set<Hosted>();
  readonly #failed = Promise.withResolvers<never>();

  constructor(newActor: NewActor) {
    this.#newActor = newActor;
    this.#failed.promise.catch((error: unknown) => ignoring(error, 'reported to the caller that waits for it'));
  }

  /** Rejects when a carrier that was still reading cannot start after all: then the thread cannot do its work. */
  get failed(): Promise<never> {
    return this.#failed.promise;
  }

  get status(): CarrierStatus[] {
    return [...this.#hosted.values()].map(({ actor }) => actor.status);
  }

  get reports(): CarrierReport[] {
    return [...this.#hosted.values()].map(({ actor }) => actor.report);
  }

  /** Operator commands of a carrier from now on; one that is not here belongs to another thread. */
  command(carrier: string, commands: CarrierCommands): void {
    this.#hosted.get(carrier)?.actor.command(commands);
  }

  /** Rejects when one of them cannot start: then the thread cannot do its work. */
  start(carriers: readonly CarrierConfig[], moves: FailoverPolicy): Promise<void> {
    this.#work = Promise.all(carriers.map((carrier) => this.#begin(carrier, moves))).then(() => {});
    return this.#work;
  }

  /** Resolves when all of it is in effect. A carrier that cannot restart ends the thread, which is restarted. */
  configure(carriers: readonly CarrierConfig[], moves: FailoverPolicy): Promise<void> {
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
    const changed = this.#work.catch((error: unknown) =>
      log.warn({ error: messageOf(error) }, 'drained in the middle of a change'),
    );
    // One that is drained for a change is not restarted here.
    const others = [...this.#hosted.values()].filter((each) => !this.#leaving.has(each));
    const each = others.map(async ({ actor, started }) => {
      actor.endStart();
      await started.catch((error: unknown) => ignoring(error, 'it had not begun'));
      await actor.drain(deadlineMs);
    });
    await Promise.all([changed, ...each]);
  }

  async #bring(carrier: CarrierConfig, moves: FailoverPolicy): Promise<void> {
    const hosted = this.#hosted.get(carrier.name);
    if (hosted === undefined) return this.#begin(carrier, moves);
    if (isLiveChange(hosted.carrier, carrier)) {
      hosted.carrier = carrier;
      return hosted.actor.configure(carrier, moves);
    }
    log.info({ carrier: carrier.name }, 'the carrier is drained and started with its new configuration');
    this.#leaving.add(hosted);
    hosted.actor.endStart();
    await hosted.started.catch((error: unknown) => ignoring(error, 'it is restarted'));
    await hosted.actor.drain(carrierDrainMs(hosted.carrier));
    // With the bus down some may come later. The next incarnation reads EVENTS at its start, and must not miss them.
    while (hosted.actor.eventsHeld > 0 && !this.#draining) await systemClock.sleep(eventsLookMs);
    this.#leaving.delete(hosted);
    if (this.#draining) this.#hosted.delete(carrier.name);
    else await this.#begin(carrier, moves);
  }

  async #begin(carrier: CarrierConfig, moves: FailoverPolicy): Promise<void> {
    const actor = this.#newActor(carrier, moves);
    const started = actor.start();
    const hosted = { carrier, actor, started };
    this.#hosted.set(carrier.name, hosted);
    const late = new AbortController();
    const waiting = systemClock.sleep(limits.carrier.startWaitMs, late.signal).then(
      () => true,
      () => false,
    );
    const isLate = await Promise.race([started.then(() => false), waiting]).finally(() => late.abort());
    if (!isLate) return;
    // The other carriers have work: the thread is ready without it.
    log.warn({ carrier: carrier.name }, 'the carrier still reads its events: it accepts work when it has read them');
    started.catch((error: unknown) => {
      if (!this.#draining && this.#hosted.get(carrier.name) === hosted) this.#failed.reject(error);
    });
  }
}

// Finds carriers that are in the streams and not in the configuration. An actor without binds moves or ends what waits
// for them (removed-carrier.ts); then their consumers are deleted, because one with unacked records keeps EVENTS from
// being purged. A carrier that any node still serves is left alone.
import type { ConsumerInfo } from '@nats-io/jetstream';
import type { Bus } from '../../cluster/bus/connect.ts';
import { carrierHealth, removedWhy } from '../../cluster/bus/carrier-heartbeat.ts';
import { dropConsumer } from '../../cluster/bus/ensure.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';

/** Serves one removed carrier until it is stopped. */
export type RemovedCarrier = { stop(): Promise<void> };

export type RemovedCarriersOptions = {
  readonly bus: Bus;
  /** As it is configured now. */
  readonly isConfigured: (carrier: string) => boolean;
  readonly serve: (carrier: string) => Promise<RemovedCarrier>;
  /** For how long no node may have served it: 0 on a single node. */
  readonly unservedMs: number;
  readonly clock?: Clock;
};

type Found = { waiting: number; consumers: { readonly stream: string; readonly name: string }[] };

const streams = [...Object.values(streamNames.messages), streamNames.inbound];
const { lookEveryMs, lookSoonMs, callMs } = limits.removedCarriers;

export class RemovedCarriers {
  readonly #options: RemovedCarriersOptions;
  readonly #clock: Clock;
  readonly #serving = new Map<string, RemovedCarrier>();
  /** When a node that serves it last sent a heartbeat. */
  readonly #servedAtMs = new Map<string, number>();
  readonly #beganAtMs: number;
  readonly #cancels: Cancel[] = [];
  #looking: Promise<void> = Promise.resolve();
  #soon: Cancel | null = null;
  #stopped = false;

  constructor(options: RemovedCarriersOptions) {
    this.#options = options;
    this.#clock = options.clock ?? systemClock;
    this.#beganAtMs = this.#clock.monotonicMs();
    const stopWatching = carrierHealth.watch(options.bus, ({ carrier, why }) => {
      if (why === removedWhy || options.isConfigured(carrier)) return;
      if (this.#servedAtMs.size < limits.heartbeats.carriersMax || this.#servedAtMs.has(carrier))
        this.#servedAtMs.set(carrier, this.#clock.monotonicMs());
    });
    this.#cancels.push(stopWatching);
  }

  start(): void {
    void this.look();
    this.#cancels.push(this.#clock.every(lookEveryMs, () => void this.look()));
  }

  /** A record arrived for a carrier that is not configured: checks without waiting for the timer. */
  lookSoon(): void {
    if (this.#soon !== null || this.#stopped) return;
    this.#soon = this.#clock.after(lookSoonMs, () => {
      this.#soon = null;
      void this.look();
    });
  }

  /** Resolves when what it found is handled. */
  look(): Promise<void> {
    this.#looking = this.#looking
      .then(() => this.#look())
      .catch((error: unknown) =>
        log.warn({ error: messageOf(error) }, 'carriers that are not configured cannot be looked for now'),
      );
    return this.#looking;
  }

  async stop(): Promise<void> {
    this.#stopped = true;
    for (const cancel of this.#cancels) cancel();
    this.#soon?.();
    await this.#looking;
    await Promise.all([...this.#serving.values()].map((each) => each.stop()));
  }

  async #look(): Promise<void> {
    if (this.#stopped) return;
    const found = await this.#find();
    metrics.removedCarrierRecords.reset();
    for (const [carrier, { waiting, consumers }] of found) {
      metrics.removedCarrierRecords.set({ carrier }, waiting);
      if (this.#isServed(carrier)) await this.#end(carrier);
      else if (waiting > 0) await this.#begin(carrier, waiting);
      else await this.#forget(carrier, consumers);
    }
  }

  /** By carrier that is not configured: its waiting records, delivered or not, and its consumers. */
  async #find(): Promise<ReadonlyMap<string, Found>> {
    const found = new Map<string, Found>();
    const of = (carrier: string): Found => {
      const known = found.get(carrier) ?? { waiting: 0, consumers: [] };
      found.set(carrier, known);
      return known;
    };
    const isRemoved = (carrier: string | undefined): carrier is string =>
      carrier !== undefined && !this.#options.isConfigured(carrier);
    for (const stream of streams) {
      const { manager } = this.#options.bus;
      const isInbound = stream === streamNames.inbound;
      const filter = isInbound ? 'mo.*' : '>';
      const info = await withDeadline(stream, callMs, manager.streams.info(stream, { subjects_filter: filter }));
      for (const [subject, count] of Object.entries(info.state.subjects ?? {})) {
        const carrier = subject.split('.')[isInbound ? 1 : 2];
        if (isRemoved(carrier)) of(carrier).waiting += count;
      }
      const consumers = manager.consumers.list(stream);
      for (let page = await next(consumers); page.length > 0; page = await next(consumers)) {
        for (const { name } of page) {
          // carrier_<carrier>_<what>; no carrier's name has an underscore.
          const [kind, carrier] = name.split('_');
          if (kind === 'carrier' && isRemoved(carrier)) of(carrier).consumers.push({ stream, name });
        }
      }
    }
    return found;
  }

  #isServed(carrier: string): boolean {
    const lastMs = Math.max(this.#servedAtMs.get(carrier) ?? Number.NEGATIVE_INFINITY, this.#beganAtMs);
    return this.#clock.monotonicMs() - lastMs < this.#options.unservedMs;
  }

  async #begin(carrier: string, waiting: number): Promise<void> {
    if (this.#serving.has(carrier) || this.#stopped) return;
    log.warn(
      { alarm: 'removed_carrier', carrier, waiting },
      'the carrier is not configured and records wait for it: they go to other carriers by today’s routes, or end',
    );
    this.#serving.set(carrier, await this.#options.serve(carrier));
  }

  async #end(carrier: string): Promise<void> {
    const serving = this.#serving.get(carrier);
    if (serving === undefined) return;
    this.#serving.delete(carrier);
    await serving.stop();
  }

  async #forget(carrier: string, consumers: Found['consumers']): Promise<void> {
    await this.#end(carrier);
    for (const { stream, name } of consumers) await dropConsumer(this.#options.bus.manager, stream, name);
    log.info(
      { carrier, consumers: consumers.length },
      'nothing waits for the removed carrier: its consumers are deleted',
    );
  }
}

function next(pages: { next(): Promise<ConsumerInfo[]> }): Promise<ConsumerInfo[]> {
  return withDeadline('a page of consumers', callMs, pages.next());
}

// The binds this thread holds: claims its share and releases what another node lacks. A claim is a compare-and-set on
// the lease's last revision, and only of a lease that was released or whose holder was declared dead, which is a
// compare-and-set on that holder's last heartbeat. So no lease is taken from a holder that sends heartbeats, and one
// that cannot has fenced itself more than a second before (limits-processes.ts).
import { LeaseBucket, type LeaseStore } from './lease-bucket.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { BindLeases, LeaseHandlers, LeasedBind, ServedCarrier } from './contract.ts';
import { assignBinds } from './assignment.ts';
import { LeaseCache } from './lease-cache.ts';
import { LeaseFailureDetector } from './lease-failure-detector.ts';
import { LeaseHolder, type LeaseIdentity } from './lease-holder.ts';
import { LeaseWatch } from './lease-watch.ts';
import { heartbeatKey, encodeRecord } from './lease-records.ts';

type Held = { readonly revision: number; leaving: boolean };

type Carrier = {
  readonly name: string;
  readonly binds: readonly LeasedBind[];
  readonly on: LeaseHandlers;
  readonly held: Map<string, Held>;
  /** Claims in progress. */
  readonly claiming: Set<string>;
  elsewhere: ReadonlyMap<string, string>;
  ready: boolean;
};

export async function openLeases(
  bus: Bus,
  identity: LeaseIdentity,
  replicas = 1,
  clock: Clock = systemClock,
  takesWork: () => boolean = () => true,
): Promise<LeaseKeeper> {
  const keeper = new LeaseKeeper(new LeaseBucket(bus, replicas), identity, clock, takesWork);
  await keeper.start();
  return keeper;
}

export class LeaseKeeper implements BindLeases {
  readonly shared = true;
  readonly node: string;
  readonly #bucket: LeaseStore;
  readonly #clock: Clock;
  readonly #takesWork: () => boolean;
  readonly #identity: LeaseIdentity;
  readonly #cache = new LeaseCache();
  readonly #holder: LeaseHolder;
  readonly #watch: LeaseWatch;
  readonly #carriers = new Map<string, Carrier>();
  readonly #failureDetector: LeaseFailureDetector;
  #fenced = false;
  /** Since when the bucket accepts our heartbeats again. */
  #backAtMs = Number.NEGATIVE_INFINITY;
  #lookAsked = false;
  #stopLooks: Cancel = () => {};
  #closed = false;
  #isSomethingLeft = false;

  /** `takesWork`: false while this node must hold no bind, though it runs. */
  constructor(bucket: LeaseStore, identity: LeaseIdentity, clock: Clock, takesWork: () => boolean = () => true) {
    this.#takesWork = takesWork;
    this.#bucket = bucket;
    this.#clock = clock;
    this.#identity = identity;
    this.node = identity.node;
    const parts = { bucket, cache: this.#cache, clock, identity };
    this.#holder = new LeaseHolder({
      ...parts,
      carriers: () =>
        takesWork() ? [...this.#carriers.values()].filter(({ ready }) => ready).map(({ name }) => name) : [],
      onLost: (why) => this.#onLost(why),
    });
    this.#failureDetector = new LeaseFailureDetector({ ...parts, onEnded: () => this.#askLook() });
    this.#watch = new LeaseWatch({ ...parts, holder: this.#holder, onChange: () => this.#askLook() });
  }

  async start(): Promise<void> {
    await this.#openWatch();
    await this.#failureDetector.expirePreviousIncarnations();
    this.#holder.look();
    this.#stopLooks = this.#clock.every(limits.leases.lookEveryMs, () => this.#look());
  }

  async #openWatch(): Promise<void> {
    for (let tried = 1; ; tried += 1) {
      try {
        return await this.#watch.open();
      } catch (error) {
        if (tried === limits.leases.watchTriesMax) throw error;
        log.warn({ tried, error: messageOf(error) }, 'the leases cannot be watched yet, trying again');
      }
    }
  }

  epoch(): number {
    return this.#holder.epoch;
  }

  mayWrite(): boolean {
    return this.#clock.monotonicMs() < this.#holder.validUntilMs;
  }

  isLiving(epoch: number): boolean {
    if (epoch === 0) return false;
    return epoch === this.#holder.epoch || this.#cache.isLivingEpoch(epoch, this.#clock.monotonicMs());
  }

  serve(name: string, binds: readonly LeasedBind[], on: LeaseHandlers): ServedCarrier {
    const none = { held: new Map(), claiming: new Set<string>(), elsewhere: new Map(), ready: false };
    const carrier: Carrier = { name, binds, on, ...none };
    this.#carriers.set(name, carrier);
    return {
      ready: () => {
        carrier.ready = true;
        this.#holder.look(true);
        this.#askLook();
      },
      get heldElsewhere() {
        return carrier.elsewhere;
      },
      close: () => this.#leave(carrier),
    };
  }

  async close(): Promise<void> {
    this.#closed = true;
    this.#stopLooks();
    await Promise.all([...this.#carriers.values()].map((carrier) => this.#leave(carrier)));
    // Deleting the heartbeat would free leases it could not release, as if they had been unused for long.
    await this.#holder.leave(!this.#isSomethingLeft);
    this.#bucket.close();
  }

  #askLook(): void {
    if (this.#lookAsked || this.#closed) return;
    this.#lookAsked = true;
    queueMicrotask(() => {
      this.#lookAsked = false;
      this.#assignment();
    });
  }

  #look(): void {
    this.#holder.look();
    this.#fence();
    // Only while the bucket accepts our own heartbeats: when it accepts none, no node is dead. While another process
    // uses our name we have no heartbeat to judge the bucket by.
    const isForeign = this.#holder.epoch === 0;
    if (this.mayWrite() || isForeign) this.#failureDetector.expireSilent(isForeign, this.#backAtMs);
    this.#watch.look();
    this.#assignment();
  }

  #fence(): void {
    const mayWrite = this.mayWrite();
    if (mayWrite === !this.#fenced) return;
    this.#fenced = !mayWrite;
    if (mayWrite) this.#backAtMs = this.#clock.monotonicMs();
    const holding = this.#holding();
    if (holding.length === 0) return;
    const facts = { node: this.#identity.node, carriers: holding.map(({ name }) => name) };
    if (mayWrite) log.info(facts, 'the leases are confirmed again');
    else log.error({ alarm: 'leases_fenced', ...facts }, 'no word from the leases: nothing is written to carriers');
    for (const { name, on } of holding) {
      if (mayWrite) on.onUnfenced();
      else {
        metrics.leaseLosses.inc({ carrier: name, why: 'fenced' });
        on.onFenced();
      }
    }
  }

  #assignment(): void {
    const nowMs = this.#clock.monotonicMs();
    const living = [...this.#cache.living()];
    for (const carrier of this.#carriers.values()) {
      this.#compare(carrier);
      const candidates = living
        .filter(({ heartbeat }) => heartbeat.carriers.includes(carrier.name))
        .map(({ key }) => key);
      const elsewhere = new Map<string, string>();
      for (const submits of [true, false]) {
        const binds = carrier.binds.filter((bind) => bind.submits === submits);
        if (binds.length === 0) continue;
        const assigned = binds.map(({ key, name }) => {
          if (carrier.held.has(key) || carrier.claiming.has(key))
            return { key, holder: this.#holder.key, freeForMs: 0 };
          const { holder, freeSinceMs } = this.#cache.lease(key, nowMs);
          if (holder !== null) elsewhere.set(name, holder.node);
          return { key, holder: holder === null ? null : heartbeatKey(holder), freeForMs: nowMs - freeSinceMs };
        });
        const leaving = binds.filter(({ key }) => carrier.held.get(key)?.leaving === true).map(({ key }) => key);
        const { claim, release } = assignBinds({
          salt: `${carrier.name} ${submits ? 'submits' : 'receives'}`,
          me: this.#holder.key,
          candidates: binds.every(({ local }) => local) ? [this.#holder.key] : candidates,
          binds: assigned,
          leaving: new Set(leaving),
          graceMs: limits.leases.freeGraceMs,
        });
        if (!carrier.ready || this.#closed || !this.mayWrite()) continue;
        if (!this.#takesWork()) {
          for (const { key } of binds) void this.#handOver(carrier, key);
          continue;
        }
        for (const key of claim) void this.#claim(carrier, key);
        for (const key of release) void this.#handOver(carrier, key);
      }
      carrier.elsewhere = elsewhere;
    }
  }

  /** Compares the bucket with what we hold: the answer to a write may have been lost. */
  #compare(carrier: Carrier): void {
    const own = this.#holder.holder?.incarnation ?? null;
    for (const { key } of carrier.binds) {
      const { revision, holder } = this.#cache.lease(key, this.#clock.monotonicMs());
      const held = carrier.held.get(key);
      const isOurs = own !== null && holder?.incarnation === own;
      if (held === undefined) {
        // Claimed again: a pending deletion of ours must not remove it later.
        if (isOurs && carrier.ready && this.mayWrite()) void this.#claim(carrier, key);
      } else if (revision > held.revision && !isOurs) {
        carrier.held.delete(key);
        // A release may come back through the watch before its answer.
        if (held.leaving) continue;
        metrics.leaseLosses.inc({ carrier: carrier.name, why: 'taken' });
        carrier.on.onLost([key], 'taken away');
      }
    }
  }

  async #claim(carrier: Carrier, key: string): Promise<void> {
    const { holder } = this.#holder;
    const bind = carrier.binds.find((each) => each.key === key);
    if (holder === null || bind === undefined || carrier.claiming.has(key)) return;
    const { revision, quietSinceMs } = this.#cache.lease(key, this.#clock.monotonicMs());
    carrier.claiming.add(key);
    try {
      const written = await this.#bucket.put(key, encodeRecord({ ...holder, bind: bind.name }), revision);
      if (typeof written !== 'object') return;
      // This node was declared dead meanwhile: the lease is free, and others know it.
      if (this.#holder.holder?.incarnation !== holder.incarnation) return;
      if (!carrier.ready) await this.#bucket.remove(key, written.revision);
      else this.#granted(carrier, bind, written.revision, quietSinceMs);
    } catch (error) {
      ignoring(error, 'a lease could not be claimed; the next check retries');
    } finally {
      carrier.claiming.delete(key);
    }
  }

  #granted(carrier: Carrier, { key, name }: LeasedBind, revision: number, quietSinceMs: number): void {
    if (carrier.held.has(key)) return;
    carrier.held.set(key, { revision, leaving: false });
    log.info({ bind: name, node: this.#identity.node, revision }, 'the bind is leased');
    carrier.on.onGranted(key, Math.max(0, this.#clock.monotonicMs() - quietSinceMs));
    // A fence that came meanwhile did not report a bind that was claimed after it.
    if (!this.mayWrite()) carrier.on.onFenced();
  }

  async #handOver(carrier: Carrier, key: string): Promise<void> {
    const held = carrier.held.get(key);
    if (held === undefined || held.leaving) return;
    held.leaving = true;
    const name = carrier.binds.find((each) => each.key === key)?.name;
    log.info({ bind: name, node: this.#identity.node }, 'the bind is released for a node that has fewer');
    try {
      await carrier.on.onHandOver(key);
      await this.#free(carrier, key, held);
    } catch (error) {
      log.warn({ bind: name, error: messageOf(error) }, 'a bind could not be released');
    }
  }

  async #free(carrier: Carrier, key: string, held: Held): Promise<void> {
    held.leaving = true;
    // Until it is certain the bind is neither used nor claimed again.
    for (let tries = 0; carrier.held.get(key) === held; tries += 1) {
      if (tries >= freeTriesMax && this.#carriers.get(carrier.name) !== carrier) {
        this.#isSomethingLeft = true;
        break;
      }
      const written = await this.#bucket.remove(key, held.revision);
      if (written === 'unclear') {
        await this.#clock.sleep(limits.leases.heartbeatRetryMs);
        continue;
      }
      if (carrier.held.get(key) === held) carrier.held.delete(key);
      if (typeof written === 'object') {
        this.#cache.apply({ key, revision: written.revision, value: null }, this.#clock.monotonicMs());
      }
    }
  }

  async #leave(carrier: Carrier): Promise<void> {
    carrier.ready = false;
    if (this.#carriers.get(carrier.name) === carrier) this.#carriers.delete(carrier.name);
    await Promise.all([...carrier.held].map(([key, held]) => this.#free(carrier, key, held)));
  }

  #holding(): Carrier[] {
    return [...this.#carriers.values()].filter(({ held }) => held.size > 0);
  }

  #onLost(why: string): void {
    const holding = this.#holding();
    log.error(
      { alarm: 'leases_lost', node: this.#identity.node, why, carriers: holding.map(({ name }) => name) },
      'this node was declared dead: its binds are others’ now, it starts over',
    );
    this.#fenced = false;
    for (const carrier of holding) {
      const keys = [...carrier.held.keys()];
      carrier.held.clear();
      metrics.leaseLosses.inc({ carrier: carrier.name, why: 'dead' }, keys.length);
      carrier.on.onLost(keys, why);
    }
  }
}

const freeTriesMax = 3;

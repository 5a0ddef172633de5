// A carrier's actor in a cluster: opens the binds it has leases for, paces to their share of the contract, accepts work
// while it can send, follows the other nodes' events, and returns what it cannot send to them. actors/lease/ assigns
// the leases; a single node has no such part.
import { bindsOf } from '../../config/configuration.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { everyCarrierIsGood } from '../../policy/routing/avoid.ts';
import type { LeaseHandlers, LeasedBind, ServedCarrier } from '../lease/contract.ts';
import { shareOf } from '../lease/assignment.ts';
import { bindKey } from '../lease/lease-records.ts';
import type { EventPosition } from './deduplication/replay-index.ts';
import type { AssembledCarrier, CarrierActorParts } from './assemble.ts';
import { contractOf } from './pacing/pacing.ts';
import type { ClusterClaims } from './multi-node/cluster-claims.ts';
import { type Following, followEvents } from './multi-node/follow.ts';

type Work = {
  /** Starts the intake. */
  readonly begin: () => Promise<void>;
  /** Stops the intake. */
  readonly rest: () => Promise<void>;
  /** Aborted when it is to stop, perhaps before it has begun. */
  readonly signal: AbortSignal;
};

/** `carriers`: the carrier's health on the node where it is best. */
type SharedCarrierParts = Required<Pick<CarrierActorParts, 'bus' | 'simulated' | 'leases' | 'carriers'>> &
  Work & { readonly made: AssembledCarrier; readonly claims: ClusterClaims };

/** Null on a single node. */
export function sharedCarrier(given: CarrierActorParts, made: AssembledCarrier, work: Work): SharedCarrier | null {
  const { bus, simulated, leases, carriers = everyCarrierIsGood } = given;
  const claims = made.shared;
  if (claims === null || leases === undefined) return null;
  return new SharedCarrier({ bus, simulated, leases, carriers, made, claims, ...work });
}

/** A bind leased by this node. Its share of the contract counts from `countsAtMs` on. */
type Own = { readonly countsAtMs: number; leaving: boolean };

/** A durable event is read a few milliseconds later; after this long the reader is broken. */
const behindMsMax = 2_000;

export class SharedCarrier {
  readonly #parts: SharedCarrierParts;
  readonly #keys: readonly LeasedBind[];
  readonly #own = new Map<string, Own>();
  #served: ServedCarrier | null = null;
  #following: Following | null = null;
  /** Segments per second we may send; 0 while none of our binds counts. */
  #share = 0;
  #working = false;
  #change: Promise<void> = Promise.resolve();
  #closed = false;
  /** The leases are lost: nothing may be written to a bind, and nothing can be given back. */
  #fenced = false;
  #mendedAtMs = Number.NEGATIVE_INFINITY;

  constructor(parts: SharedCarrierParts) {
    this.#parts = parts;
    this.#keys = leasedBindsOf(parts);
  }

  /** Resolves when the events are read; the binds open when their leases arrive. */
  async start(): Promise<void> {
    const { bus, made, claims, leases, signal } = this.#parts;
    const following = await followEvents({
      bus,
      carrier: made.carrier.name,
      fromSeq: await made.floor.open(),
      writerId: made.events.id,
      learn: (event, isOwn, place) => this.#learn(event, isOwn, place),
      clock: made.clock,
      signal,
    });
    made.floor.readTo = () => following.readTo();
    this.#following = following;
    made.receipts.open();
    this.#served = leases.serve(made.carrier.name, this.#keys, this.#handlers);
    this.#served.ready();
    claims.sweep();
  }

  /** This node has none of the carrier's binds: others report its health. */
  get isStandby(): boolean {
    return this.#own.size === 0;
  }

  /** A part of the contract is this node's. */
  get mayPace(): boolean {
    return this.#share > 0;
  }

  /** Bind names and the nodes that have them. */
  get elsewhere(): ReadonlyMap<string, string> {
    return this.#served?.heldElsewhere ?? new Map();
  }

  /** A few times a second: recounts the shares, and decides whether to accept work. */
  look(): void {
    const { claims, made } = this.#parts;
    const nowMs = made.clock.monotonicMs();
    if (claims.behindMs > behindMsMax && nowMs - this.#mendedAtMs > behindMsMax) {
      this.#mendedAtMs = nowMs;
      this.#following?.again();
    }
    claims.sweep();
    this.#recount();
    if (!this.#working && !this.#closed) this.#giveBack();
  }

  tick(): void {
    metrics.leasesHeld.set({ carrier: this.#parts.made.carrier.name }, this.#own.size);
  }

  configured(): void {
    this.#share = -1;
    this.#recount();
  }

  /** Before the binds are closed: it neither starts nor stops the intake any more. */
  async stop(): Promise<void> {
    this.#closed = true;
    await this.#change;
  }

  /** The sessions have ended: releases our leases at once. */
  async close(): Promise<void> {
    await this.#served?.close();
    await this.#following?.stop();
    metrics.leasesHeld.set({ carrier: this.#parts.made.carrier.name }, 0);
  }

  readonly #handlers: LeaseHandlers = {
    onGranted: (key, quietForMs) => {
      const waitMs = Math.max(0, limits.leases.shareWaitMs - quietForMs);
      this.#own.set(key, { countsAtMs: this.#parts.made.clock.monotonicMs() + waitMs, leaving: false });
      this.#gateOf(key)?.lease();
    },
    onHandOver: async (key) => {
      const own = this.#own.get(key);
      if (own === undefined) return;
      own.leaving = true;
      // Our share shrinks before another node's grows.
      this.#recount();
      await this.#gateOf(key)?.giveUp('given to another node', limits.leases.handOverMs);
      if (this.#own.get(key) === own) this.#own.delete(key);
      this.#recount();
    },
    onFenced: () => {
      this.#fenced = true;
      for (const key of this.#own.keys()) this.#gateOf(key)?.cut('no word from the leases');
      this.#recount();
    },
    onUnfenced: () => {
      this.#fenced = false;
      for (const [key, { leaving }] of this.#own) if (!leaving) this.#gateOf(key)?.lease();
      this.#recount();
    },
    onLost: (keys, why) => {
      this.#fenced = false;
      for (const key of keys) {
        this.#own.delete(key);
        this.#gateOf(key)?.cut(why);
      }
      this.#recount();
      const { sender, messages } = this.#parts.made;
      // Other nodes have all binds by now.
      if (this.#own.size === 0) {
        for (const held of sender.standDown()) messages.tryAgain(held);
        messages.releaseUnbegun();
      }
    },
  };

  #gateOf(key: string) {
    return this.#parts.made.binds.gates[this.#keys.findIndex((each) => each.key === key)];
  }

  #recount(): void {
    const { made, leases } = this.#parts;
    const { carrier, clock, pacing, sender } = made;
    const nowMs = clock.monotonicMs();
    const submitting = this.#keys.filter(({ submits }) => submits);
    const counted = submitting.flatMap(({ key }, index) => {
      const own = this.#own.get(key);
      return own !== undefined && !own.leaving && own.countsAtMs <= nowMs && this.#gateOf(key)?.leased === true
        ? [index]
        : [];
    });
    // A bind that an operator stopped keeps its share of the contract: other nodes may not know of it yet.
    const carrying = counted.filter((index) => made.binds.submitters[index]?.desiredState === 'running').length;
    // Each node has its own bundled simulator: its contract is not shared.
    const share =
      carrier.tpsScope === 'bind'
        ? carrier.tps * Math.max(carrying, Math.min(1, counted.length))
        : shareOf(counted, submitting.length, contractOf(carrier));
    if (share !== this.#share) {
      const isMore = share > this.#share;
      if (share > 0) pacing.setContract(share);
      this.#share = share;
      log.info({ carrier: carrier.name, share, binds: counted.length, of: submitting.length }, 'share of the contract');
      if (isMore) sender.wake();
    }
    for (const [index, { key }] of submitting.entries()) {
      const gate = this.#gateOf(key);
      if (gate !== undefined) gate.mayCarry = share > 0 && counted.includes(index);
    }
    if (!this.#fenced && leases.mayWrite()) this.#work(share > 0 && !this.#othersAreBetter());
  }

  /** None of our binds is up or may be used, while another node's are: messages would only wait here. */
  #othersAreBetter(): boolean {
    const { made, carriers } = this.#parts;
    const { carrier, health, binds } = made;
    const isCommanded = binds.commands.desiredState !== 'running';
    if (!isCommanded && (health.why !== 'no_bind' || binds.boundSubmitters > 0)) return false;
    if (this.elsewhere.size === 0) return false;
    const state = carriers.stateOf(carrier.name);
    return isCommanded ? state !== 'down' : state === 'good';
  }

  #work(wanted: boolean): void {
    if (this.#closed || wanted === this.#working) return;
    this.#working = wanted;
    const { made, begin, rest } = this.#parts;
    const { carrier } = made;
    log.info({ carrier: carrier.name, wanted }, wanted ? 'takes work' : 'takes no work: others do');
    this.#change = this.#change
      .then(async () => {
        if (wanted !== this.#working) return;
        if (wanted) return begin();
        await rest();
      })
      .catch((error: unknown) => {
        ignoring(error, 'work could not be begun or ended; the next check tries again');
        this.#working = !wanted;
      });
  }

  /** Other nodes can send what is here. A message with an intent follows when they can know that it was not written. */
  #giveBack(): void {
    const { sender, messages } = this.#parts.made;
    if (messages.size === 0) return;
    // Into its lane: the next check gives it back, or it is sent if we have work again by then.
    for (const held of sender.standDown()) messages.tryAgain(held);
    messages.giveBackUnbegun();
  }

  #learn(event: DeliveryEvent, isOwn: boolean, place: EventPosition): void {
    const { claims, made } = this.#parts;
    claims.learn(event, isOwn, place);
    // Our own events were applied when they were written.
    if (isOwn) return;
    if (event.kind === 'submitted') made.receipts.onSubmitted(event);
    else made.receipts.learn(event);
  }
}

function leasedBindsOf({ made, simulated, leases }: SharedCarrierParts): LeasedBind[] {
  const { carrier } = made;
  const ordinals = new Map<string, number>();
  // Each node has its own simulator.
  const simulatedOn = carrier.simulate === null ? '' : leases.node;
  return bindsOf(carrier, simulated).map((bind) => {
    const identity = [bind.host, bind.port, bind.systemId, bind.systemType, bind.type, simulatedOn];
    const ordinal = (ordinals.get(identity.join()) ?? 0) + 1;
    ordinals.set(identity.join(), ordinal);
    return {
      key: bindKey(carrier.name, identity, ordinal),
      name: bind.name,
      submits: bind.type !== 'receiver',
      local: carrier.simulate !== null,
    };
  });
}

// One carrier: everything between its three streams and its binds, in one thread. This page is its life: replay, work,
// a change of configuration, drain. What it is made of, and how a message goes through it, stands in assemble.ts.
import type { Consumption } from '../../cluster/bus/consume.ts';
import type { CarrierConfig } from '../../config/configuration.ts';
import type { CarrierOrders, CarrierReport } from '../../cluster/operator-commands/contract.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { Cancel } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { CarrierStatus } from '../contract.ts';
import { type AssembledCarrier, type CarrierActorParts, assembleCarrier, contractOf } from './assemble.ts';
import { setGauges } from './carrier-gauges.ts';
import type { MoveRules } from './health/health-decision.ts';
import { SlowSpell } from './pacing/slow-spell.ts';
import { takeParked } from './receipts/parked-receipts.ts';
import type { EventPlace } from './repeats/ledger.ts';
import { replayEvents } from './repeats/replay.ts';
import { type SharedCarrier, sharedCarrier } from './repeats/shared-carrier.ts';
import { contractNow, reportOf, standDown, takeOrders } from './binds/take-orders.ts';

/** Gauges, and messages whose validity ends while nothing else happens. */
const tickMs = 1_000;

export class CarrierActor {
  readonly #given: CarrierActorParts;
  readonly #made: AssembledCarrier;
  /** Null where there are no other nodes. */
  readonly #shared: SharedCarrier | null;
  readonly #slowSpell: SlowSpell;
  /** Ends a start that is still reading. */
  readonly #stopped = new AbortController();
  #parked: Consumption | null = null;
  #stopTick: Cancel = () => {};
  #stopLooks: Cancel = () => {};

  constructor(given: CarrierActorParts) {
    this.#given = given;
    this.#made = assembleCarrier(given);
    this.#slowSpell = new SlowSpell(given.carrier.name);
    const { signal } = this.#stopped;
    this.#shared = sharedCarrier(given, this.#made, { begin: () => this.#begin(), rest: () => this.#rest(), signal });
    if (given.orders !== undefined) takeOrders(this.#made, given.orders);
  }

  /** Replays, then takes work. The binds connect meanwhile: a carrier that is down does not stop the start. */
  async start(): Promise<void> {
    const { bus } = this.#given;
    const { carrier, clock, receipts, flight } = this.#made;
    flight.open(bus);
    if (this.#shared === null) {
      const fromSeq = await this.#made.floor.open();
      const learn = (event: DeliveryEvent, place: EventPlace) => this.#learn(event, place);
      await replayEvents({ bus, carrier: carrier.name, fromSeq, learn, clock, signal: this.#stopped.signal });
      receipts.open();
      await this.#begin();
    } else await this.#shared.start();
    this.#stopTick = clock.every(tickMs, () => this.#tick());
    this.#stopLooks = clock.every(limits.carrierHealth.lookEveryMs, () => this.#look());
  }

  /** A start that still reads ends with an error; one that is over is left alone. */
  endStart(): void {
    this.#stopped.abort(new Error(`${this.#made.carrier.name} stops`));
  }

  /** Takes nothing new, lets what is written be answered, makes every outcome durable, unbinds. */
  async drain(deadlineMs: number): Promise<void> {
    const { carrier, clock, sender, intake, binds, receipts, events, floor } = this.#made;
    this.endStart();
    const endAtMs = clock.monotonicMs() + deadlineMs;
    const leftMs = () => Math.max(100, endAtMs - clock.monotonicMs());
    const { writeMs, answerMarginMs, eventsMs } = limits.supervision.drainSteps;
    sender.stop();
    this.#stopLooks();
    await this.#shared?.stop();
    await this.#rest();
    await until('chosen messages written', () => sender.rested, {
      limitMs: Math.min(writeMs, leftMs() / 4),
      clock,
    }).catch((error: unknown) => ignoring(error, 'what was chosen and not written is told as deferred'));
    // As long as the carrier may take to answer. With less time than that, what it told must still become durable.
    const answersMs = Math.max(leftMs() / 2, leftMs() - eventsMs);
    await binds.close('the carrier actor drains', Math.min(carrier.responseTimerMs + answerMarginMs, answersMs));
    sender.close();
    this.#made.shared?.end();
    receipts.close();
    events.flush();
    await until('events durable', () => events.held === 0, { limitMs: leftMs(), clock }).catch((error: unknown) =>
      ignoring(error, 'the drain deadline came before the last event was durable'),
    );
    this.#stopTick();
    await floor.close(this.#shared === null && events.held === 0);
    intake.close();
    events.close();
    await this.#shared?.close();
    await this.#made.flight.close();
    log.info({ carrier: carrier.name }, 'carrier drained');
  }

  /** Events that are not durable yet, also after the drain: whoever comes next must find them. */
  get eventsHeld(): number {
    return this.#made.events.held;
  }

  /** Takes over what may change while it runs (reload.ts says what that is); the binds stay as they are. */
  configure(next: CarrierConfig, moves: MoveRules): void {
    const { carrier, health, pacing, sender } = this.#made;
    const before = contractOf(carrier);
    Object.assign(carrier, next);
    health.setRules(moves);
    const contract = contractOf(carrier);
    if (contract === before) return;
    if (this.#shared !== null) return this.#shared.configured();
    pacing.setContract(contractNow(this.#made));
    sender.wake();
  }

  /** What operators order of it from now on. */
  order(orders: CarrierOrders): void {
    takeOrders(this.#made, orders);
  }

  get report(): CarrierReport {
    return { ...reportOf(this.#made, this.#paces), standby: this.#shared?.isStandby === true };
  }

  get status(): CarrierStatus {
    const { carrier, binds, health, intake } = this.#made;
    const { status, boundCount } = binds;
    const elsewhere = this.#shared?.elsewhere ?? new Map<string, string>();
    return {
      carrier: carrier.name,
      bindsBound: boundCount,
      bindsWanted: status.length - elsewhere.size,
      elsewhere: elsewhere.size,
      state: health.state,
      why: health.why,
      held: intake.size,
      reasons: status
        .filter((each) => each.state !== 'bound' && !elsewhere.has(each.name))
        .map((each) => `${each.name}: ${each.reason || each.state}`),
    };
  }

  async #begin(): Promise<void> {
    const { bus, publisher } = this.#given;
    const { carrier, clock, receipts, intake } = this.#made;
    this.#parked = await takeParked({ bus, publisher, carrier: carrier.name, clock }, (receipt, respond, waits) =>
      receipts.take(receipt, respond, waits),
    );
    await intake.start();
  }

  async #rest(): Promise<void> {
    await Promise.all([this.#made.intake.stop(), this.#parked?.stop()]);
    this.#parked = null;
  }

  #learn(event: DeliveryEvent, place: EventPlace): void {
    const { ledger, outstanding, receipts } = this.#made;
    ledger.learn(event, place);
    if (event.kind === 'submitted') outstanding.add(event);
    else receipts.learn(event);
  }

  #look(): void {
    const { health, binds, mover, sender } = this.#made;
    this.#shared?.look();
    // Those who have its binds speak for it.
    if (this.#shared?.isStandby === true) return health.forget();
    health.look(binds.boundSubmitters);
    const { state, why } = health;
    if (state === 'good') return;
    standDown(this.#made);
    mover.move(state, why);
    sender.wake();
  }

  /** Some of the contract is ours. */
  get #paces(): boolean {
    return this.#shared === null || this.#shared.mayPace;
  }

  #tick(): void {
    const { mover, sender } = this.#made;
    mover.expire();
    this.#shared?.tick();
    const { clock, pacing } = this.#made;
    const nowMs = clock.monotonicMs();
    if (this.#paces) this.#slowSpell.look(pacing.pace(nowMs), nowMs);
    setGauges(this.#made, this.#paces);
    sender.wake();
  }
}

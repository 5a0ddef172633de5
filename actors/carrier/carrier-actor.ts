// The life of one carrier's actor, in one thread: replay, work, configuration changes, drain. assemble.ts shows its
// parts and the way of a message through them.
import type { Consumption } from '../../cluster/bus/consume.ts';
import type { CarrierConfig } from '../../config/configuration.ts';
import type { CarrierCommands, CarrierReport } from '../../cluster/operator-commands/contract.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { Cancel } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import type { CarrierStatus } from '../contract.ts';
import { type AssembledCarrier, type CarrierActorParts, assembleCarrier } from './assemble.ts';
import { contractOf } from './pacing/pacing.ts';
import type { FailoverPolicy } from './failover/health-decision.ts';
import { ThrottlingEpisode } from './pacing/throttling-episode.ts';
import { takeParked } from './receipts/parked-receipts.ts';
import type { EventPosition } from './deduplication/replay-index.ts';
import { replayEvents } from './deduplication/replay.ts';
import { type SharedCarrier, sharedCarrier } from './shared-carrier.ts';
import { contractNow, reportOf, standDown, followCommands, bindStateOf } from './follow-commands.ts';
import { bindStates, carrierStates, desiredStates } from '../../model/carrier-state.ts';
import { type Category, categories } from '../../model/message.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { InFlightMessage } from './in-flight/in-flight-message.ts';

/** For gauges, and for validities that end while nothing else happens. */
const tickMs = 1_000;

export class CarrierActor {
  readonly #given: CarrierActorParts;
  readonly #made: AssembledCarrier;
  /** Null on a single node. */
  readonly #shared: SharedCarrier | null;
  readonly #throttlingEpisode: ThrottlingEpisode;
  /** Aborts a start that is still reading. */
  readonly #stopped = new AbortController();
  #parked: Consumption | null = null;
  #stopTick: Cancel = () => {};
  #stopLooks: Cancel = () => {};

  constructor(given: CarrierActorParts) {
    this.#given = given;
    this.#made = assembleCarrier(given);
    this.#throttlingEpisode = new ThrottlingEpisode(given.carrier.name);
    const { signal } = this.#stopped;
    this.#shared = sharedCarrier(given, this.#made, { begin: () => this.#begin(), rest: () => this.#rest(), signal });
    if (given.commands !== undefined) followCommands(this.#made, given.commands);
  }

  /** Replays, then accepts work. The binds connect meanwhile: a carrier that is down does not stop the start. */
  async start(): Promise<void> {
    const { bus } = this.#given;
    const { carrier, clock, receipts, flight } = this.#made;
    flight.open(bus);
    if (this.#shared === null) {
      const fromSeq = await this.#made.floor.open();
      const learn = (event: DeliveryEvent, place: EventPosition) => this.#learn(event, place);
      await replayEvents({ bus, carrier: carrier.name, fromSeq, learn, clock, signal: this.#stopped.signal });
      receipts.open();
      await this.#begin();
    } else await this.#shared.start();
    this.#stopTick = clock.every(tickMs, () => this.#tick());
    this.#stopLooks = clock.every(limits.carrierHealth.lookEveryMs, () => this.#look());
  }

  /** Ends a start that still reads with an error; a completed start is not affected. */
  endStart(): void {
    this.#stopped.abort(new Error(`${this.#made.carrier.name} stops`));
  }

  /** Accepts nothing new, waits for outstanding answers, makes every outcome durable, unbinds. */
  async drain(deadlineMs: number): Promise<void> {
    const { carrier, clock, sender, intake, binds, receipts, events, floor } = this.#made;
    this.endStart();
    const endAtMs = clock.monotonicMs() + deadlineMs;
    const leftMs = () => Math.max(100, endAtMs - clock.monotonicMs());
    const { writeMs, answerMarginMs, eventsMs } = limits.supervision.drainSteps;
    sender.stop();
    this.#made.responseHedges.close();
    this.#made.receiptHedges.close();
    this.#stopLooks();
    await this.#shared?.stop();
    await this.#rest();
    await until('chosen messages written', () => sender.rested, {
      limitMs: Math.min(writeMs, leftMs() / 4),
      clock,
    }).catch((error: unknown) => ignoring(error, 'what was chosen and not written is published as deferred'));
    // As long as the carrier may take to answer, but no longer than leaves time to make its answers durable.
    const answersMs = Math.max(leftMs() / 2, leftMs() - eventsMs);
    this.#made.queryUnknown?.close();
    await binds.close('the carrier actor drains', Math.min(carrier.responseTimerMs + answerMarginMs, answersMs));
    sender.close();
    this.#made.shared?.end();
    receipts.close();
    this.#made.stopTalk();
    this.#made.cancels.close();
    events.flush();
    await until('events durable', () => events.inFlight === 0, { limitMs: leftMs(), clock }).catch((error: unknown) =>
      ignoring(error, 'the drain deadline came before the last event was durable'),
    );
    this.#stopTick();
    await floor.close(this.#shared === null && events.inFlight === 0);
    intake.close();
    events.close();
    await this.#shared?.close();
    await this.#made.flight.close();
    log.info({ carrier: carrier.name }, 'carrier drained');
  }

  /** Events that are not durable yet, also after the drain: the next incarnation needs them. */
  get eventsHeld(): number {
    return this.#made.events.inFlight;
  }

  /** Applies what may change while it runs (see reload.ts); the binds stay as they are. */
  configure(next: CarrierConfig, moves: FailoverPolicy): void {
    const { carrier, health, hedges, pacing, sender } = this.#made;
    const before = contractOf(carrier);
    Object.assign(carrier, next);
    health.rules = moves;
    hedges.rules = moves.hedging ?? null;
    const contract = contractOf(carrier);
    if (contract === before) return;
    if (this.#shared !== null) return this.#shared.configured();
    pacing.setContract(contractNow(this.#made));
    sender.wake();
  }

  /** Operator commands from now on. */
  command(commands: CarrierCommands): void {
    followCommands(this.#made, commands);
  }

  get report(): CarrierReport {
    return { ...reportOf(this.#made, this.#paces), standby: this.#shared?.isStandby === true };
  }

  get status(): CarrierStatus {
    const { carrier, binds, health, messages } = this.#made;
    const { status, boundCount } = binds;
    const elsewhere = this.#shared?.elsewhere ?? new Map<string, string>();
    return {
      carrier: carrier.name,
      bindsBound: boundCount,
      bindsWanted: status.length - elsewhere.size,
      elsewhere: elsewhere.size,
      state: health.state,
      why: health.why,
      inFlight: messages.size,
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

  #learn(event: DeliveryEvent, place: EventPosition): void {
    const { replayIndex, outstanding, receipts } = this.#made;
    replayIndex.learn(event, place);
    if (event.kind === 'submitted') outstanding.add(event);
    else receipts.learn(event);
  }

  #look(): void {
    const { health, binds, failover, sender, publishOtpTimes } = this.#made;
    this.#shared?.look();
    publishOtpTimes();
    // The nodes that hold its binds report its health.
    if (this.#shared?.isStandby === true) return health.forget();
    health.look(binds.boundSubmitters, otpWaitMs(this.#made));
    const { state, why } = health;
    if (state === 'good') return;
    standDown(this.#made);
    failover.move(state, why);
    sender.wake();
  }

  /** A part of the contract is this node's. */
  get #paces(): boolean {
    return this.#shared === null || this.#shared.mayPace;
  }

  #tick(): void {
    const { failover, sender, clock, pacing } = this.#made;
    failover.expire();
    this.#shared?.tick();
    const nowMs = clock.monotonicMs();
    if (this.#paces) this.#throttlingEpisode.look(pacing.pace(nowMs), nowMs);
    setGauges(this.#made, this.#paces);
    sender.wake();
  }
}

/** How long the last one-time password will wait for its turn at the rate that the carrier's throttling has left; 0 at the whole rate. */
function otpWaitMs({ pacing, lanes, clock }: AssembledCarrier): number {
  const waiting = lanes.size('otp');
  const nowMs = clock.monotonicMs();
  if (waiting === 0 || pacing.pace(nowMs).slowedBy === '') return 0;
  return pacing.waitMs(1, nowMs, 0) + ((waiting - 1) * 1_000) / pacing.ratePerS(nowMs);
}

/** Once a second, in one pass over the messages in flight. `paces`: a part of the contract is this node's. */
function setGauges(made: AssembledCarrier, paces: boolean): void {
  const { carrier: config, clock, health, pacing, binds, outstanding, lanes, messages } = made;
  const carrier = config.name;
  metrics.carrierHealth.set({ carrier }, carrierStates.indexOf(health.state));
  metrics.carrierDesiredState.set({ carrier }, desiredStates.indexOf(binds.commands.desiredState));
  metrics.carrierRate.set({ carrier }, paces ? pacing.ratePerS(clock.monotonicMs()) : 0);
  metrics.carrierContract.set({ carrier }, contractOf(config));
  metrics.bindsBound.set({ carrier }, binds.boundCount);
  metrics.windowInUse.set({ carrier }, binds.windowUsed);
  metrics.carrierWindow.set(
    { carrier },
    binds.ports.reduce((sum, { window }) => sum + window, 0),
  );
  metrics.otpHedgeAfter.set({ carrier, rule: 'response' }, (made.responseHedges.afterMs ?? 0) / 1_000);
  metrics.otpHedgeAfter.set({ carrier, rule: 'receipt' }, (made.receiptHedges.afterMs ?? 0) / 1_000);
  metrics.outstandingReceipts.set({ carrier }, outstanding.size);
  metrics.outstandingBytes.set({ carrier }, outstanding.bytes);
  const oldest = oldestWaiting(messages.all());
  for (const category of categories) {
    metrics.laneDepth.set({ carrier, category }, lanes.size(category));
    const sinceMs = oldest.get(category);
    const ageS = sinceMs === undefined ? 0 : Math.max(0, clock.nowMs() - sinceMs) / 1_000;
    metrics.laneOldest.set({ carrier, category }, ageS);
  }
  for (const [index, status] of binds.status.entries()) {
    const bind = String(index + 1);
    const is = bindStateOf(status);
    for (const state of bindStates) metrics.bindState.set({ carrier, bind, state }, state === is ? 1 : 0);
    metrics.bindDesiredState.set({ carrier, bind }, desiredStates.indexOf(status.desiredState));
    metrics.bindWindowInUse.set({ carrier, bind }, status.windowUsed);
  }
}

/** By category: since when the oldest message waits of which nothing was sent. */
function oldestWaiting(inFlight: Iterable<InFlightMessage>): Map<Category, number> {
  const oldest = new Map<Category, number>();
  for (const { category, message, isOut, state } of inFlight) {
    if (isOut || state === 'settling' || state === 'rerouting') continue;
    const sinceMs = message.scheduledAtMs ?? message.acceptedAtMs;
    if (sinceMs < (oldest.get(category) ?? Number.POSITIVE_INFINITY)) oldest.set(category, sinceMs);
  }
  return oldest;
}

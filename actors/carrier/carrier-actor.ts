// One carrier: everything between its three streams and its binds, in one thread, wired together here and
// nowhere else. The parts know nothing of each other but what they are handed; to follow a message read
// intake → lanes → sender → binds → settlement, and for its receipt binds → receipts.
import { tellBeacon } from '../../cluster/bus/carrier-beacon.ts';
import type { BodyCipher } from '../../cluster/bus/body-cipher.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Consumption } from '../../cluster/bus/consume.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { type CarrierConfig, type SimulatedPorts, sandboxCarrierName } from '../../cluster/config/configuration.ts';
import { carrierStates } from '../../model/carrier-state.ts';
import { categories } from '../../model/message.ts';
import { type DeliveryEvent, eventOfMessage } from '../../model/delivery-event.ts';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { secretBytes } from '../../platform/random.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { CarrierHealthView } from '../../policy/contract.ts';
import { type LateGates, passLateGates } from '../../policy/late/late-gates.ts';
import { everyCarrierIsGood, isAvoided } from '../../policy/routing/avoid.ts';
import { commandStatus } from '../../smpp/command-status.ts';
import type { ShortMessagePdu } from '../../smpp/pdu.ts';
import { parseReceipt } from '../../smpp/receipt.ts';
import type { ReconnectBudget } from '../../smpp/reconnect-budget.ts';
import type { CarrierStatus } from '../contract.ts';
import { CarrierBinds } from './binds.ts';
import { CarrierHealth } from './health.ts';
import type { MoveRules } from './health-decision.ts';
import type { HeldMessage } from './held-message.ts';
import { Intake } from './intake.ts';
import { Lanes } from './lanes.ts';
import { Ledger } from './ledger.ts';
import { Mover } from './mover.ts';
import { isCarriersDoing } from './outcome.ts';
import { Outstanding } from './outstanding.ts';
import { type Pacing, pacing } from './pacing.ts';
import { parkReceipt, takeParked } from './parked-receipts.ts';
import { lookUpReceipt } from './receipt-look-up.ts';
import { type Respond, Receipts } from './receipts.ts';
import { replayEvents } from './replay.ts';
import { Reroute } from './reroute.ts';
import { type SubmitToken, Sender } from './sender.ts';
import { type SubmitAnswer, Settlement } from './settlement.ts';
import { segmentToldOf } from './submit-pdu.ts';
import { UnknownSubmits } from './unknown-submits.ts';
import { wasTaken } from './was-taken.ts';

export type CarrierActorParts = {
  readonly carrier: CarrierConfig;
  readonly simulated: SimulatedPorts;
  readonly bus: Bus;
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  readonly reconnectBudget: ReconnectBudget;
  /** How all carriers do: for the choice of another one. */
  readonly carriers?: CarrierHealthView;
  readonly moves?: MoveRules;
  /** Without them: validity alone. */
  readonly lateGates?: LateGates;
  readonly clock?: Clock;
};

const laneCapacity = limits.bus.accountShards * limits.carrier.shardHeldMax;
/** Gauges, and messages whose validity ends while nothing else happens. */
const tickMs = 1_000;
const movesDefault: MoveRules = { otpMovesAfterMs: 1_000, othersMoveAfterMs: 30_000 };
/** Tells this life of an actor from any other that serves the carrier. */
const nodeNameBytes = 6;

export class CarrierActor {
  readonly #parts: CarrierActorParts;
  readonly #clock: Clock;
  readonly #lanes = new Lanes<HeldMessage>(laneCapacity);
  readonly #ledger: Ledger;
  readonly #events: EventWriter;
  readonly #outstanding: Outstanding;
  readonly #unknown: UnknownSubmits;
  readonly #receipts: Receipts;
  readonly #settlement: Settlement;
  readonly #binds: CarrierBinds;
  readonly #sender: Sender;
  readonly #intake: Intake;
  #parked: Consumption | null = null;
  /** What is in force; the parts hold on to this one object, so that a change of its live fields reaches them all. */
  readonly #carrier: CarrierConfig;
  readonly #pacings: readonly Pacing[];
  readonly #health: CarrierHealth;
  readonly #reroute: Reroute;
  readonly #mover: Mover;
  readonly #roundTrip;
  #stopTick: Cancel = () => {};
  #stopLooks: Cancel = () => {};

  constructor(parts: CarrierActorParts) {
    const { bus, publisher, cipher } = parts;
    const carrier = { ...parts.carrier };
    this.#carrier = carrier;
    const clock = parts.clock ?? systemClock;
    this.#parts = parts;
    this.#clock = clock;
    this.#ledger = new Ledger(clock);
    this.#events = new EventWriter(publisher, { clock });
    this.#outstanding = new Outstanding(carrier.receiptId, clock);
    this.#unknown = new UnknownSubmits(clock);
    const pace = pacing(contractOf(carrier));
    const wire = pacing(contractOf(carrier));
    this.#pacings = [pace, wire];
    this.#roundTrip = metrics.submitRoundTrip.labels({ carrier: carrier.name });
    const node = secretBytes(nodeNameBytes).toString('hex');
    this.#health = new CarrierHealth({
      carrier: carrier.name,
      clock,
      rules: parts.moves ?? movesDefault,
      tell: (state, why) => tellBeacon(bus, { carrier: carrier.name, node, state, why }),
    });
    const parking = { bus, publisher, carrier: carrier.name, clock };
    this.#receipts = new Receipts({
      carrier: carrier.name,
      events: this.#events,
      outstanding: this.#outstanding,
      unknown: this.#unknown,
      clock,
      park: (receipt, waits, done) => parkReceipt(parking, receipt, waits, done),
      lookUp: (receipt, ids) => lookUpReceipt(bus, carrier.name, receipt.recipient, ids),
    });
    this.#settlement = new Settlement({
      carrier,
      publisher,
      events: this.#events,
      cipher,
      pacing: {
        pauseUntil(atMs) {
          pace.pauseUntil(atMs);
          wire.pauseUntil(atMs);
        },
        slowDown(nowMs) {
          // The sandbox plays a throttled carrier for one number, not for everybody's tests.
          if (carrier.name === sandboxCarrierName) return;
          pace.slowDown(nowMs);
          wire.slowDown(nowMs);
        },
      },
      ledger: this.#ledger,
      clock,
      intake: () => this.#intake,
      reroute: () => this.#reroute,
      whyAvoided: () => this.#health.why,
      onSubmitted: (submitted) => this.#receipts.onSubmitted(submitted),
      onUnknown: (unknown) => this.#receipts.onUnknown(unknown),
    });
    this.#binds = new CarrierBinds(carrier, parts.simulated, parts.reconnectBudget, clock, {
      onAnswer: (token, answer) => this.#onAnswer(token, answer),
      onNoAnswer: (token, why) => this.#onNoAnswer(token, why),
      onLateAnswer: (token, answer) => this.#onLateAnswer(token, answer),
      onDeliver: (pdu, respond) => this.#onDeliver(pdu, respond),
      onRoom: () => this.#sender.wake(),
    });
    this.#sender = new Sender({
      carrier,
      lanes: this.#lanes,
      pacing: pace,
      wire,
      events: this.#events,
      ports: this.#binds.ports,
      windowPdus: this.#binds.windowPdus,
      clock,
      onRefused: (held, status, code) => this.#settlement.onRefused(held, status, code),
      onHeld: (held, code, untilMs) => this.#settlement.onHeld(held, code, untilMs),
      lateGates: parts.lateGates ?? passLateGates,
      onNotWritten: (held) => this.#settlement.onNotWritten(held),
    });
    this.#reroute = new Reroute({
      carrier: carrier.name,
      publisher,
      events: this.#events,
      cipher,
      ledger: this.#ledger,
      clock,
      carriers: parts.carriers ?? everyCarrierIsGood,
      intake: () => this.#intake,
      finish: (held) => this.#settlement.finish(held),
      wasTaken: (message, by) => wasTaken(bus, message, by),
    });
    this.#mover = new Mover({
      clock,
      reroute: this.#reroute,
      held: () => this.#intake.held(),
      hasRoom: () => publisher.hasRoom && this.#events.hasRoom,
      onExpired: (held) => this.#settlement.onRefused(held, 'expired', 'validity_passed'),
      onNotWritten: (held) => this.#settlement.onNotWritten(held),
    });
    this.#intake = new Intake({
      bus,
      publisher,
      cipher,
      carrier: carrier.name,
      windowPdus: this.#binds.windowPdus,
      lanes: this.#lanes,
      ledger: this.#ledger,
      clock,
      onArrival: (held) => this.#onArrival(held),
      onRerouted: (held, rerouted) => this.#reroute.repeat(held, rerouted),
      onUnresolved: (held) => this.#settlement.onUnresolved(held),
    });
  }

  /** Replays, then takes work. The binds connect meanwhile: a carrier that is down does not stop the start. */
  async start(): Promise<void> {
    const { bus, publisher, carrier } = this.#parts;
    await replayEvents(bus, carrier.name, (event) => this.#learn(event), this.#clock);
    this.#receipts.open();
    this.#parked = await takeParked(
      { bus, publisher, carrier: carrier.name, clock: this.#clock },
      (receipt, respond, waits) => this.#receipts.take(receipt, respond, waits),
    );
    await this.#intake.start();
    this.#stopTick = this.#clock.every(tickMs, () => this.#tick());
    this.#stopLooks = this.#clock.every(limits.carrierHealth.lookEveryMs, () => this.#look());
  }

  /** Takes nothing new, lets what is written be answered, makes every outcome durable, unbinds. */
  async drain(deadlineMs: number): Promise<void> {
    const endAtMs = this.#clock.monotonicMs() + deadlineMs;
    const leftMs = () => Math.max(100, endAtMs - this.#clock.monotonicMs());
    this.#sender.stop();
    this.#stopLooks();
    await Promise.all([this.#intake.stop(), this.#parked?.stop()]);
    await until('chosen messages written', () => this.#sender.rested, {
      limitMs: leftMs() / 4,
      clock: this.#clock,
    }).catch((error: unknown) => ignoring(error, 'what was chosen and not written is told as deferred'));
    await this.#binds.close('the carrier actor drains', leftMs() / 2);
    this.#sender.close();
    this.#receipts.close();
    this.#events.flush();
    await until('events durable', () => this.#events.held === 0, { limitMs: leftMs(), clock: this.#clock }).catch(
      (error: unknown) => ignoring(error, 'the drain deadline came before the last event was durable'),
    );
    this.#stopTick();
    this.#intake.close();
    this.#events.close();
    log.info({ carrier: this.#parts.carrier.name }, 'carrier drained');
  }

  /** Takes over what may change while it runs (reload.ts says what that is); the binds stay as they are. */
  configure(carrier: CarrierConfig, moves: MoveRules): void {
    const before = contractOf(this.#carrier);
    Object.assign(this.#carrier, carrier);
    this.#health.setRules(moves);
    const contract = contractOf(this.#carrier);
    if (contract === before) return;
    for (const each of this.#pacings) each.setContract(contract);
    this.#sender.wake();
  }

  get status(): CarrierStatus {
    const binds = this.#binds.status;
    return {
      carrier: this.#parts.carrier.name,
      bindsBound: this.#binds.boundCount,
      bindsWanted: binds.length,
      state: this.#health.state,
      why: this.#health.why,
      held: this.#intake.size,
      reasons: binds
        .filter((each) => each.state !== 'bound')
        .map((each) => `${each.name}: ${each.reason || each.state}`),
    };
  }

  #learn(event: DeliveryEvent): void {
    this.#ledger.learn(event);
    if (event.kind === 'submitted') this.#outstanding.add(event);
    else if (event.kind === 'unknown') this.#unknown.add(event);
    else if (event.carrierMessageId !== null) {
      this.#outstanding.settle(event);
      this.#unknown.settle(event);
    }
  }

  #onAnswer(token: SubmitToken, answer: SubmitAnswer): void {
    const tookMs = this.#clock.monotonicMs() - token.writtenAtMs;
    this.#health.onAnswer(isCarriersDoing(answer.status), tookMs);
    if (answer.status === commandStatus.ESME_ROK) this.#health.onSubmitted();
    this.#roundTrip.observe(tookMs / 1_000);
    this.#settlement.onAnswer(token, answer);
  }

  #onNoAnswer(token: SubmitToken, why: string): void {
    // A session that ends is told by its binds; only silence on a session that stands is a fault of the carrier.
    if (why === 'no_response') this.#health.onNoAnswer();
    this.#settlement.onNoAnswer(token, why);
  }

  #onArrival(held: HeldMessage): void {
    const { state, why } = this.#health;
    if (isAvoided(state, held.category)) this.#mover.moveOne(held, why);
    this.#sender.wake();
  }

  #look(): void {
    this.#health.look(this.#binds.boundSubmitters);
    const { state, why } = this.#health;
    if (state === 'good') return;
    this.#mover.move(state, why);
    this.#sender.wake();
  }

  #onDeliver(pdu: ShortMessagePdu, respond: Respond): void {
    const reading = parseReceipt(pdu);
    if (reading.kind === 'receipt') {
      this.#health.onReceipt();
      const { receipt } = reading;
      const recipient = receipt.recipient.startsWith('+') ? receipt.recipient : `+${receipt.recipient}`;
      return this.#receipts.take({ ...receipt, recipient }, respond);
    }
    // Messages from subscribers are not built yet: refused for good, so that the carrier does not repeat them.
    log.warn({ carrier: this.#parts.carrier.name, kind: reading.kind }, 'a deliver_sm that is no receipt was refused');
    respond(commandStatus.ESME_RX_R_APPN);
  }

  /** The message is `unknown` already; with its id its receipt can settle it. */
  #onLateAnswer(token: SubmitToken, answer: SubmitAnswer): void {
    if (answer.status !== commandStatus.ESME_ROK) return;
    const { held, segment, attempt } = token;
    const submitted = eventOfMessage(held.message, {
      kind: 'submitted',
      segment: segmentToldOf(held.message, held.parts, segment),
      attempt,
      carrierMessageId: answer.carrierMessageId,
      atMs: this.#clock.nowMs(),
    });
    this.#events.write(submitted, () => {});
    this.#receipts.onSubmitted(submitted);
  }

  #tick(): void {
    this.#mover.expire();
    const carrier = this.#carrier.name;
    metrics.carrierHealth.set({ carrier }, carrierStates.indexOf(this.#health.state));
    metrics.carrierRate.set({ carrier }, this.#pacings[0]?.ratePerS(this.#clock.monotonicMs()) ?? 0);
    metrics.bindState.set({ carrier }, this.#binds.boundCount);
    metrics.windowInUse.set({ carrier }, this.#binds.windowUsed);
    metrics.outstandingReceipts.set({ carrier }, this.#outstanding.size);
    for (const category of categories) metrics.laneDepth.set({ carrier, category }, this.#lanes.size(category));
    this.#sender.wake();
  }
}

function contractOf(carrier: CarrierConfig): number {
  return carrier.tpsScope === 'bind' ? carrier.tps * bindCount(carrier) : carrier.tps;
}

function bindCount(carrier: CarrierConfig): number {
  return carrier.binds.filter((bind) => bind.type !== 'receiver').reduce((sum, bind) => sum + bind.count, 0);
}

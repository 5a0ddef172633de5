// One carrier: everything between its three streams and its binds, in one thread, wired together here and
// nowhere else. The parts know nothing of each other but what they are handed; to follow a message read
// intake → lanes → sender → binds → settlement, and for its receipt binds → receipts.
import type { BodyCipher } from '../../cluster/bus/body-cipher.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { Consumption } from '../../cluster/bus/consume.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import type { CarrierConfig, SimulatedPorts } from '../../cluster/config/configuration.ts';
import { categories } from '../../model/message.ts';
import { type DeliveryEvent, eventOfMessage } from '../../model/delivery-event.ts';
import { type Cancel, type Clock, systemClock } from '../../platform/clock.ts';
import { until } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { commandStatus } from '../../smpp/command-status.ts';
import type { ShortMessagePdu } from '../../smpp/pdu.ts';
import { parseReceipt } from '../../smpp/receipt.ts';
import type { ReconnectBudget } from '../../smpp/reconnect-budget.ts';
import type { CarrierStatus } from '../contract.ts';
import { CarrierBinds } from './binds.ts';
import type { HeldMessage } from './held-message.ts';
import { Intake } from './intake.ts';
import { Lanes } from './lanes.ts';
import { Ledger } from './ledger.ts';
import { Outstanding } from './outstanding.ts';
import { pacing } from './pacing.ts';
import { parkReceipt, takeParked } from './parked-receipts.ts';
import { lookUpReceipt } from './receipt-look-up.ts';
import { type Respond, Receipts } from './receipts.ts';
import { replayEvents } from './replay.ts';
import { type SubmitToken, Sender } from './sender.ts';
import { type SubmitAnswer, Settlement } from './settlement.ts';
import { segmentToldOf } from './submit-pdu.ts';
import { UnknownSubmits } from './unknown-submits.ts';

export type CarrierActorParts = {
  readonly carrier: CarrierConfig;
  readonly simulated: SimulatedPorts;
  readonly bus: Bus;
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  readonly reconnectBudget: ReconnectBudget;
  readonly clock?: Clock;
};

const laneCapacity = 16_384;
/** Gauges, and messages whose validity ends while nothing else happens. */
const tickMs = 1_000;

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
  #stopTick: Cancel = () => {};

  constructor(parts: CarrierActorParts) {
    const { carrier, bus, publisher, cipher } = parts;
    const clock = parts.clock ?? systemClock;
    this.#parts = parts;
    this.#clock = clock;
    this.#ledger = new Ledger(clock);
    this.#events = new EventWriter(publisher, { clock });
    this.#outstanding = new Outstanding(carrier.receiptId, clock);
    this.#unknown = new UnknownSubmits(clock);
    const tps = carrier.tpsScope === 'bind' ? carrier.tps * bindCount(carrier) : carrier.tps;
    const pace = pacing(tps);
    const wire = pacing(tps);
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
      },
      ledger: this.#ledger,
      clock,
      intake: () => this.#intake,
      onSubmitted: (submitted) => this.#receipts.onSubmitted(submitted),
      onUnknown: (unknown) => this.#receipts.onUnknown(unknown),
    });
    this.#binds = new CarrierBinds(carrier, parts.simulated, parts.reconnectBudget, clock, {
      onAnswer: (token, answer) => this.#settlement.onAnswer(token, answer),
      onNoAnswer: (token, why) => this.#settlement.onNoAnswer(token, why),
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
      onNotWritten: (held) => this.#settlement.onNotWritten(held),
    });
    this.#intake = new Intake({
      bus,
      publisher,
      cipher,
      carrier: carrier.name,
      classes: carrier.classes,
      windowPdus: this.#binds.windowPdus,
      lanes: this.#lanes,
      ledger: this.#ledger,
      clock,
      onArrival: () => this.#sender.wake(),
      onUnresolved: (held) => this.#settlement.onUnresolved(held),
    });
  }

  /** Replays, then takes work. The binds connect meanwhile: a carrier that is down does not stop the start. */
  async start(): Promise<void> {
    const { bus, publisher, carrier } = this.#parts;
    await replayEvents(bus, carrier.name, (event) => this.#learn(event), this.#clock);
    this.#parked = await takeParked(
      { bus, publisher, carrier: carrier.name, clock: this.#clock },
      (receipt, respond, waits) => this.#receipts.take(receipt, respond, waits),
    );
    await this.#intake.start();
    this.#stopTick = this.#clock.every(tickMs, () => this.#tick());
  }

  /** Takes nothing new, lets what is written be answered, makes every outcome durable, unbinds. */
  async drain(deadlineMs: number): Promise<void> {
    const endAtMs = this.#clock.monotonicMs() + deadlineMs;
    const leftMs = () => Math.max(100, endAtMs - this.#clock.monotonicMs());
    this.#sender.stop();
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

  get status(): CarrierStatus {
    const binds = this.#binds.status;
    return {
      carrier: this.#parts.carrier.name,
      bindsBound: this.#binds.boundCount,
      bindsWanted: binds.length,
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

  #onDeliver(pdu: ShortMessagePdu, respond: Respond): void {
    const reading = parseReceipt(pdu);
    if (reading.kind === 'receipt') {
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
    const carrier = this.#parts.carrier.name;
    metrics.bindState.set({ carrier }, this.#binds.boundCount);
    metrics.windowInUse.set({ carrier }, this.#binds.windowUsed);
    metrics.outstandingReceipts.set({ carrier }, this.#outstanding.size);
    for (const category of categories) metrics.laneDepth.set({ carrier, category }, this.#lanes.size(category));
    this.#sender.wake();
  }
}

function bindCount(carrier: CarrierConfig): number {
  return carrier.binds.filter((bind) => bind.type !== 'receiver').reduce((sum, bind) => sum + bind.count, 0);
}

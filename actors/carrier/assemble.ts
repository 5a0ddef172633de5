// Puts the parts of one carrier together, here and nowhere else. The parts know nothing of each other but what they
// are handed; to follow a message read intake → lanes → sender → binds → from-binds → settlement, and for its receipt
// binds → from-binds → receipts. Nothing runs yet when this returns, except that the binds begin to connect.
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { removedWhy, tellBeacon } from '../../cluster/bus/carrier-beacon.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { type AccountQueueMax, accountQueueMaxDefault } from '../../platform/limits-lanes.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { laneSubject } from '../../cluster/bus/subjects.ts';
import { type CarrierConfig, type SimulatedPorts, bindsOf, sandboxCarrierName } from '../../config/configuration.ts';
import type { CarrierOrders } from '../../cluster/operator-commands/contract.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { Message } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import type { CarrierHealthView } from '../../policy/contract.ts';
import { type LateGates, passLateGates } from '../../policy/late/late-gates.ts';
import { everyCarrierIsGood, isAvoided } from '../../policy/routing/avoid.ts';
import type { ReconnectBudget } from '../../smpp/reconnect-budget.ts';
import { CarrierFlight } from '../flight/carrier-flight.ts';
import type { DumpSettings } from '../flight/dumps.ts';
import { watchPacing } from '../flight/watch-pacing.ts';
import type { BindLeases } from '../lease/contract.ts';
import { noOtherNodes } from '../lease/no-other-nodes.ts';
import { CarrierBinds } from './binds/binds.ts';
import { fromBinds } from './binds/from-binds.ts';
import { CarrierHealth } from './health/health.ts';
import type { MoveRules } from './health/health-decision.ts';
import type { InFlightMessage } from './in-flight/in-flight-message.ts';
import { InboundDoor } from './receipts/inbound-door.ts';
import { Intake, laneHeldMax } from './intake/intake.ts';
import { type ClaimVerdict, SharedClaims, onlyOurs } from './repeats/intent-claims.ts';
import { Lanes } from './intake/lanes.ts';
import { HeardTime } from './repeats/heard-time.ts';
import { Ledger } from './repeats/ledger.ts';
import { ReplayFloor } from './repeats/replay-floor.ts';
import { Mover } from './health/mover.ts';
import { Outstanding } from './receipts/outstanding.ts';
import { type Pacing, pacing } from './pacing/pacing.ts';
import { parkReceipt } from './receipts/parked-receipts.ts';
import { lookUpReceipt } from './receipts/receipt-look-up.ts';
import { type RecipientOf, asWritten } from './receipts/receipt-numbers.ts';
import { receiptFormLearnt } from './receipts/receipt-form.ts';
import { Receipts } from './receipts/receipts.ts';
import { beginCounters } from './carrier-counters.ts';
import { countEnd } from './outcome/ended.ts';
import { refusedLate } from './outcome/late-refusal.ts';
import { type ResendPolicy, neverResend } from './outcome/resend.ts';
import { Reroute } from './health/reroute.ts';
import { Sender } from './submit/sender.ts';
import { Settlement } from './outcome/settlement.ts';
import { UnknownSubmits } from './outcome/unknown-submits.ts';
import { wasBegun, wasTaken } from './health/was-taken.ts';

/** What a carrier actor is given. */
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
  /** Whether a carrier that a message's plan names is still there. Without it: all are. */
  readonly isConfigured?: (carrier: string) => boolean;
  /** The carrier itself is configured no more: where its messages can go by today's routes. */
  readonly waysOfRemoved?: (message: Message) => readonly string[];
  /** Without them: validity alone. */
  readonly lateGates?: LateGates;
  /** What the carriers' receipts call a recipient. Without it: only what is written internationally. */
  readonly recipientOf?: RecipientOf;
  /** Without it: what is unknown is never sent again. */
  readonly resendUnknown?: ResendPolicy;
  /** What operators ordered of it before it began. */
  readonly orders?: CarrierOrders;
  /** Where lost sessions leave what was recorded of them. Without it: nowhere. */
  readonly flightDumps?: DumpSettings | null;
  /** What one account may have waiting in a lane. */
  readonly accountQueueMax?: AccountQueueMax;
  /** What may wait in one lane at most; without it all that its consumers may give. */
  readonly laneMax?: number;
  /** An account's share of a lane beside others; 1 without it. */
  readonly weightOf?: (accountId: string) => number;
  /** Without them: there are no other nodes. */
  readonly leases?: BindLeases;
  readonly clock?: Clock;
};

/** What it is made of. */
export type AssembledCarrier = {
  /** What is in force; the parts hold on to this one object, so that a change of its live fields reaches them all. */
  readonly carrier: CarrierConfig;
  readonly clock: Clock;
  readonly lanes: Lanes<InFlightMessage>;
  readonly ledger: Ledger;
  /** From where a restart must read. */
  readonly floor: ReplayFloor;
  readonly events: EventWriter;
  readonly outstanding: Outstanding;
  readonly receipts: Receipts;
  readonly binds: CarrierBinds;
  readonly sender: Sender;
  readonly intake: Intake;
  readonly health: CarrierHealth;
  readonly mover: Mover;
  readonly flight: CarrierFlight;
  readonly pacing: Pacing;
  /** Null where there are no other nodes. */
  readonly shared: SharedClaims | null;
};

const movesDefault: MoveRules = { otpMovesAfterMs: 1_000, othersMoveAfterMs: 30_000 };
/** Tells this life of an actor from any other that serves the carrier. */
const nodeNameBytes = 6;

export function assembleCarrier(parts: CarrierActorParts): AssembledCarrier {
  const { bus, publisher, cipher, simulated, reconnectBudget, clock = systemClock } = parts;
  const carrier = { ...parts.carrier };
  const { name } = carrier;
  const lanes = new Lanes<InFlightMessage>(
    parts.laneMax ?? laneHeldMax,
    limits.carrier.laneAccountsMax,
    parts.weightOf,
  );
  const heard = new HeardTime(clock);
  const ledger = new Ledger({ ...clock, monotonicMs: () => heard.ms });
  const binding = bindsOf(carrier, simulated).length;
  const flight = new CarrierFlight({ carrier: name, binds: binding, clock, dumps: parts.flightDumps ?? null });
  const { decided } = flight;
  beginCounters(name);
  const events = new EventWriter(publisher, { clock, watch: (event) => decided.event(event), onDurable: countEnd });
  const outstanding = new Outstanding(carrier.receiptId, clock, (form) => receiptFormLearnt(carrier, form));
  const unknown = new UnknownSubmits(clock);
  const paced = pacingOf(carrier);
  const node = secretBytes(nodeNameBytes).toString('hex');
  const health = new CarrierHealth({
    carrier: name,
    clock,
    rules: parts.moves ?? movesDefault,
    tell(state, why) {
      decided.changed('health', why === '' ? state : `${state}: ${why}`);
      tellBeacon(bus, { carrier: name, node, state, why: parts.waysOfRemoved ? removedWhy : why });
    },
  });
  const parking = { bus, publisher, carrier: name, clock };
  const receipts = new Receipts({
    carrier: name,
    events,
    outstanding,
    unknown,
    clock,
    onTold: (submitted, kind) => settlement.onReceipt(submitted, kind),
    park: (receipt, parked, delayMs, done) => parkReceipt(parking, receipt, parked, delayMs, done),
    lookUp: (receipt, ids) => lookUpReceipt(bus, name, receipt, ids),
  });
  const spared = { carrier, pacing: watchPacing(paced, decided, clock), clock };
  const onVerdict = decided.verdict.bind(decided);
  const settlement = new Settlement({
    ...spared,
    publisher,
    events,
    cipher,
    ledger,
    nextSeq: () => floor.nextSeq,
    intake: () => intake,
    reroute: () => reroute,
    whyAvoided: () => health.why,
    resendUnknown: parts.resendUnknown ?? neverResend,
    onSubmitted: (submitted) => receipts.onSubmitted(submitted),
    onUnknown: (event) => receipts.onUnknown(event),
    onVerdict,
    wasBegun: (message) => wasBegun(bus, message),
  });
  const late = { ...spared, events, onVerdict, onNotTaken: (rejected: DeliveryEvent) => receipts.learn(rejected) };
  const onRoom = () => sender.wake();
  const inbound = new InboundDoor({
    carrier: name,
    livemode: name !== sandboxCarrierName,
    alphabets: () => carrier.wire.text,
    publish: (subject, record, id, done) => publisher.publish(subject, record, id, done),
    cipher,
    clock,
  });
  const handlers = fromBinds({
    carrier: name,
    clock,
    health,
    pacing: paced,
    settlement,
    receipts,
    inbound,
    events,
    onLateRefusal: (token, status) => refusedLate(late, token, status),
    recipientOf: parts.recipientOf ?? asWritten,
    onRoom,
  });
  const leases = parts.leases ?? noOtherNodes;
  const shared = leases.shared ? new SharedClaims(ledger, () => leases.epoch(), clock) : null;
  const claims = shared ?? onlyOurs;
  const onBehind = (held: InFlightMessage, verdict: ClaimVerdict) => {
    // Told for whoever comes next: its intent stands open, and nothing was written.
    if (verdict === 'lost') settlement.onNotWritten(held);
    intake.standBehind(held, verdict);
  };
  const binds = new CarrierBinds(carrier, simulated, reconnectBudget, clock, { ...handlers, flight }, leases);
  const sender = new Sender({
    carrier,
    lanes,
    pacing: paced,
    events,
    claims,
    onBehind,
    ports: binds.ports,
    clock,
    onRefused: (held, status, code) => settlement.onRefused(held, status, code),
    onPutOff: (held, code, untilMs) => settlement.onPutOff(held, code, untilMs),
    lateGates: parts.lateGates ?? passLateGates,
    onNotWritten: (held) => settlement.onNotWritten(held),
    onIntentOld(held) {
      settlement.onNotWritten(held);
      intake.tryAgain(held);
    },
    nextSeq: () => floor.nextSeq,
    onHeldBack: (why) => decided.heldBack(why === 'bind' && binds.orders.ordered !== 'running' ? 'order' : why),
  });
  const reroute = new Reroute({
    carrier: name,
    publisher,
    events,
    cipher,
    ledger,
    claims,
    onBehind,
    clock,
    nextSeq: () => floor.nextSeq,
    carriers: parts.carriers ?? everyCarrierIsGood,
    isConfigured: parts.isConfigured,
    waysOfRemoved: parts.waysOfRemoved,
    intake: () => intake,
    settle: (held) => settlement.settle(held),
    wasTaken: (message) => wasTaken(bus, message),
  });
  const mover = new Mover({
    clock,
    reroute,
    held: () => intake.held(),
    leaveLane: (held) => lanes.remove(held),
    hasRoom: ({ category }) => events.hasRoom && publisher.hasRoom(laneSubject(category)),
    onExpired: (held) => settlement.onRefused(held, 'expired', 'validity_passed'),
    onNoWay: parts.waysOfRemoved === undefined ? null : (held) => settlement.onRefused(held, 'failed', 'no_route'),
    onNotWritten: (held) => settlement.onNotWritten(held),
  });
  const intake = new Intake({
    bus,
    publisher,
    cipher,
    carrier: name,
    windowPdus: binds.windowPdus,
    lanes,
    ledger,
    clock,
    onArrival(held) {
      if (isAvoided(health.state, held.category)) mover.moveOne(held, health.why);
      sender.wake();
    },
    onRerouted: (held, rerouted) => reroute.repeat(held, rerouted),
    onUnresolved: (held) => settlement.onUnresolved(held),
    onRegained: (held) => settlement.onRegained(held),
    onPutOff: (held, before) => settlement.onPutOffBefore(held, before),
    epoch: () => claims.epoch(),
    isLiving: (epoch) => leases.isLiving(epoch),
    node,
    accountQueueMax: parts.accountQueueMax ?? accountQueueMaxDefault,
  });
  const floor = new ReplayFloor({
    bus,
    carrier: name,
    clock,
    writtenTo: () => events.lastSeq,
    held: () => intake.held(),
    ledger,
    heard,
    isHeard: () => intake.isHeard,
    tellAgain(held) {
      // What another node has begun meanwhile is not closed by it.
      if (held.epoch === 0) held.epoch = claims.epoch();
      settlement.onNotWritten(held);
    },
  });
  events.onWentBack = () => floor.startAgain();
  return {
    carrier,
    clock,
    lanes,
    ledger,
    floor,
    events,
    outstanding,
    receipts,
    binds,
    sender,
    intake,
    health,
    mover,
    flight,
    pacing: paced,
    shared,
  };
}

function pacingOf(carrier: CarrierConfig): Pacing {
  const paced = pacing(contractOf(carrier));
  // The sandbox plays a throttled carrier for one number, not for everybody's tests.
  return carrier.name === sandboxCarrierName ? { ...paced, slowDown() {} } : paced;
}

/** Segments per second that the carrier's contract allows over all its binds. */
export function contractOf(carrier: CarrierConfig): number {
  return carrier.tpsScope === 'bind' ? carrier.tps * bindCount(carrier) : carrier.tps;
}

function bindCount(carrier: CarrierConfig): number {
  return carrier.binds.filter((bind) => bind.type !== 'receiver').reduce((sum, bind) => sum + bind.count, 0);
}

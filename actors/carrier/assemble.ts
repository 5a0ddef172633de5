// Puts the parts of one carrier together, here and nowhere else. The parts know nothing of each other but what they
// are handed; to follow a message read intake → lanes → sender → binds → from-binds → settlement, and for its receipt
// binds → from-binds → receipts. Nothing runs yet when this returns, except that the binds begin to connect.
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { carrierHealth, removedWhy } from '../../cluster/bus/carrier-heartbeat.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { type AccountQueueMax, accountQueueMaxDefault } from '../../platform/limits-lanes.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { laneSubject } from '../../cluster/bus/subjects.ts';
import { type CarrierConfig, type SimulatedPorts, bindsOf, sandboxCarrierName } from '../../config/configuration.ts';
import type { CarrierCommands } from '../../cluster/operator-commands/contract.ts';
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
import { singleNodeLeases } from '../lease/single-node-leases.ts';
import { CarrierBinds } from './binds/binds.ts';
import { fromBinds } from './binds/from-binds.ts';
import { CarrierHealth } from './failover/health.ts';
import type { FailoverPolicy } from './failover/health-decision.ts';
import type { InFlightMessage } from './in-flight/in-flight-message.ts';
import { DeliverSmHandler } from '../inbound/deliver-sm-handler.ts';
import { Intake, laneHeldMax } from './intake/intake.ts';
import { type ClaimStatus, localClaims } from './deduplication/intent-claims.ts';
import { ClusterClaims } from './multi-node/cluster-claims.ts';
import { Lanes } from './queue/lanes.ts';
import { ConsumerUptime } from './deduplication/consumer-uptime.ts';
import { ReplayIndex } from './deduplication/replay-index.ts';
import { ReplayFloor } from './deduplication/replay-floor.ts';
import { Failover } from './failover/failover.ts';
import { Outstanding } from './receipts/outstanding.ts';
import { type Pacing, pacing } from './pacing/pacing.ts';
import { parkReceipt } from './receipts/parked-receipts.ts';
import { lookUpReceipt } from './receipts/receipt-look-up.ts';
import { type RecipientOf, asWritten } from './receipts/receipt-numbers.ts';
import { receiptFormLearnt } from './receipts/receipt-form.ts';
import { Receipts } from './receipts/receipts.ts';
import { contractOf } from './pacing/contract-rate.ts';
import { beginCounters } from './carrier-counters.ts';
import { countTerminalEvent } from '../terminal-counters.ts';
import { refusedLate } from './outcome/late-refusal.ts';
import { type ResendPolicy, neverResend } from './outcome/resend.ts';
import { Reroute } from './failover/reroute.ts';
import { Sender } from './submit/sender.ts';
import { Settlement } from './outcome/settlement.ts';
import { UnknownSubmits } from './outcome/unknown-submits.ts';
import { wasBegun, wasSubmitted } from './deduplication/was-submitted.ts';

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
  readonly moves?: FailoverPolicy;
  /** Whether a carrier that a message's plan names is still there. Without it: all are. */
  readonly isConfigured?: (carrier: string) => boolean;
  /** The carrier itself is configured no more: where its messages can go by today's routes. */
  readonly candidatesOfRemoved?: (message: Message) => readonly string[];
  /** Without them: validity alone. */
  readonly lateGates?: LateGates;
  /** What the carriers' receipts call a recipient. Without it: only what is written internationally. */
  readonly recipientOf?: RecipientOf;
  /** Without it: what is unknown is never sent again. */
  readonly resendUnknown?: ResendPolicy;
  /** What operators ordered of it before it began. */
  readonly commands?: CarrierCommands;
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
  /** What is in effect; the parts hold on to this one object, so that a change of its live fields reaches them all. */
  readonly carrier: CarrierConfig;
  readonly clock: Clock;
  readonly lanes: Lanes<InFlightMessage>;
  readonly replayIndex: ReplayIndex;
  /** From where a restart must read. */
  readonly floor: ReplayFloor;
  readonly events: EventWriter;
  readonly outstanding: Outstanding;
  readonly receipts: Receipts;
  readonly binds: CarrierBinds;
  readonly sender: Sender;
  readonly intake: Intake;
  readonly health: CarrierHealth;
  readonly failover: Failover;
  readonly flight: CarrierFlight;
  readonly pacing: Pacing;
  /** Null where there are no other nodes. */
  readonly shared: ClusterClaims | null;
};

const failoverDefault: FailoverPolicy = { otpFailoverAfterMs: 1_000, othersFailoverAfterMs: 30_000 };
/** Identifies this incarnation among the actors that serve the carrier. */
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
  const heard = new ConsumerUptime(clock);
  const replayIndex = new ReplayIndex({ ...clock, monotonicMs: () => heard.ms });
  const binding = bindsOf(carrier, simulated).length;
  const flight = new CarrierFlight({ carrier: name, binds: binding, clock, dumps: parts.flightDumps ?? null });
  const { decided } = flight;
  beginCounters(name);
  const events = new EventWriter(publisher, {
    clock,
    watch: (event) => decided.event(event),
    onDurable: countTerminalEvent,
  });
  const outstanding = new Outstanding(carrier.receiptId, clock, (form) => receiptFormLearnt(carrier, form));
  const unknown = new UnknownSubmits(clock);
  const paced = pacingOf(carrier);
  const node = secretBytes(nodeNameBytes).toString('hex');
  const health = new CarrierHealth({
    carrier: name,
    clock,
    rules: parts.moves ?? failoverDefault,
    publish(state, why) {
      decided.changed('health', why === '' ? state : `${state}: ${why}`);
      carrierHealth.publish(bus, { carrier: name, node, state, why: parts.candidatesOfRemoved ? removedWhy : why });
    },
  });
  const parking = { bus, publisher, carrier: name, clock };
  const receipts = new Receipts({
    carrier: name,
    events,
    outstanding,
    unknown,
    clock,
    onPublished: (submitted, kind) => settlement.onReceipt(submitted, kind),
    park: (receipt, parked, delayMs, done) => parkReceipt(parking, receipt, parked, delayMs, done),
    lookUp: (receipt, ids) => lookUpReceipt(bus, name, receipt, ids),
  });
  const cooldown = { carrier, pacing: watchPacing(paced, decided, clock), clock };
  const onOutcome = decided.verdict.bind(decided);
  const settlement = new Settlement({
    ...cooldown,
    publisher,
    events,
    cipher,
    replayIndex,
    nextSeq: () => floor.nextSeq,
    intake: () => intake,
    reroute: () => reroute,
    whyAvoided: () => health.why,
    resendUnknown: parts.resendUnknown ?? neverResend,
    onSubmitted: (submitted) => receipts.onSubmitted(submitted),
    onUnknown: (event) => receipts.onUnknown(event),
    onOutcome,
    wasBegun: (message) => wasBegun(bus, message),
  });
  const late = { ...cooldown, events, onOutcome, onNotTaken: (rejected: DeliveryEvent) => receipts.learn(rejected) };
  const onRoom = () => sender.wake();
  const inbound = new DeliverSmHandler({
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
  const leases = parts.leases ?? singleNodeLeases;
  const shared = leases.shared ? new ClusterClaims(replayIndex, () => leases.epoch(), clock) : null;
  const claims = shared ?? localClaims;
  const onClaimLost = (inFlight: InFlightMessage, verdict: ClaimStatus) => {
    // Told for whoever comes next: its intent stands open, and nothing was written.
    if (verdict === 'lost') settlement.onNotWritten(inFlight);
    intake.yieldTo(inFlight, verdict);
  };
  const binds = new CarrierBinds(carrier, simulated, reconnectBudget, clock, { ...handlers, flight }, leases);
  const sender = new Sender({
    carrier,
    lanes,
    pacing: paced,
    events,
    claims,
    onClaimLost,
    ports: binds.ports,
    clock,
    onRefused: (inFlight, status, code) => settlement.onRefused(inFlight, status, code),
    onDeferred: (inFlight, code, untilMs) => settlement.onDeferred(inFlight, code, untilMs),
    lateGates: parts.lateGates ?? passLateGates,
    onNotWritten: (inFlight) => settlement.onNotWritten(inFlight),
    onIntentOld(inFlight) {
      settlement.onNotWritten(inFlight);
      intake.tryAgain(inFlight);
    },
    nextSeq: () => floor.nextSeq,
    onDelayed: (why) => decided.delayed(why === 'bind' && binds.commands.desiredState !== 'running' ? 'order' : why),
  });
  const reroute = new Reroute({
    carrier: name,
    publisher,
    events,
    cipher,
    replayIndex,
    claims,
    onClaimLost,
    clock,
    nextSeq: () => floor.nextSeq,
    carriers: parts.carriers ?? everyCarrierIsGood,
    isConfigured: parts.isConfigured,
    candidatesOfRemoved: parts.candidatesOfRemoved,
    intake: () => intake,
    settle: (inFlight) => settlement.settle(inFlight),
    wasSubmitted: (message) => wasSubmitted(bus, message),
  });
  const failover = new Failover({
    clock,
    reroute,
    inFlight: () => intake.inFlight(),
    leaveLane: (inFlight) => lanes.remove(inFlight),
    hasCapacity: ({ category }) => events.hasCapacity && publisher.hasCapacity(laneSubject(category)),
    onExpired: (inFlight) => settlement.onRefused(inFlight, 'expired', 'validity_passed'),
    onNoAlternative:
      parts.candidatesOfRemoved === undefined
        ? null
        : (inFlight) => settlement.onRefused(inFlight, 'failed', 'no_route'),
    onNotWritten: (inFlight) => settlement.onNotWritten(inFlight),
  });
  const intake = new Intake({
    bus,
    publisher,
    cipher,
    carrier: name,
    windowPdus: binds.windowPdus,
    lanes,
    replayIndex,
    clock,
    onArrival(inFlight) {
      if (isAvoided(health.state, inFlight.category)) failover.moveOne(inFlight, health.why);
      sender.wake();
    },
    onRerouted: (inFlight, rerouted) => reroute.repeat(inFlight, rerouted),
    onUnresolved: (inFlight) => settlement.onUnresolved(inFlight),
    onRegained: (inFlight) => settlement.onRegained(inFlight),
    onDeferred: (inFlight, before) => settlement.onDeferredBefore(inFlight, before),
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
    inFlight: () => intake.inFlight(),
    replayIndex,
    heard,
    isHeard: () => intake.isHeard,
    republish(inFlight) {
      // What another node has begun meanwhile is not closed by it.
      if (inFlight.epoch === 0) inFlight.epoch = claims.epoch();
      settlement.onNotWritten(inFlight);
    },
  });
  events.onWentBack = () => floor.startAgain();
  return {
    carrier,
    clock,
    lanes,
    replayIndex,
    floor,
    events,
    outstanding,
    receipts,
    binds,
    sender,
    intake,
    health,
    failover,
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

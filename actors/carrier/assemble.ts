// Builds the parts of one carrier, each from those above it. To follow a message read intake → lanes → sender → binds →
// bind-events → carry-out → settlement; for its receipt, binds → bind-events → receipts. When this returns only the
// binds are active: they begin to connect.
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { carrierHealth, removedWhy } from '../../cluster/bus/carrier-heartbeat.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import { copiesDelivered } from '../../cluster/bus/copies-delivered.ts';
import { otpTimes } from '../../cluster/bus/otp-times.ts';
import { EventWriter } from '../../cluster/bus/event-writer.ts';
import { type AccountQueueMax, accountQueueMaxDefault } from '../../platform/limits-lanes.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { accountShardHeldMax } from '../../cluster/bus/streams.ts';
import { laneSubject } from '../../cluster/bus/subjects.ts';
import { type CarrierConfig, type SimulatedPorts, bindsOf, sandboxCarrierName } from '../../config/configuration.ts';
import type { CarrierCommands } from '../../cluster/operator-commands/contract.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { CarrierState } from '../../model/carrier-state.ts';
import type { Message } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { SlowTimes } from '../../platform/slow-times.ts';
import type { CarrierHealthView } from '../../policy/contract.ts';
import { type LateGates, passLateGates } from '../../policy/late/late-gates.ts';
import { everyCarrierIsGood, isAvoided } from '../../policy/routing/avoid.ts';
import type { ReconnectBudget } from '../../smpp/reconnect-budget.ts';
import { CarrierFlight } from '../flight/carrier-flight.ts';
import type { DumpSettings } from '../flight/dumps.ts';
import { watchPacing } from '../flight/decision-ring.ts';
import type { BindLeases } from '../lease/contract.ts';
import { singleNodeLeases } from '../lease/single-node-leases.ts';
import { CarrierBinds } from './binds/binds.ts';
import { BindEvents } from './bind-events.ts';
import { CarryOut } from './carry-out.ts';
import { CarrierHealth } from './failover/health.ts';
import type { FailoverPolicy } from './failover/health-decision.ts';
import type { InFlightMessage } from './in-flight/in-flight-message.ts';
import { DeliverSmHandler } from '../inbound/deliver-sm-handler.ts';
import { Intake, laneHeldMax } from './intake/intake.ts';
import { EventSequence } from './deduplication/event-sequence.ts';
import { ConsumerUptime, ReplayFloor } from './deduplication/replay-floor.ts';
import { localClaims } from './deduplication/intent-claims.ts';
import { ClusterClaims } from './multi-node/cluster-claims.ts';
import { Lanes } from './queue/lanes.ts';
import { MessagesInFlight } from './queue/messages-in-flight.ts';
import { QueryUnknown } from './receipts/query-unknown.ts';
import { ReplayIndex } from './deduplication/replay-index.ts';
import { Failover } from './failover/failover.ts';
import { Outstanding, receiptFormLearnt } from './receipts/outstanding.ts';
import { CampaignShare } from './pacing/campaign-share.ts';
import { type Pacing, contractOf, pacing as pacingFor } from './pacing/pacing.ts';
import { OtpObservations } from './receipts/otp-observations.ts';
import { parkReceipt } from './receipts/parked-receipts.ts';
import { Receipts, type RecipientOf, asWritten, lookUpReceipt } from './receipts/receipts.ts';
import { beginCounters, countTerminalEvent } from '../terminal-counters.ts';
import { Alternatives } from './outcome/alternatives.ts';
import { Completion } from './outcome/completion.ts';
import { Deferrals } from './outcome/deferrals.ts';
import { type ResendPolicy, Resend, neverResend } from './outcome/resend.ts';
import { Reroute } from './failover/reroute.ts';
import { CopyCancels } from './failover/copy-cancels.ts';
import { Hedges } from './failover/hedges.ts';
import { ReceiptHedges } from './failover/receipt-hedges.ts';
import { ResponseHedges } from './failover/response-hedges.ts';
import { Sender } from './submit/sender.ts';
import { Settlement } from './outcome/settlement.ts';
import { UnknownSubmits } from './outcome/unknown-submits.ts';
import { wasBegun, wasSubmitted } from './deduplication/was-submitted.ts';

export type CarrierActorParts = {
  readonly carrier: CarrierConfig;
  readonly simulated: SimulatedPorts;
  readonly bus: Bus;
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  readonly reconnectBudget: ReconnectBudget;
  /** The health of all carriers, for the choice of another one. */
  readonly carriers?: CarrierHealthView;
  readonly moves?: FailoverPolicy;
  /** Whether a carrier that a message's plan names is still configured. Without it: all are. */
  readonly isConfigured?: (carrier: string) => boolean;
  /** Set when this carrier is no longer configured: where today's routes would send its messages. */
  readonly candidatesOfRemoved?: (message: Message) => readonly string[];
  /** Without them only the validity is checked. */
  readonly lateGates?: LateGates;
  /** What the carriers' receipts call a recipient. Without it: only numbers in international format. */
  readonly recipientOf?: RecipientOf;
  /** The prefix by which the country knows a number's operator. Without it: all numbers are of one. */
  readonly operatorPrefixOf?: (to: string) => string;
  /** Without it no unknown submit is sent again. */
  readonly resendUnknown?: ResendPolicy;
  /** Operator commands given before the actor started. */
  readonly commands?: CarrierCommands;
  /** Where the flight records of lost sessions are written. Without it: nowhere. */
  readonly flightDumps?: DumpSettings | null;
  /** How much one account may have waiting in a lane. */
  readonly accountQueueMax?: AccountQueueMax;
  /** How much may wait in one lane; without it, all that its consumers may deliver. */
  readonly laneMax?: number;
  /** An account's weight in a lane; 1 without it. */
  readonly weightOf?: (accountId: string) => number;
  /** Common to the carriers of a thread. Without it: this carrier's own. */
  readonly campaignShare?: CampaignShare;
  /** Absent on a single node. */
  readonly leases?: BindLeases;
  readonly clock?: Clock;
};

export type AssembledCarrier = ReturnType<typeof assembleCarrier>;

const failoverDefault: FailoverPolicy = { otpFailoverAfterMs: 200, othersFailoverAfterMs: 30_000 };
/** Identifies this incarnation among the actors that serve the carrier. */
const nodeNameBytes = 6;

export function assembleCarrier(parts: CarrierActorParts) {
  const { bus, publisher, cipher, simulated, reconnectBudget: budget, clock = systemClock } = parts;
  const { isConfigured, candidatesOfRemoved, carriers = everyCarrierIsGood, lateGates = passLateGates } = parts;
  const { operatorPrefixOf = () => '', campaignShare = new CampaignShare(clock) } = parts;
  const { recipientOf = asWritten, leases = singleNodeLeases, resendUnknown: policy = neverResend } = parts;
  const { laneMax = laneHeldMax, moves: rules = failoverDefault, accountQueueMax = accountQueueMaxDefault } = parts;
  /** The configuration in effect; the parts share this object, so that a change of its live fields reaches all. */
  const carrier = { ...parts.carrier };
  const { name } = carrier;
  const node = secretBytes(nodeNameBytes).toString('hex');
  const isLiving = (epoch: number) => leases.isLiving(epoch);
  beginCounters(name);

  const binding = bindsOf(carrier, simulated).length;
  const flight = new CarrierFlight({ carrier: name, binds: binding, clock, dumps: parts.flightDumps ?? null });
  const { decided } = flight;
  const onOutcome = decided.verdict.bind(decided);
  const otpObservations = new OtpObservations(bus, clock);
  const watch = (event: DeliveryEvent) => {
    decided.event(event);
    otpObservations.onEvent(event);
  };
  const events = new EventWriter(publisher, { clock, watch, onDurable: countTerminalEvent });
  const sequence = new EventSequence(() => events.lastSeq);
  const uptime = new ConsumerUptime(clock);
  const replayIndex = new ReplayIndex({ ...clock, monotonicMs: () => uptime.ms });
  /** Null on a single node. */
  const shared = leases.shared ? new ClusterClaims(replayIndex, () => leases.epoch(), clock) : null;
  const claims = shared ?? localClaims;

  const lanes = new Lanes<InFlightMessage>(laneMax, limits.carrier.laneAccountsMax, parts.weightOf);
  const messages = new MessagesInFlight(lanes, clock);
  const paced = pacingOf(carrier);
  const pacing = watchPacing(paced, decided, clock);
  const binds = new CarrierBinds({ carrier, simulated, budget, clock, leases, flight });
  const health = new CarrierHealth({ carrier: name, clock, rules, publish: publishHealth });

  const unknown = new UnknownSubmits(clock);
  const completion = new Completion({ events, messages, replayIndex, sequence, clock });
  const resend = new Resend({ carrier: name, clock, policy, messages, completion, unknown });
  const ofRecord = (message: Message) => wasBegun(bus, message);
  const deferrals = new Deferrals({ publisher, cipher, clock, completion, wasBegun: ofRecord });
  const alternatives = new Alternatives({ carrier: name, carriers, isConfigured, candidatesOfRemoved });
  const settlement = new Settlement({
    ...{ carrier, clock, pacing, completion, resend, alternatives, unknown, onOutcome },
    whyAvoided: () => health.why,
  });
  const outstanding = new Outstanding(carrier.receiptId, clock, (form) => receiptFormLearnt(carrier, form));
  const reroute = new Reroute({
    ...{ carrier: name, publisher, events, cipher, replayIndex, claims, clock, sequence, messages, completion },
    candidatesOfRemoved,
    wasSubmitted: (message) => wasSubmitted(bus, message),
  });
  const hedges = new Hedges({
    ...{ carrier: name, clock, rules: rules.hedging ?? null, alternatives, reroute, events, completion },
  });
  const responseHedges = new ResponseHedges({ clock, hedges, health });
  const cancels = new CopyCancels({
    ...{ carrier: name, clock, isSupported: carrier.wire.cancelSm, events },
    cancel: (fields, done) => binds.cancel(fields, done),
    publish: (delivered) => copiesDelivered.publish(bus, delivered),
  });
  const receiptHedges = new ReceiptHedges({
    ...{ clock, hedges, health, completion, cancels, operatorPrefixOf },
    isReceiving: () => binds.isReceiving,
    shardHeldMax: accountShardHeldMax(binds.windowPdus),
  });
  const parking = { bus, publisher, carrier: name, clock };
  const receipts = new Receipts({
    ...{ carrier: name, events, outstanding, unknown, clock, resend },
    otp: {
      onLast: (submitted, deliveredAfterMs) => receiptHedges.onReceipt(submitted, deliveredAfterMs),
      onDelivered: (submitted) => cancels.onDelivered(submitted),
    },
    park: (receipt, parked, delayMs, done) => parkReceipt(parking, receipt, parked, delayMs, done),
    lookUp: (receipt, ids) => lookUpReceipt(bus, name, receipt, ids),
  });
  const queryUnknown = !carrier.wire.querySm
    ? null
    : new QueryUnknown({
        ...{ receiptId: carrier.receiptId, clock },
        query: (fields, done) => binds.query(fields, done),
        onReceipt(receipt, respond) {
          health.onReceipt();
          receipts.take(receipt, respond);
        },
      });
  const carryOut = new CarryOut({
    ...{ messages, replayIndex, completion, settlement, deferrals, reroute, receipts, isLiving },
  });
  const { onRefused, onDeferred, onNotWritten, onIntentOld, onClaimLost } = carryOut;
  const intentTimes = new SlowTimes();
  const sender = new Sender({
    ...{ carrier, lanes, pacing: paced, events, claims, sequence, clock, ports: binds.ports, campaignShare },
    lateGates: cancels.asLateGate(lateGates),
    ...{ onRefused, onDeferred, onNotWritten, onIntentOld, onClaimLost, otpTimes: intentTimes },
    onOtpWritten: (token) => responseHedges.written(token),
    onDelayed: (why) => decided.delayed(why === 'bind' && binds.commands.desiredState !== 'running' ? 'order' : why),
  });
  const failover = new Failover({
    ...{ clock, messages, alternatives, onNotWritten },
    reroute: (inFlight, to, why, mayComeBack) => carryOut.reroute(inFlight, to, why, mayComeBack),
    leaveLane: (inFlight) => lanes.remove(inFlight),
    hasCapacity: ({ category }) => events.hasCapacity && publisher.hasCapacity(laneSubject(category)),
    onExpired: (inFlight) => onRefused(inFlight, 'expired', 'validity_passed'),
    onNoAlternative: candidatesOfRemoved && ((inFlight) => onRefused(inFlight, 'failed', 'no_route')),
  });
  const intake = new Intake({
    ...{ bus, publisher, cipher, carrier: name, lanes, messages, replayIndex, clock, node, accountQueueMax, isLiving },
    windowPdus: binds.windowPdus,
    onRegained: (inFlight) => carryOut.onRegained(inFlight),
    goOnWith: (inFlight, status) => carryOut.goOnWith(inFlight, status),
    epoch: () => claims.epoch(),
  });
  const floor = new ReplayFloor({
    ...{ bus, carrier: name, clock, sequence, replayIndex, uptime },
    inFlight: () => messages.all(),
    isReachable: () => intake.isReachable,
    republish(inFlight) {
      // A claim of another node made meanwhile is not closed by this event.
      if (inFlight.epoch === 0) inFlight.epoch = claims.epoch();
      onNotWritten(inFlight);
    },
  });
  const inbound = new DeliverSmHandler({
    ...{ carrier: name, livemode: name !== sandboxCarrierName, cipher, clock },
    alphabets: () => carrier.wire.text,
    publish: (subject, record, id, done) => publisher.publish(subject, record, id, done),
  });
  const bindEvents = new BindEvents({
    ...{ carrier, clock, health, pacing: paced, resend, carryOut, receipts, inbound, events, sender },
    ...{ settlement, responseHedges, receiptHedges, cancels, recipientOf, queryUnknown, otpObservations },
  });

  messages.onQueued = (inFlight) => {
    if (isAvoided(health.state, inFlight.category)) failover.moveOne(inFlight, health.why);
    sender.wake();
  };
  events.onWentBack = () => floor.startAgain();
  binds.open(bindEvents);
  const stopTalk = copiesDelivered.watch(bus, (delivered) => cancels.take(delivered));
  return {
    ...{ carrier, clock, lanes, messages, replayIndex, floor, events, outstanding, receipts, queryUnknown },
    ...{ binds, sender, intake, health, failover, hedges, responseHedges, receiptHedges, cancels, flight, shared },
    pacing: paced,
    publishOtpTimes,
    /** Listens to the other carriers no more. */
    stopTalk,
  };

  /** Publishes how long the intents of OTP took since the last call; nothing when there were none. */
  function publishOtpTimes(): void {
    const taken = intentTimes.take();
    if (taken.count > 0) otpTimes.publish(bus, { carrier: name, node, ...taken });
  }

  function publishHealth(state: CarrierState, why: string): void {
    decided.changed('health', why === '' ? state : `${state}: ${why}`);
    carrierHealth.publish(bus, { carrier: name, node, state, why: candidatesOfRemoved ? removedWhy : why });
  }
}

function pacingOf(carrier: CarrierConfig): Pacing {
  const paced = pacingFor(contractOf(carrier));
  // The sandbox simulates throttling for one number; it must not slow the tests of others.
  return carrier.name === sandboxCarrierName ? { ...paced, slowDown() {} } : paced;
}

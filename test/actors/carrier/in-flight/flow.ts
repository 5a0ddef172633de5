// Messages in flight through the real parts of a carrier (sender, settlement, carry-out, reroute, failover), with
// manual bus, carrier and clock. Only the intake is simulated: it has no bus to take records from.
import type { JsMsg } from '@nats-io/jetstream';
import { CarryOut, type CarryOutParts } from '../../../../actors/carrier/carry-out.ts';
import { EventSequence } from '../../../../actors/carrier/deduplication/event-sequence.ts';
import { Failover } from '../../../../actors/carrier/failover/failover.ts';
import { Reroute, type RerouteParts } from '../../../../actors/carrier/failover/reroute.ts';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import type { SubmitToken } from '../../../../actors/carrier/in-flight/submit-token.ts';
import { Lanes } from '../../../../actors/carrier/queue/lanes.ts';
import { MessagesInFlight } from '../../../../actors/carrier/queue/messages-in-flight.ts';
import { Alternatives } from '../../../../actors/carrier/outcome/alternatives.ts';
import { Completion } from '../../../../actors/carrier/outcome/completion.ts';
import { type DeferralParts, Deferrals } from '../../../../actors/carrier/outcome/deferrals.ts';
import { Resend } from '../../../../actors/carrier/outcome/resend.ts';
import { Settlement } from '../../../../actors/carrier/outcome/settlement.ts';
import { UnknownSubmits } from '../../../../actors/carrier/outcome/unknown-submits.ts';
import type { ClaimStatus } from '../../../../actors/carrier/deduplication/intent-claims.ts';
import { ReplayIndex } from '../../../../actors/carrier/deduplication/replay-index.ts';
import { Sender, type SenderParts } from '../../../../actors/carrier/submit/sender.ts';
import { bodyCipher } from '../../../../model/records/body-cipher.ts';
import type { EventDone } from '../../../../cluster/bus/event-order.ts';
import type { PublishDone } from '../../../../cluster/bus/publisher.ts';
import type { CarrierState } from '../../../../model/carrier-state.ts';
import { type DeliveryEvent, eventOfMessage } from '../../../../model/delivery-event.ts';
import type { Message } from '../../../../model/message.ts';
import { assert } from '../../../../platform/assert.ts';
import { limits } from '../../../../platform/limits.ts';
import type { LateGates } from '../../../../policy/late/late-gates.ts';
import { deferralText } from '../../../../actors/carrier/deduplication/deferral-event.ts';
import { carrierWith } from '../../../support/carrier-harness.ts';
import { bodyKey } from '../../../support/host-process.ts';
import { CampaignShare } from '../../../../actors/carrier/pacing/campaign-share.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

export type Known = Exclude<ClaimStatus, 'new' | 'lost'>;

const ackWaitMs = limits.carrier.ackWaitMs;
const otherEpoch = 9;

export class Flow {
  readonly clock = new ManualClock();
  readonly carrier = carrierWith({ port: 1 });
  readonly replayIndex = new ReplayIndex(this.clock);
  readonly lanes = new Lanes<InFlightMessage>(100);
  readonly messages = new MessagesInFlight(this.lanes, this.clock);
  /** Every message that was ever in flight here. */
  readonly all: InFlightMessage[] = [];
  readonly writes: EventDone[] = [];
  readonly publishes: PublishDone[] = [];
  readonly claims: { readonly inFlight: InFlightMessage; readonly answer: (verdict: ClaimStatus) => void }[] = [];
  readonly out: SubmitToken[] = [];
  readonly givenUp: SubmitToken[] = [];
  /** Accepted, and without an ack until their receipt comes or a copy is sent (failover/receipt-hedges.ts). */
  readonly held: { readonly inFlight: InFlightMessage; readonly release: () => void }[] = [];
  readonly questions: ((answer: 'yes' | 'no' | 'unclear') => void)[] = [];
  state: CarrierState = 'good';
  isBound = true;
  otherState: CarrierState = 'good';
  gate: 'open' | 'held' | 'expired' = 'open';
  isPaced = false;
  isOtherAlive = false;
  acks = 0;
  #asked = 0;
  readonly resend: Resend;
  readonly sender: Sender;
  readonly carryOut: CarryOut;
  readonly failover: Failover;
  readonly reroute: Reroute;
  readonly completion: Completion;

  constructor(resends: boolean) {
    const { clock, carrier, replayIndex, lanes, messages } = this;
    const ask = () => new Promise<'yes' | 'no' | 'unclear'>((resolve) => this.questions.push(resolve));
    const publisher = {
      publish: (_s: string, _p: Uint8Array, _i: string, done: PublishDone) => this.publishes.push(done),
      flush() {},
    };
    const events = {
      hasCapacity: true,
      write: (_event: DeliveryEvent, done: EventDone) => this.writes.push(done),
      flush() {},
    };
    const claims = {
      epoch: () => 7,
      confirm: (_kind: string, inFlight: InFlightMessage, answer: (verdict: ClaimStatus) => void) =>
        this.claims.push({ inFlight, answer }),
    };
    const cipher = bodyCipher(bodyKey);
    const sequence = new EventSequence(() => 0);
    const common = { carrier, publisher, events, cipher, replayIndex, clock, claims, sequence, messages };
    const completion = new Completion(common);
    this.completion = completion;
    const unknown = new UnknownSubmits(clock);
    const resend = new Resend({ carrier: 'alpha', clock, policy: () => resends, messages, completion, unknown });
    this.resend = resend;
    const deferrals = new Deferrals({ ...common, completion, wasBegun: ask } as unknown as DeferralParts);
    const carriers = { stateOf: () => this.otherState };
    const alternatives = new Alternatives({ carrier: 'alpha', carriers });
    const settlement = new Settlement({
      ...{ carrier, clock, completion, resend, alternatives, unknown },
      pacing: { pauseUntil() {}, slowDown() {} },
      whyAvoided: () => '',
    });
    const reroute = new Reroute({
      ...common,
      carrier: 'alpha',
      completion,
      wasSubmitted: ask,
    } as unknown as RerouteParts);
    this.reroute = reroute;
    this.carryOut = new CarryOut({
      ...{ messages, replayIndex, completion, settlement, deferrals, reroute },
      receipts: { onSubmitted() {} },
      isLiving: () => this.isOtherAlive,
    } satisfies CarryOutParts);
    const { onRefused, onDeferred, onNotWritten, onIntentOld, onClaimLost } = this.carryOut;
    const port = {
      window: 4,
      windowFree: 4,
      submit: (_pdu: unknown, token: SubmitToken) => this.out.push(token) > 0,
    };
    Object.defineProperty(port, 'window', { get: () => (this.isBound ? 4 : 0) });
    Object.defineProperty(port, 'windowFree', { get: () => (this.isBound ? Math.max(0, 4 - this.out.length) : 0) });
    this.sender = new Sender({
      ...common,
      lanes,
      pacing: {
        take: () => true,
        waitMs: () => 0,
        ratePerS: () => 1_000,
        // One PDU, then a wait: segments of a long message are outstanding while others are not written yet.
        writeWaitMs: () => (this.isPaced && (this.#asked += 1) % 2 === 0 ? 50 : 0),
        written: () => 0,
        intentTook() {},
      },
      campaignShare: new CampaignShare(this.clock),
      ...{ onRefused, onDeferred, onNotWritten, onIntentOld, onClaimLost },
      ports: [port],
      lateGates: ((_message, nowMs) => {
        if (this.gate === 'held') return { ok: false, status: 'held', code: 'quiet_hours', untilMs: nowMs + 5_000 };
        return this.gate === 'open' ? { ok: true } : { ok: false, status: 'expired', code: 'validity_passed' };
      }) as LateGates,
    } as unknown as SenderParts);
    this.failover = new Failover({
      ...{ clock, messages, alternatives, onNotWritten },
      reroute: (inFlight, to, why, mayComeBack) => this.carryOut.reroute(inFlight, to, why, mayComeBack),
      leaveLane: (inFlight) => lanes.remove(inFlight),
      hasCapacity: () => true,
      onExpired: (inFlight) => onRefused(inFlight, 'expired', 'validity_passed'),
    });
    messages.onQueued = (inFlight) => {
      if (this.state !== 'good') this.failover.moveOne(inFlight, 'no_bind');
      this.sender.wake();
    };
  }

  /** Delivers a record; `known`: the events of others about it. */
  deliver(changes: Partial<Message>, known: Known | null): void {
    const message = messageWith({
      acceptedAtMs: this.clock.nowMs(),
      validUntilMs: this.clock.nowMs() + 60_000,
      ...changes,
    });
    const key = message.messageId;
    const record = { ack: () => this.#onAck(inFlight), nak() {}, working() {} } as unknown as JsMsg;
    const inFlight = new InFlightMessage(key, message, record, this.clock.monotonicMs() + ackWaitMs);
    if (known !== null) this.#publish(inFlight, known);
    const status = this.replayIndex.statusOf(key);
    if (status === 'settled') return;
    inFlight.learnAccepted(this.replayIndex.takenBitsOf(key));
    this.messages.hold(inFlight);
    this.all.push(inFlight);
    if (!this.carryOut.goOnWith(inFlight, status)) this.messages.queue(inFlight);
  }

  /** A second copy of a message of one segment that waits for its answer. */
  hedge(n: number): void {
    const hedgeable = this.out.filter(({ inFlight }) => {
      const { state, hedged, message } = inFlight;
      return state === 'sending' && hedged === 'no' && message.segments === 1 && message.resends === 0;
    });
    const token = hedgeable[n % Math.max(1, hedgeable.length)];
    if (token !== undefined) this.reroute.copy(token.inFlight, 'beta', 'response');
  }

  /** The carrier accepts a message of one segment, whose receipt is waited for. */
  holdFor({ inFlight }: SubmitToken): void {
    if (inFlight.message.segments === 1) this.held.push({ inFlight, release: inFlight.hold() });
  }

  /** The wait for a receipt ends, by a copy or by the receipt. */
  endHold(withCopy: boolean): void {
    const held = this.held.shift();
    if (held === undefined) return;
    const { inFlight, release } = held;
    const mayCopy = inFlight.state === 'settling' && inFlight.isAllAccepted && inFlight.hedged === 'no';
    if (withCopy && mayCopy && inFlight.message.resends === 0) this.reroute.copy(inFlight, 'beta', 'receipt');
    release();
    this.completion.finishWhenDone(inFlight);
  }

  redeliver(inFlight: InFlightMessage): void {
    if (this.messages.find(inFlight.key) !== inFlight) return;
    if (inFlight.redelivered(inFlight.record, this.clock.monotonicMs() + ackWaitMs)) this.carryOut.onRegained(inFlight);
  }

  extendAckDeadline(): void {
    for (const inFlight of this.messages.all()) {
      if (inFlight.isOursAt(this.clock.monotonicMs())) inFlight.ackDeadlineMs = this.clock.monotonicMs() + ackWaitMs;
    }
  }

  standDown(): void {
    for (const inFlight of this.sender.standDown()) this.messages.tryAgain(inFlight);
  }

  claim(verdict: ClaimStatus): void {
    const claim = this.claims.shift();
    if (claim === undefined) return;
    if (verdict !== 'new' && verdict !== 'lost') this.#publish(claim.inFlight, verdict);
    claim.answer(verdict);
  }

  /** Timers that are neither the sender's nor of a message that waits for one. */
  get strayTimers(): number {
    let waiting = 1;
    for (const { state } of this.all) if (state === 'waiting' || state === 'deferring') waiting += 1;
    return Math.max(0, this.clock.timers - waiting);
  }

  #onAck(inFlight: InFlightMessage): void {
    this.acks += 1;
    assert(
      inFlight.state === 'released' && !inFlight.isOut && inFlight.pendingWrites === 0,
      'acked with something pending',
    );
  }

  /** The events that another node, or an earlier incarnation, wrote about it. */
  #publish({ key, message }: InFlightMessage, known: Known): void {
    const nowMs = this.clock.nowMs();
    const published = { attempt: 1, epoch: otherEpoch, atMs: nowMs, segment: 1 };
    const deferral = deferralText(nowMs + 3_000, 'ESME_RSYSERR');
    if (known === 'settled') this.replayIndex.settle(key);
    else if (known === 'rerouted')
      this.replayIndex.reroute(key, { to: 'beta', why: 'x', atMs: nowMs - 3_600_000 * (key.length % 2) });
    else if (known === 'deferred')
      this.replayIndex.learn(eventOfMessage(message, { kind: 'deferred', error: deferral, ...published }));
    else this.replayIndex.learn(eventOfMessage(message, { kind: 'intent', ...published }));
  }
}

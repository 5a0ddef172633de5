// Messages in flight through the real sender, settlement, reroute and failover, with bus, carrier and time moved by hand.
// Only the intake is played: it has no bus to take records from.
import type { JsMsg } from '@nats-io/jetstream';
import { Failover } from '../../../../actors/carrier/failover/failover.ts';
import { Reroute, type RerouteParts } from '../../../../actors/carrier/failover/reroute.ts';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import type { SubmitToken } from '../../../../actors/carrier/in-flight/submit-token.ts';
import { Lanes } from '../../../../actors/carrier/queue/lanes.ts';
import { Settlement, type SettlementParts } from '../../../../actors/carrier/outcome/settlement.ts';
import type { ClaimStatus } from '../../../../actors/carrier/deduplication/intent-claims.ts';
import { ReplayIndex } from '../../../../actors/carrier/deduplication/replay-index.ts';
import { Sender, type SenderParts } from '../../../../actors/carrier/submit/sender.ts';
import { bodyCipher } from '../../../../model/records/body-cipher.ts';
import type { EventDone } from '../../../../cluster/bus/event-writer.ts';
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
  readonly inFlight = new Map<string, InFlightMessage>();
  /** Everything that was ever held here. */
  readonly all: InFlightMessage[] = [];
  readonly writes: EventDone[] = [];
  readonly publishes: PublishDone[] = [];
  readonly claims: { readonly inFlight: InFlightMessage; readonly answer: (verdict: ClaimStatus) => void }[] = [];
  readonly out: SubmitToken[] = [];
  readonly givenUp: SubmitToken[] = [];
  readonly questions: ((answer: 'yes' | 'no' | 'unclear') => void)[] = [];
  state: CarrierState = 'good';
  isBound = true;
  otherState: CarrierState = 'good';
  gate: 'open' | 'held' | 'expired' = 'open';
  isPaced = false;
  isOtherAlive = false;
  acks = 0;
  #asked = 0;
  readonly settlement: Settlement;
  readonly sender: Sender;
  readonly reroute: Reroute;
  readonly failover: Failover;

  constructor(resends: boolean) {
    const { clock, carrier, replayIndex, lanes } = this;
    const ask = () => new Promise<'yes' | 'no' | 'unclear'>((resolve) => this.questions.push(resolve));
    const publisher = {
      publish: (_s: string, _p: Uint8Array, _i: string, done: PublishDone) => this.publishes.push(done),
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
    const intake = {
      tryAgain: (inFlight: InFlightMessage) => this.inFlight.get(inFlight.key) === inFlight && this.#toLane(inFlight),
      release: (inFlight: InFlightMessage) => this.#release(inFlight),
      giveBack: (inFlight: InFlightMessage) => this.#release(inFlight),
      find: (key: string) => this.inFlight.get(key),
    };
    const cipher = bodyCipher(bodyKey);
    const common = { carrier, publisher, events, cipher, replayIndex, clock, claims, nextSeq: () => 1 };
    this.settlement = new Settlement({
      ...common,
      pacing: { pauseUntil() {}, slowDown() {} },
      intake: () => intake,
      reroute: () => this.reroute,
      whyAvoided: () => '',
      resendUnknown: () => resends,
      onSubmitted() {},
      onUnknown() {},
      wasBegun: ask,
    } as unknown as SettlementParts);
    const onClaimLost = (inFlight: InFlightMessage, verdict: ClaimStatus) => this.#onClaimLost(inFlight, verdict);
    this.reroute = new Reroute({
      ...common,
      carrier: 'alpha',
      onClaimLost,
      carriers: { stateOf: () => this.otherState },
      intake: () => intake,
      settle: (inFlight: InFlightMessage) => this.settlement.settle(inFlight),
      wasSubmitted: ask,
    } as unknown as RerouteParts);
    const { settlement } = this;
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
        // One PDU, then a wait: parts of a long message are out while others are not written yet.
        writeWaitMs: () => (this.isPaced && (this.#asked += 1) % 2 === 0 ? 50 : 0),
        written: () => 0,
        intentTook() {},
      },
      onClaimLost,
      ports: [port],
      onRefused: (inFlight: InFlightMessage, status: 'expired', code: string) =>
        settlement.onRefused(inFlight, status, code),
      onDeferred: (inFlight: InFlightMessage, code: string, untilMs: number) =>
        settlement.onDeferred(inFlight, code, untilMs),
      lateGates: ((_message, nowMs) => {
        if (this.gate === 'held') return { ok: false, status: 'held', code: 'quiet_hours', untilMs: nowMs + 5_000 };
        return this.gate === 'open' ? { ok: true } : { ok: false, status: 'expired', code: 'validity_passed' };
      }) as LateGates,
      onNotWritten: (inFlight: InFlightMessage) => settlement.onNotWritten(inFlight),
      onIntentOld(inFlight: InFlightMessage) {
        settlement.onNotWritten(inFlight);
        intake.tryAgain(inFlight);
      },
    } as unknown as SenderParts);
    this.failover = new Failover({
      clock,
      reroute: this.reroute,
      inFlight: () => this.inFlight.values(),
      leaveLane: (inFlight) => lanes.remove(inFlight),
      hasCapacity: () => true,
      onExpired: (inFlight) => settlement.onRefused(inFlight, 'expired', 'validity_passed'),
      onNotWritten: (inFlight) => settlement.onNotWritten(inFlight),
    });
  }

  /** A record comes; `known`: what others have told of it. */
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
    if (this.replayIndex.statusOf(key) === 'settled') return;
    inFlight.learnAccepted(this.replayIndex.takenBitsOf(key));
    this.inFlight.set(key, inFlight);
    this.all.push(inFlight);
    if (!this.#goOnWith(inFlight)) this.#toLane(inFlight);
  }

  redeliver(inFlight: InFlightMessage): void {
    if (this.inFlight.get(inFlight.key) !== inFlight) return;
    if (inFlight.redelivered(inFlight.record, this.clock.monotonicMs() + ackWaitMs))
      this.settlement.onRegained(inFlight);
  }

  extendAckDeadline(): void {
    for (const inFlight of this.inFlight.values()) {
      if (inFlight.isOursAt(this.clock.monotonicMs())) inFlight.ackDeadlineMs = this.clock.monotonicMs() + ackWaitMs;
    }
  }

  handBack(): void {
    for (const inFlight of this.inFlight.values()) {
      const isUnbegun = inFlight.isUntouched && inFlight.pendingWrites === 0;
      if (isUnbegun && ['queued', 'waiting', 'lapsed'].includes(inFlight.state)) this.#release(inFlight);
    }
  }

  standDown(): void {
    for (const inFlight of this.sender.standDown())
      if (this.inFlight.get(inFlight.key) === inFlight) this.#toLane(inFlight);
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

  #toLane(inFlight: InFlightMessage): void {
    inFlight.queue();
    this.lanes.put(inFlight);
    if (this.state !== 'good') this.failover.moveOne(inFlight, 'no_bind');
    this.sender.wake();
  }

  #release(inFlight: InFlightMessage): void {
    inFlight.release();
    this.inFlight.delete(inFlight.key);
    this.lanes.remove(inFlight);
  }

  /** What another node, or an earlier incarnation, wrote about it. */
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

  #goOnWith(inFlight: InFlightMessage): boolean {
    const { replayIndex, reroute, settlement } = this;
    const verdict = replayIndex.statusOf(inFlight.key);
    const rerouted = verdict === 'rerouted' ? replayIndex.reroutedOf(inFlight.key) : null;
    const deferral = verdict === 'deferred' ? replayIndex.deferralOf(inFlight.key) : null;
    if (rerouted !== null) reroute.repeat(inFlight, rerouted);
    else if (deferral !== null) settlement.onDeferredBefore(inFlight, deferral);
    else if (verdict === 'intent_without_outcome') settlement.onUnresolved(inFlight);
    else return false;
    return true;
  }

  #onClaimLost(inFlight: InFlightMessage, verdict: ClaimStatus): void {
    if (verdict === 'lost') this.settlement.onNotWritten(inFlight);
    inFlight.learnAccepted(this.replayIndex.takenBitsOf(inFlight.key));
    const isOtherNodes = verdict !== 'rerouted' && this.isOtherAlive;
    if (verdict !== 'lost' && !isOtherNodes && this.#goOnWith(inFlight)) return;
    this.#release(inFlight);
  }
}

// Messages in flight through the real sender, settlement, reroute and mover, with bus, carrier and time moved by hand.
// Only the intake is played: it has no bus to take records from.
import type { JsMsg } from '@nats-io/jetstream';
import { Mover } from '../../../../actors/carrier/health/mover.ts';
import { Reroute, type RerouteParts } from '../../../../actors/carrier/health/reroute.ts';
import { InFlightMessage } from '../../../../actors/carrier/in-flight/in-flight-message.ts';
import type { SubmitToken } from '../../../../actors/carrier/in-flight/submit-token.ts';
import { Lanes } from '../../../../actors/carrier/intake/lanes.ts';
import { Settlement, type SettlementParts } from '../../../../actors/carrier/outcome/settlement.ts';
import type { ClaimVerdict } from '../../../../actors/carrier/repeats/intent-claims.ts';
import { Ledger } from '../../../../actors/carrier/repeats/ledger.ts';
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
import { putOffText } from '../../../../actors/carrier/outcome/put-off-event.ts';
import { carrierWith } from '../../../support/carrier-house.ts';
import { bodyKey } from '../../../support/host-process.ts';
import { ManualClock } from '../../../support/manual-clock.ts';
import { messageWith } from '../../../support/messages.ts';

export type Known = Exclude<ClaimVerdict, 'new' | 'lost'>;

const ackWaitMs = limits.carrier.ackWaitMs;
const otherEpoch = 9;

export class Flow {
  readonly clock = new ManualClock();
  readonly carrier = carrierWith({ port: 1 });
  readonly ledger = new Ledger(this.clock);
  readonly lanes = new Lanes<InFlightMessage>(100);
  readonly held = new Map<string, InFlightMessage>();
  /** Everything that was ever held here. */
  readonly all: InFlightMessage[] = [];
  readonly writes: EventDone[] = [];
  readonly publishes: PublishDone[] = [];
  readonly claims: { readonly held: InFlightMessage; readonly answer: (verdict: ClaimVerdict) => void }[] = [];
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
  readonly mover: Mover;

  constructor(resends: boolean) {
    const { clock, carrier, ledger, lanes } = this;
    const ask = () => new Promise<'yes' | 'no' | 'unclear'>((resolve) => this.questions.push(resolve));
    const publisher = {
      publish: (_s: string, _p: Uint8Array, _i: string, done: PublishDone) => this.publishes.push(done),
    };
    const events = {
      hasRoom: true,
      write: (_event: DeliveryEvent, done: EventDone) => this.writes.push(done),
      flush() {},
    };
    const claims = {
      epoch: () => 7,
      confirm: (_kind: string, held: InFlightMessage, answer: (verdict: ClaimVerdict) => void) =>
        this.claims.push({ held, answer }),
    };
    const intake = {
      tryAgain: (held: InFlightMessage) => this.held.get(held.key) === held && this.#toLane(held),
      release: (held: InFlightMessage) => this.#release(held),
      giveBack: (held: InFlightMessage) => this.#release(held),
      find: (key: string) => this.held.get(key),
    };
    const cipher = bodyCipher(bodyKey);
    const common = { carrier, publisher, events, cipher, ledger, clock, claims, nextSeq: () => 1 };
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
    const onBehind = (held: InFlightMessage, verdict: ClaimVerdict) => this.#onBehind(held, verdict);
    this.reroute = new Reroute({
      ...common,
      carrier: 'alpha',
      onBehind,
      carriers: { stateOf: () => this.otherState },
      intake: () => intake,
      settle: (held: InFlightMessage) => this.settlement.settle(held),
      wasTaken: ask,
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
      onBehind,
      ports: [port],
      onRefused: (held: InFlightMessage, status: 'expired', code: string) => settlement.onRefused(held, status, code),
      onPutOff: (held: InFlightMessage, code: string, untilMs: number) => settlement.onPutOff(held, code, untilMs),
      lateGates: ((_message, nowMs) => {
        if (this.gate === 'held') return { ok: false, status: 'held', code: 'quiet_hours', untilMs: nowMs + 5_000 };
        return this.gate === 'open' ? { ok: true } : { ok: false, status: 'expired', code: 'validity_passed' };
      }) as LateGates,
      onNotWritten: (held: InFlightMessage) => settlement.onNotWritten(held),
      onIntentOld(held: InFlightMessage) {
        settlement.onNotWritten(held);
        intake.tryAgain(held);
      },
    } as unknown as SenderParts);
    this.mover = new Mover({
      clock,
      reroute: this.reroute,
      held: () => this.held.values(),
      leaveLane: (held) => lanes.remove(held),
      hasRoom: () => true,
      onExpired: (held) => settlement.onRefused(held, 'expired', 'validity_passed'),
      onNotWritten: (held) => settlement.onNotWritten(held),
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
    const record = { ack: () => this.#onAck(held), nak() {}, working() {} } as unknown as JsMsg;
    const held = new InFlightMessage(key, message, record, this.clock.monotonicMs() + ackWaitMs);
    if (known !== null) this.#tell(held, known);
    if (this.ledger.verdictOf(key) === 'settled') return;
    held.learnAccepted(this.ledger.takenBitsOf(key));
    this.held.set(key, held);
    this.all.push(held);
    if (!this.#goOnWith(held)) this.#toLane(held);
  }

  redeliver(held: InFlightMessage): void {
    if (this.held.get(held.key) !== held) return;
    if (held.redelivered(held.record, this.clock.monotonicMs() + ackWaitMs)) this.settlement.onRegained(held);
  }

  keepHold(): void {
    for (const held of this.held.values()) {
      if (held.isOursAt(this.clock.monotonicMs())) held.ackDeadlineMs = this.clock.monotonicMs() + ackWaitMs;
    }
  }

  handBack(): void {
    for (const held of this.held.values()) {
      const isUnbegun = held.isUntouched && held.pendingWrites === 0;
      if (isUnbegun && ['queued', 'waiting', 'lapsed'].includes(held.state)) this.#release(held);
    }
  }

  standDown(): void {
    for (const held of this.sender.standDown()) if (this.held.get(held.key) === held) this.#toLane(held);
  }

  claim(verdict: ClaimVerdict): void {
    const claim = this.claims.shift();
    if (claim === undefined) return;
    if (verdict !== 'new' && verdict !== 'lost') this.#tell(claim.held, verdict);
    claim.answer(verdict);
  }

  /** Timers that are neither the sender's nor of a message that waits for one. */
  get strayTimers(): number {
    let waiting = 1;
    for (const { state } of this.all) if (state === 'waiting' || state === 'deferring') waiting += 1;
    return Math.max(0, this.clock.timers - waiting);
  }

  #onAck(held: InFlightMessage): void {
    this.acks += 1;
    assert(held.state === 'released' && !held.isOut && held.pendingWrites === 0, 'acked with something pending');
  }

  #toLane(held: InFlightMessage): void {
    held.queue();
    this.lanes.put(held);
    if (this.state !== 'good') this.mover.moveOne(held, 'no_bind');
    this.sender.wake();
  }

  #release(held: InFlightMessage): void {
    held.release();
    this.held.delete(held.key);
    this.lanes.remove(held);
  }

  /** What another node, or an earlier life, wrote about it. */
  #tell({ key, message }: InFlightMessage, known: Known): void {
    const nowMs = this.clock.nowMs();
    const told = { attempt: 1, epoch: otherEpoch, atMs: nowMs, segment: 1 };
    const putOff = putOffText(nowMs + 3_000, 'ESME_RSYSERR');
    if (known === 'settled') this.ledger.settle(key);
    else if (known === 'rerouted')
      this.ledger.reroute(key, { to: 'beta', why: 'x', atMs: nowMs - 3_600_000 * (key.length % 2) });
    else if (known === 'put_off')
      this.ledger.learn(eventOfMessage(message, { kind: 'deferred', error: putOff, ...told }));
    else this.ledger.learn(eventOfMessage(message, { kind: 'intent', ...told }));
  }

  #goOnWith(held: InFlightMessage): boolean {
    const { ledger, reroute, settlement } = this;
    const verdict = ledger.verdictOf(held.key);
    const rerouted = verdict === 'rerouted' ? ledger.reroutedOf(held.key) : null;
    const putOff = verdict === 'put_off' ? ledger.putOffOf(held.key) : null;
    if (rerouted !== null) reroute.repeat(held, rerouted);
    else if (putOff !== null) settlement.onPutOffBefore(held, putOff);
    else if (verdict === 'intent_without_outcome') settlement.onUnresolved(held);
    else return false;
    return true;
  }

  #onBehind(held: InFlightMessage, verdict: ClaimVerdict): void {
    if (verdict === 'lost') this.settlement.onNotWritten(held);
    held.learnAccepted(this.ledger.takenBitsOf(held.key));
    const isTheirs = verdict !== 'rerouted' && this.isOtherAlive;
    if (verdict !== 'lost' && !isTheirs && this.#goOnWith(held)) return;
    this.#release(held);
  }
}

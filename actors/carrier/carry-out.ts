// Carries out what was decided about a message in flight: only here is a message settled, returned to its lane,
// deferred into LATER or rerouted. settlement.ts decides about answers; the replay index knows what an earlier
// incarnation or another node has begun.
import { commandStatus } from '../../model/command-status.ts';
import type { SubmitResponse } from '../../smpp/session-contract.ts';
import type { ClaimStatus } from './deduplication/intent-claims.ts';
import type { ReplayIndex, ReplayStatus } from './deduplication/replay-index.ts';
import type { Reroute } from './failover/reroute.ts';
import type { EndUnsent } from './in-flight/facts.ts';
import type { InFlightMessage } from './in-flight/in-flight-message.ts';
import type { SubmitToken } from './in-flight/submit-token.ts';
import type { Completion } from './outcome/completion.ts';
import type { Deferrals } from './outcome/deferrals.ts';
import { type Effect, settle } from './outcome/next-step.ts';
import type { Settlement } from './outcome/settlement.ts';
import type { MessagesInFlight } from './queue/messages-in-flight.ts';
import type { Receipts } from './receipts/receipts.ts';

export type CarryOutParts = {
  readonly messages: MessagesInFlight;
  readonly replayIndex: ReplayIndex;
  readonly completion: Completion;
  readonly settlement: Settlement;
  readonly deferrals: Deferrals;
  readonly reroute: Reroute;
  readonly receipts: Pick<Receipts, 'onSubmitted'>;
  /** Whether the writer of an intent is alive: then only that node may decide about the message. */
  readonly isLiving: (epoch: number) => boolean;
};

export class CarryOut {
  readonly #parts: CarryOutParts;

  constructor(parts: CarryOutParts) {
    this.#parts = parts;
  }

  onAnswer(token: SubmitToken, answer: SubmitResponse): void {
    const { settlement, receipts, completion } = this.#parts;
    const { inFlight } = token;
    if (answer.status === commandStatus.ESME_ROK) {
      receipts.onSubmitted(settlement.onAccepted(token, answer.carrierMessageId));
      this.#perform(inFlight, settlement.afterAccepted(inFlight));
    } else this.#perform(inFlight, settlement.onErrorStatus(token, answer.status));
    completion.closeWhenAnswered(inFlight);
  }

  onNoAnswer(token: SubmitToken, why: string): void {
    const { settlement, completion } = this.#parts;
    this.#perform(token.inFlight, settlement.onNoAnswer(token, why));
    completion.closeWhenAnswered(token.inFlight);
  }

  /** The message ends before it was written. */
  readonly onRefused = (inFlight: InFlightMessage, status: EndUnsent, code: string): void =>
    this.#perform(inFlight, this.#parts.settlement.onRefused(inFlight, status, code));

  /** It waits in LATER until it may be sent. */
  readonly onDeferred = (inFlight: InFlightMessage, code: string, untilMs: number): void =>
    this.#perform(inFlight, this.#parts.settlement.onDeferred(code, untilMs));

  /** Its intent is durable, and nothing of it is written now. */
  readonly onNotWritten = (inFlight: InFlightMessage): void => this.#parts.settlement.onNotWritten(inFlight);

  /** The same when its intent is too old: it gets a new one. */
  readonly onIntentOld = (inFlight: InFlightMessage): void => {
    this.#parts.settlement.onNotWritten(inFlight);
    this.#parts.messages.tryAgain(inFlight);
  };

  /** Another node's event about this message precedes ours in EVENTS: that one counts. */
  readonly onClaimLost = (inFlight: InFlightMessage, status: ClaimStatus): void => {
    const { settlement, replayIndex, messages, isLiving } = this.#parts;
    // Published for the next owner: the intent is open, and nothing was written.
    if (status === 'lost') settlement.onNotWritten(inFlight);
    inFlight.learnAccepted(replayIndex.takenBitsOf(inFlight.key));
    const isOtherNodes = status !== 'rerouted' && isLiving(replayIndex.ownerOf(inFlight.key));
    if (status !== 'lost' && status !== 'copied' && !isOtherNodes && this.goOnWith(inFlight, status)) return;
    messages.release(inFlight);
    // The node that began it settles it; if that fails, the record is redelivered.
    if (status === 'settled') inFlight.record.ack();
  };

  /** A record whose ack deadline had passed was redelivered. */
  onRegained(inFlight: InFlightMessage): void {
    this.#perform(inFlight, this.#parts.settlement.onRegained(inFlight));
  }

  /** Continues what an earlier incarnation or another node has begun. False when it is new, or has ended. */
  goOnWith(inFlight: InFlightMessage, status: ReplayStatus): boolean {
    const { replayIndex, reroute, deferrals, settlement } = this.#parts;
    const rerouted = status === 'rerouted' ? replayIndex.reroutedOf(inFlight.key) : null;
    const deferral = status === 'deferred' ? replayIndex.deferralOf(inFlight.key) : null;
    const hedged = replayIndex.hedgedOf(inFlight.key);
    if (hedged !== null) reroute.repeatCopy(inFlight, hedged);
    if (rerouted !== null) reroute.repeat(inFlight, rerouted);
    else if (deferral !== null) deferrals.repeat(inFlight, deferral);
    else if (status === 'intent_without_outcome') this.#perform(inFlight, settlement.onUnresolved(inFlight));
    else if (status === 'copied') this.#perform(inFlight, settle);
    else return false;
    return true;
  }

  /** `mayComeBack`: the carrier was unavailable and did not refuse the message. */
  reroute(inFlight: InFlightMessage, to: string, why: string, mayComeBack: boolean): void {
    this.#parts.reroute.go(inFlight, to, why, mayComeBack, this.onClaimLost);
  }

  #perform(inFlight: InFlightMessage, effect: Effect): void {
    const { completion, messages, deferrals } = this.#parts;
    switch (effect.do) {
      case 'nothing':
        return;
      case 'settle':
        return completion.settle(inFlight);
      case 'finish':
        return completion.finishWhenDone(inFlight);
      case 'queue':
        return messages.tryAgain(inFlight);
      case 'retry':
        return completion.wait(inFlight, effect.afterMs);
      case 'defer':
        return deferrals.begin(inFlight, effect.why, effect.afterMs, effect.refused);
      case 'reroute':
        return this.reroute(inFlight, effect.to, effect.why, effect.mayComeBack);
    }
  }
}

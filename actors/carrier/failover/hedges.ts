// Sends the second copy of a one-time password to the next carrier, for the rules that say that this one takes too long
// (response-hedges.ts, receipt-hedges.ts): both share one budget, one control group and these conditions. reroute.ts
// makes the copy safe to repeat.
import { type HedgeRule, controlGroup, hedgeReasons } from '../../../model/copies.ts';
import { eventOfMessage } from '../../../model/delivery-event.ts';
import type { Clock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { HedgingRules } from '../../../policy/otp-hedging/contract.ts';
import { decideHedge } from '../../../policy/otp-hedging/decide-hedge.ts';
import { HedgeBudget } from '../../../policy/otp-hedging/hedge-budget.ts';
import type { EventSink } from '../in-flight/facts.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';
import type { Alternatives } from '../outcome/alternatives.ts';
import type { Completion } from '../outcome/completion.ts';
import type { Reroute } from './reroute.ts';

export type HedgesParts = {
  readonly carrier: string;
  readonly clock: Clock;
  readonly rules: HedgingRules | null;
  readonly alternatives: Pick<Alternatives, 'best'>;
  readonly reroute: Pick<Reroute, 'copy'>;
  readonly events: EventSink;
  readonly completion: Pick<Completion, 'finishWhenDone'>;
};

/** What is known of a message that waits longer than usual. */
export type Late = {
  readonly rule: HedgeRule;
  /** What this carrier usually takes at most. */
  readonly afterMs: number;
  readonly isOutage: boolean;
};

export class Hedges {
  readonly #parts: HedgesParts;
  readonly #budget: HedgeBudget;
  /** Null: nothing is hedged. */
  rules: HedgingRules | null;

  constructor(parts: HedgesParts) {
    this.#parts = parts;
    this.rules = parts.rules;
    this.#budget = new HedgeBudget(limits.otpHedging.budget, parts.clock);
  }

  /** The carrier that would get a second copy of this message now; null when it gets none. */
  routeOf({ message, hedged }: InFlightMessage): string | null {
    if (this.rules?.enabled !== true || hedged !== 'no' || !isHedgeable(message)) return null;
    const other = this.#parts.alternatives.best(message);
    return other?.how === 'good' ? other.to : null;
  }

  /** Its first copy was sent, and could be hedged by that carrier. */
  earn(accountId: string, to: string): void {
    if (this.rules !== null) this.#budget.earn(accountId, to, this.rules.share);
  }

  /** It waits longer than usual. The control group is asked the same, and spends as much: both differ by the copy only. */
  onLate(inFlight: InFlightMessage, { rule, afterMs, isOutage }: Late): void {
    const { carrier, clock, reroute } = this.#parts;
    const { accountId, validUntilMs, hedge } = inFlight.message;
    const route = this.routeOf(inFlight);
    const to = route ?? '';
    const decided = decideHedge({
      hasRoute: route !== null,
      leftMs: validUntilMs - clock.nowMs(),
      afterMs,
      isOutage,
      takeToken: () => this.#budget.spend(accountId, to),
    });
    if (decided !== 'hedge') metrics.otpHedges.inc({ carrier, to, rule, result: decided });
    else if (hedge === 'control') this.#note(inFlight, to, rule);
    else reroute.copy(inFlight, to, rule);
  }

  #note(inFlight: InFlightMessage, to: string, rule: HedgeRule): void {
    const { carrier, events, clock, completion } = this.#parts;
    metrics.otpHedges.inc({ carrier, to, rule, result: 'control' });
    inFlight.hedged = 'noted';
    const { message, attempt, epoch } = inFlight;
    const error = `${controlGroup}${hedgeReasons[rule]}`;
    const noted = eventOfMessage(message, { kind: 'hedged', attempt, error, epoch, atMs: clock.nowMs() });
    inFlight.write(events, noted, (_, durable) => durable && completion.finishWhenDone(inFlight), null);
  }
}

/** Copies of a long message would need the whole of both to be counted. */
function isHedgeable({ category, hedge, resends, segments }: InFlightMessage['message']): boolean {
  return (hedge === 'may' || hedge === 'control') && category === 'otp' && resends === 0 && segments === 1;
}

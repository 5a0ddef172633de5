// What a scheduled message is when its time comes: sent by the carrier it was given at the door, or by another one
// when that is down or gone from the configuration since; ended when nobody takes it any more. Everything else is for
// the carrier's actor, which asks the late gates. It publishes nothing, and never moves a text to a carrier that
// lacks the national tables it was counted with: written otherwise it would take more segments than were promised.
import type { BodyCipher } from '../../cluster/bus/body-cipher.ts';
import { decodeMessage, encodeMessage } from '../../cluster/bus/message-record.ts';
import { carrierOfSubject, messageSubject } from '../../cluster/bus/subjects.ts';
import { type DeliveryEvent, canceledEvent, eventOfMessage } from '../../model/delivery-event.ts';
import type { Message } from '../../model/message.ts';
import { isShiftOf, type NationalLanguage } from '../../model/text/national-languages.ts';
import type { CarrierHealthView, RoutingRules } from '../../policy/contract.ts';
import { numberPlan } from '../../policy/country/number-plan.ts';
import { type RouterOptions, type Router, router } from '../../policy/routing/route.ts';

export type Release =
  | { readonly action: 'publish'; readonly subject: string; readonly payload: Uint8Array }
  /** It ends here: this is told, and nothing is sent. */
  | { readonly action: 'end'; readonly event: DeliveryEvent };

export class ReleaseRules {
  readonly #cipher: BodyCipher;
  readonly #health: CarrierHealthView;
  readonly #portedTo: RouterOptions['portedTo'];
  #router: Router;
  /** The national tables each carrier understands. */
  #carriers: ReadonlyMap<string, readonly NationalLanguage[]>;

  constructor(
    rules: RoutingRules,
    cipher: BodyCipher,
    health: CarrierHealthView,
    portedTo: NonNullable<RouterOptions['portedTo']> = () => null,
  ) {
    this.#cipher = cipher;
    this.#health = health;
    this.#portedTo = portedTo;
    this.#carriers = tablesOf(rules);
    this.#router = this.#routerOf(rules);
  }

  /** The configuration changed while messages waited. */
  configure(rules: RoutingRules): void {
    this.#carriers = tablesOf(rules);
    this.#router = this.#routerOf(rules);
  }

  /** Most messages go as they are, undecoded: a million may be due in one minute. */
  releaseOf(subject: string, payload: Uint8Array, nowMs: number): Release {
    const carrier = carrierOfSubject(subject);
    const isThere = carrier === null || this.#carriers.has(carrier);
    if (isThere && (carrier === null || this.#health.stateOf(carrier) !== 'down')) {
      return { action: 'publish', subject, payload };
    }
    const message = decodeMessage(payload, this.#cipher);
    const { ways, trace: routed } = this.waysOf(message);
    const [best, ...others] = ways;
    if (best === undefined) {
      // A carrier that is down may be back before the message expires; one that is gone will not.
      if (isThere) return { action: 'publish', subject, payload };
      return { action: 'end', event: eventOfMessage(message, { kind: 'failed', atMs: nowMs, error: 'no_route' }) };
    }
    if (best === carrier) return { action: 'publish', subject, payload };
    const trace = [...message.trace, `at its time: ${best}`, ...routed];
    const moved = { ...message, carrier: best, plan: others, trace };
    return {
      action: 'publish',
      subject: messageSubject(message.category, best, message.accountId),
      payload: encodeMessage(moved, this.#cipher),
    };
  }

  /** Carriers that take it as it was counted, by today's routes: the best first. Empty: nobody does. */
  waysOf(message: Message): { readonly ways: readonly string[]; readonly trace: readonly string[] } {
    const { recipient: to, category, sender: from, livemode } = message;
    const routed = this.#router.route({ to, category, from, livemode });
    if ('why' in routed) return { ways: [], trace: [] };
    const plan = routed.planFor(message.messageId);
    const takes = (carrier: string) => isShiftOf(message.shift, this.#carriers.get(carrier) ?? []);
    return { ways: [plan.carrier, ...plan.others].filter(takes), trace: plan.trace };
  }

  isConfigured(carrier: string): boolean {
    return this.#carriers.has(carrier);
  }

  /** Told by the door already, unless it died between the cancel and the telling: the id is the same. */
  canceled(payload: Uint8Array, nowMs: number): DeliveryEvent {
    return canceledEvent(decodeMessage(payload, this.#cipher), nowMs);
  }

  #routerOf(rules: RoutingRules): Router {
    const options = { health: this.#health, ...(this.#portedTo === undefined ? {} : { portedTo: this.#portedTo }) };
    return router(rules, numberPlan(rules.country), options);
  }
}

function tablesOf(rules: RoutingRules): ReadonlyMap<string, readonly NationalLanguage[]> {
  return new Map(rules.carriers.map(({ name, nationalTables }) => [name, nationalTables]));
}

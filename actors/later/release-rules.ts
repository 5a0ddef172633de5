// What a scheduled message is when its time comes: sent by the carrier it was given at the door, or by another one
// when that is down or gone from the configuration since; ended when nobody takes it any more. Everything else is for
// the carrier's actor, which asks the late gates. It publishes nothing.
import type { BodyCipher } from '../../cluster/bus/body-cipher.ts';
import { decodeMessage, encodeMessage } from '../../cluster/bus/message-record.ts';
import { carrierOfSubject, messageSubject } from '../../cluster/bus/subjects.ts';
import { type DeliveryEvent, canceledEvent, eventOfMessage } from '../../model/delivery-event.ts';
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
  #carriers: ReadonlySet<string>;

  constructor(
    rules: RoutingRules,
    cipher: BodyCipher,
    health: CarrierHealthView,
    portedTo: NonNullable<RouterOptions['portedTo']> = () => null,
  ) {
    this.#cipher = cipher;
    this.#health = health;
    this.#portedTo = portedTo;
    this.#carriers = namesOf(rules);
    this.#router = this.#routerOf(rules);
  }

  /** The configuration changed while messages waited. */
  configure(rules: RoutingRules): void {
    this.#carriers = namesOf(rules);
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
    const { recipient: to, category, sender: from, livemode } = message;
    const routed = this.#router.route({ to, category, from, livemode });
    if ('why' in routed) {
      // A carrier that is down may be back before the message expires; one that is gone will not.
      if (isThere) return { action: 'publish', subject, payload };
      return { action: 'end', event: eventOfMessage(message, { kind: 'failed', atMs: nowMs, error: 'no_route' }) };
    }
    const plan = routed.planFor(message.messageId);
    if (plan.carrier === carrier) return { action: 'publish', subject, payload };
    const trace = [...message.trace, `at its time: ${plan.carrier}`, ...plan.trace];
    const moved = { ...message, carrier: plan.carrier, plan: plan.others, trace };
    return {
      action: 'publish',
      subject: messageSubject(category, plan.carrier, message.accountId),
      payload: encodeMessage(moved, this.#cipher),
    };
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

const namesOf = (rules: RoutingRules): ReadonlySet<string> => new Set(rules.carriers.map(({ name }) => name));

// Where a scheduled message goes when it is due: always to the carrier it was accepted for, so that a second release
// long after the first meets the same actor, which recognises it. That actor reroutes it, also when the carrier is no
// longer configured (actors/removed). The plan by today's routes is added, without carriers that lack the national
// tables of its segment count.
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { decodeMessage, encodeMessage } from '../../model/records/message-record.ts';
import { carrierOfSubject } from '../../cluster/bus/subjects.ts';
import { type DeliveryEvent, canceledEvent } from '../../model/delivery-event.ts';
import type { Message } from '../../model/message.ts';
import { isShiftOf, type NationalLanguage } from '../../model/text/national-languages.ts';
import type { CarrierHealthView, RoutingRules } from '../../policy/contract.ts';
import { type RouterOptions, type Router, router } from '../../policy/routing/route.ts';

export class ReleaseRules {
  readonly #cipher: BodyCipher;
  readonly #health: CarrierHealthView;
  readonly #portedTo: NonNullable<RouterOptions['portedTo']>;
  #router!: Router;
  /** The national tables each carrier supports. */
  #carriers!: ReadonlyMap<string, readonly NationalLanguage[]>;

  constructor(
    rules: RoutingRules,
    cipher: BodyCipher,
    health: CarrierHealthView,
    portedTo: NonNullable<RouterOptions['portedTo']> = () => null,
  ) {
    this.#cipher = cipher;
    this.#health = health;
    this.#portedTo = portedTo;
    this.configure(rules);
  }

  /** The configuration changed while messages waited. */
  configure(rules: RoutingRules): void {
    this.#carriers = new Map(rules.carriers.map(({ name, nationalTables }) => [name, nationalTables]));
    this.#router = router(rules, { health: this.#health, portedTo: this.#portedTo });
  }

  /** What is published to its subject. Most messages are passed on undecoded: a million may be due in one minute. */
  payloadOf(subject: string, payload: Uint8Array): Uint8Array {
    const carrier = carrierOfSubject(subject);
    if (carrier === null || this.#health.stateOf(carrier) !== 'down' || this.isRemoved(subject)) return payload;
    const message = decodeMessage(payload, this.#cipher);
    const { candidates, trace: routed } = this.candidatesOf(message);
    const plan = candidates.filter((candidate) => candidate !== carrier);
    // No carrier accepts it now: those of its acceptance may be back sooner.
    if (plan.length === 0) return payload;
    const trace = [...message.trace, `at its time: ${plan.join(', ')}`, ...routed];
    return encodeMessage({ ...message, plan, trace }, this.#cipher);
  }

  /** Whether it is the subject of a carrier that is not configured. */
  isRemoved(subject: string): boolean {
    const carrier = carrierOfSubject(subject);
    return carrier !== null && !this.#carriers.has(carrier);
  }

  /** Carriers that accept its segment count, by today's routes: the best first. Empty: none does. */
  candidatesOf(message: Message): { readonly candidates: readonly string[]; readonly trace: readonly string[] } {
    const { recipient: to, category, sender: from, livemode } = message;
    const routed = this.#router.route({ to, category, from, livemode });
    if ('why' in routed) return { candidates: [], trace: [] };
    const plan = routed.planFor(message.messageId);
    const takes = (carrier: string) => isShiftOf(message.shift, this.#carriers.get(carrier) ?? []);
    return { candidates: [plan.carrier, ...plan.others].filter(takes), trace: plan.trace };
  }

  isConfigured(carrier: string): boolean {
    return this.#carriers.has(carrier);
  }

  /** Published by the ingress already, unless it crashed between the cancel and the publish: the id is the same. */
  canceled(payload: Uint8Array, nowMs: number): DeliveryEvent {
    return canceledEvent(decodeMessage(payload, this.#cipher), nowMs);
  }
}

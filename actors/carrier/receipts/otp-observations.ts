// Publishes to the entry points what only a carrier's actor knows of one-time passwords: which were delivered (where
// receipts fall together with verifications, it is an outage and no fraud), that this carrier took one whose conversion
// counts for it, and that a second copy went to another one. A lost one does no harm.
import type { Bus } from '../../../cluster/bus/connect.ts';
import { GuardTalk } from '../../../cluster/bus/otp-guard-talk.ts';
import { controlGroup } from '../../../model/copies.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';

export class OtpObservations {
  readonly #talk: GuardTalk;

  constructor(bus: Bus, clock: Clock) {
    this.#talk = new GuardTalk(bus, '', clock);
  }

  onEvent({ kind, category, livemode, accountId, recipient: to, messageId, error }: DeliveryEvent): void {
    if (kind === 'delivered' && category === 'otp' && livemode) this.#talk.publish({ kind: 'received', accountId, to });
    if (kind === 'hedged' && !error?.startsWith(controlGroup)) this.#talk.publish({ kind: 'copied', messageId });
  }

  /** submit_sm_resp with status 0. Of two copies nobody knows which one is entered. */
  onTaken({ message, hedged }: Pick<InFlightMessage, 'message' | 'hedged'>): void {
    const { messageId, carrier, sender, scoredAs: operator, hedge } = message;
    if (operator === undefined || hedged === 'copied' || hedge === 'copy') return;
    this.#talk.publish({ kind: 'taken', messageId, carrier, operator, sender });
  }
}

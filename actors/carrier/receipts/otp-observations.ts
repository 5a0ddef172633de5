// Tells the entry points what only a carrier's actor knows of one-time passwords: which were delivered (where receipts fall
// together with verifications, it is an outage and no fraud), and that this carrier took one whose conversion counts for it.
// A lost one does no harm.
import type { Bus } from '../../../cluster/bus/connect.ts';
import { GuardTalk } from '../../../cluster/bus/otp-guard-talk.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import type { Clock } from '../../../platform/clock.ts';
import type { InFlightMessage } from '../in-flight/in-flight-message.ts';

export class OtpObservations {
  readonly #talk: GuardTalk;

  constructor(bus: Bus, clock: Clock) {
    this.#talk = new GuardTalk(bus, '', clock);
  }

  onEvent({ kind, category, livemode, accountId, recipient: to }: DeliveryEvent): void {
    if (kind === 'delivered' && category === 'otp' && livemode) this.#talk.tell({ kind: 'received', accountId, to });
  }

  /** submit_sm_resp with status 0. Of two copies nobody knows which one is entered. */
  onTaken({ message, isHedged }: Pick<InFlightMessage, 'message' | 'isHedged'>): void {
    const { messageId, carrier, sender, scoredAs: operator, hedge } = message;
    if (operator === undefined || isHedged || hedge === 'copy') return;
    this.#talk.tell({ kind: 'taken', messageId, carrier, operator, sender });
  }
}

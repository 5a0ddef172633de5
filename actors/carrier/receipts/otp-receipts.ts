// Tells the guards against fraud which one-time passwords were delivered: where receipts fall together with verifications,
// it is an outage and no fraud. A lost one does no harm.
import type { Bus } from '../../../cluster/bus/connect.ts';
import { GuardTalk } from '../../../cluster/bus/otp-guard-talk.ts';
import type { DeliveryEvent } from '../../../model/delivery-event.ts';
import type { Clock } from '../../../platform/clock.ts';

export class OtpReceipts {
  readonly #talk: GuardTalk;

  constructor(bus: Bus, clock: Clock) {
    this.#talk = new GuardTalk(bus, '', clock);
  }

  take({ kind, category, livemode, accountId, recipient: to }: DeliveryEvent): void {
    if (kind === 'delivered' && category === 'otp' && livemode) this.#talk.tell({ kind: 'received', accountId, to });
  }
}

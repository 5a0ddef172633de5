// Records refused requests: an event of kind `refused` with the gate's code and the masked number, listed by `GET
// /v1/sms?status=blocked`. It is not a message and is not counted as one. Per account and thread only so many batches a
// second are recorded, so that a flood of refusals cannot fill EVENTS; the rest is only counted.
import type { Principal } from './principal.ts';
import type { EventWriter } from '../cluster/bus/event-writer.ts';
import { deliveryEvent } from '../model/delivery-event.ts';
import { newMessageId } from '../model/ids.ts';
import { type Clock, systemClock } from '../platform/clock.ts';
import { limits } from '../platform/limits.ts';
import { maskNumber } from '../platform/log.ts';
import { metrics } from '../platform/telemetry.ts';
import type { Refusal, RefusalCode, SmsRequest } from '../policy/contract.ts';
import { AccountRates, paceOf } from '../platform/gcra.ts';

/** Of a gate, or of the guard against fraud with its figures: rule, statistic and threshold. */
export type AuditedRefusal = Pick<Refusal, 'field' | 'registry'> & {
  readonly code: RefusalCode | 'otp_blocked' | 'otp_challenge' | 'otp_destination_not_allowed';
  readonly figures?: string;
};

const { refusalsPerAccountPerSecond, refusalsPerAccountBurst, refusalsPerSecond, refusalsBurst } = limits.audit;
const paceOfAccount = paceOf(refusalsPerAccountPerSecond, 1_000_000, refusalsPerAccountBurst);
const paceOfAll = paceOf(refusalsPerSecond, 1_000_000, refusalsBurst);

export class RefusalAudit {
  readonly #events: EventWriter;
  readonly #clock: Clock;
  readonly #rates = new AccountRates(paceOfAccount, limits.audit.accountsMax, paceOfAll);

  constructor(events: EventWriter, clock: Clock = systemClock) {
    this.#events = events;
    this.#clock = clock;
  }

  /** Not awaited: the client gets the refusal even if recording it fails. */
  record(principal: Principal, request: SmsRequest, refusal: AuditedRefusal): void {
    const { accountId } = principal.account;
    if (!this.#events.hasCapacity) return metrics.refusalsUnrecorded.inc({ why: 'no_room' });
    const tooMany = this.#rates.take(accountId, this.#clock.monotonicMs() * 1_000);
    if (tooMany !== null) return metrics.refusalsUnrecorded.inc({ why: 'too_many' });
    const nowMs = this.#clock.nowMs();
    const context = {
      messageId: newMessageId(nowMs),
      accountId,
      keyId: principal.id,
      // No carrier was chosen.
      carrier: '',
      hop: 0,
      segments: 0,
      category: request.category,
      // A sender of any length may have been asked for; enough is kept to recognise it.
      sender: request.from.slice(0, senderCharsMax).toWellFormed(),
      recipient: maskNumber(request.to.slice(0, recipientCharsMax).toWellFormed()),
      encoding: 'gsm7',
      livemode: principal.livemode,
      clientReference: request.clientReference,
      campaignId: null,
      variantId: null,
      templateId: null,
      acceptedAtMs: nowMs,
      validUntilMs: nowMs,
      scheduledAtMs: null,
    } as const;
    this.#events.write(deliveryEvent(context, { kind: 'refused', atMs: nowMs, error: errorOf(refusal) }), settled);
  }
}

/** The code with what explains it later: the version of the registry, or the field that was wrong. */
function errorOf({ code, field, registry, figures }: AuditedRefusal): string {
  if (figures !== undefined) return `${code}:${figures}`;
  if (registry !== undefined) return `${code}:${registry}`;
  return field !== null && (code === 'invalid_field' || code === 'template_mismatch') ? `${code}:${field}` : code;
}

const senderCharsMax = 16;
const recipientCharsMax = 16;
const settled = () => {};

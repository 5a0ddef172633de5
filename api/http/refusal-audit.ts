// A refused request leaves a trace: an event of kind `refused` with the gate's code and the masked number, which
// `GET /v1/sms?status=blocked` shows. It is no message and no count of messages includes it. A flood of refusals must
// not fill EVENTS: so many a second are recorded for each account and for the thread, the others are only counted.
import type { EventWriter } from '../../cluster/bus/event-writer.ts';
import { deliveryEvent } from '../../model/delivery-event.ts';
import { newMessageId } from '../../model/ids.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { maskNumber } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { Refusal, SmsRequest } from '../../policy/contract.ts';
import type { Caller } from './bearer.ts';

export class RefusalAudit {
  readonly #events: EventWriter;
  readonly #clock: Clock;
  /** Of the present second; forgotten with it. */
  readonly #byAccount = new Map<string, number>();
  #second = -1;
  #inSecond = 0;

  constructor(events: EventWriter, clock: Clock = systemClock) {
    this.#events = events;
    this.#clock = clock;
  }

  /** Not waited for: the refusal is answered whatever becomes of its record. */
  record(caller: Caller, request: SmsRequest, refusal: Refusal): void {
    const { accountId } = caller.account;
    if (!this.#events.hasRoom) return metrics.refusalsUnrecorded.inc({ why: 'no_room' });
    if (!this.#takeTurn(accountId)) return metrics.refusalsUnrecorded.inc({ why: 'too_many' });
    const nowMs = this.#clock.nowMs();
    const context = {
      messageId: newMessageId(nowMs),
      accountId,
      keyId: caller.key.keyId,
      // It was given to nobody.
      carrier: '',
      hop: 0,
      segments: 0,
      category: request.category,
      // A sender of any length was asked for; what is kept is enough to recognise it.
      sender: request.from.slice(0, senderCharsMax).toWellFormed(),
      recipient: maskNumber(request.to.slice(0, recipientCharsMax).toWellFormed()),
      encoding: 'gsm7',
      livemode: caller.key.livemode,
      clientReference: request.clientReference,
      campaignId: null,
      variantId: null,
      templateId: null,
      acceptedAtMs: nowMs,
      validUntilMs: nowMs,
      scheduledAtMs: null,
    } as const;
    this.#events.write(deliveryEvent(context, { kind: 'refused', atMs: nowMs, error: refusal.code }), settled);
  }

  #takeTurn(accountId: string): boolean {
    const second = Math.floor(this.#clock.monotonicMs() / 1_000);
    if (second !== this.#second) {
      this.#second = second;
      this.#inSecond = 0;
      this.#byAccount.clear();
    }
    const { refusalsPerSecond, refusalsPerAccountPerSecond, accountsMax } = limits.audit;
    const held = this.#byAccount.get(accountId) ?? 0;
    if (this.#inSecond >= refusalsPerSecond || held >= refusalsPerAccountPerSecond) return false;
    if (held === 0 && this.#byAccount.size >= accountsMax) return false;
    this.#inSecond += 1;
    this.#byAccount.set(accountId, held + 1);
    return true;
  }
}

const senderCharsMax = 16;
const recipientCharsMax = 16;
const settled = () => {};

// The one place where a Message record is made, from who sends it, what was asked for and what admission decided. What a
// field means for later stages is in model/message.ts.
import type { AccountId, MessageId } from '../model/ids.ts';
import type { Message } from '../model/message.ts';
import { limits } from '../platform/limits.ts';
import type { Admitted, SmsRequest } from '../policy/contract.ts';
import type { Principal } from './principal.ts';

/** The part of a Principal that a message keeps. */
type Owner = Pick<Principal, 'id' | 'livemode'> & { readonly account: { readonly accountId: AccountId } };

type Identity = { readonly messageId: MessageId; readonly acceptedAtMs: number };

/** What of a request becomes part of its message as it is. */
type Request = Pick<SmsRequest, 'to' | 'from' | 'category' | 'clientReference' | 'validitySeconds'>;

export function buildMessage(
  owner: Owner,
  request: Request,
  admitted: Admitted,
  { messageId, acceptedAtMs }: Identity,
): Message {
  const { category, validitySeconds } = request;
  const usualMs = category === 'otp' ? limits.message.validityOtpMs : limits.message.validityDefaultMs;
  const validityMs = validitySeconds === null ? usualMs : validitySeconds * 1_000;
  const plan = admitted.route.planFor(messageId);
  return {
    messageId,
    hop: 0,
    delays: 0,
    accountId: owner.account.accountId,
    keyId: owner.id,
    channel: 'sms',
    category,
    carrier: plan.carrier,
    plan: plan.others,
    sender: request.from,
    senderTonNpi: null,
    recipient: request.to,
    recipientTonNpi: null,
    body: { text: admitted.text },
    encoding: admitted.encoding,
    shift: admitted.shift,
    segments: admitted.segments,
    registeredDelivery: 1,
    acceptedAtMs,
    // The validity counts from the time at which the message may go out.
    validUntilMs: (admitted.notBeforeMs ?? acceptedAtMs) + validityMs,
    scheduledAtMs: admitted.notBeforeMs,
    clientReference: request.clientReference,
    campaignId: null,
    variantId: null,
    templateId: admitted.templateId,
    livemode: owner.livemode,
    priceMicros: null,
    priceVersion: null,
    trace: admitted.trace.length === 0 ? plan.trace : [...plan.trace, ...admitted.trace],
    resends: 0,
  };
}

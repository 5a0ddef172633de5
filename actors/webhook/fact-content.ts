// What a webhook says of a fact (model/fact.ts): its type and the `data` of its body. Null for facts that are sent to
// no client.
import { classesOfPrograms } from '../../model/click-class.ts';
import type { ClickFact, Fact, GuardFact, OtpFact } from '../../model/fact.ts';
import type { WebhookContent } from '../../model/records/webhook-record.ts';
import type { FactEventType } from '../../model/webhook-endpoint.ts';
import { unreachable } from '../../platform/assert.ts';
import { isoTime } from '../../platform/iso-time.ts';
import { shownFigure } from '../../policy/otp-guard/shown-figure.ts';

export type FactContent<Kind extends Fact['kind'] = Fact['kind']> = Exclude<
  WebhookContent,
  { readonly event: unknown }
> & {
  readonly type: FactEventType<Kind>;
};

export function contentOfFact(fact: Fact): FactContent | null {
  switch (fact.kind) {
    case 'otp':
      return ofOtp(fact);
    case 'guard':
      return ofGuard(fact);
    case 'click':
      return ofClick(fact);
    default:
      return unreachable(fact);
  }
}

/** Its end, unless the client canceled it, or never received it. */
function ofOtp(fact: OtpFact): FactContent<'otp'> | null {
  const { status, reason, atMs } = fact;
  if (status === 'pending' || status === 'canceled' || reason === 'not_sent') return null;
  const isVerified = status === 'verified';
  return {
    type: isVerified ? 'otp.verified' : 'otp.failed',
    atMs,
    data: {
      id: fact.id,
      object: 'otp',
      status,
      ...(isVerified ? {} : { reason }),
      to: fact.to,
      purpose: fact.purpose,
      language: fact.language,
      attempts: fact.attempts,
      sms_id: fact.messageIds.at(-1) ?? null,
      sends: fact.messageIds.length,
      livemode: fact.livemode,
      client_reference: fact.clientReference,
      created_at: isoTime(fact.createdAtMs),
      ended_at: isoTime(atMs),
    },
  };
}

/** That numbers are blocked, also by a rule in shadow mode; refusals and releases are in reports. */
function ofGuard(fact: GuardFact): FactContent<'guard'> | null {
  if (fact.what !== 'block') return null;
  return {
    type: 'otp.blocked',
    atMs: fact.atMs,
    data: {
      object: 'otp_block',
      prefix: fact.prefix,
      rule: fact.rule,
      statistic: shownFigure(fact.statistic),
      threshold: shownFigure(fact.threshold),
      times: fact.times,
      shadow: fact.mode === 'shadow',
      livemode: fact.livemode,
      created_at: isoTime(fact.atMs),
      until: isoTime(fact.untilMs),
    },
  };
}

function ofClick(fact: ClickFact): FactContent<'click'> {
  return {
    type: classesOfPrograms.includes(fact.class) ? 'link.requested' : 'link.clicked',
    atMs: fact.atMs,
    data: {
      id: fact.clickId,
      object: 'click',
      class: fact.class,
      reasons: fact.reasons,
      link_id: fact.linkId,
      url: fact.url,
      sms_id: fact.messageId,
      category: fact.category,
      from: fact.sender,
      livemode: fact.livemode,
      campaign_id: fact.campaignId,
      variant_id: fact.variantId,
      template_id: fact.templateId,
      created_at: isoTime(fact.atMs),
    },
  };
}

// The events of messages of one week, the 22nd to the 28th of October 2026, for reports: messages that end in every way,
// at one carrier, after a move to a second one, or with a copy at each. Clocks in Berlin went back on the 25th.
import { type HedgeRule, controlGroup, copyNotNeeded, hedgeReasons } from '../../model/copies.ts';
import {
  type DeliveryEvent,
  type EventContext,
  acceptedEvent,
  canceledEvent,
  deliveryEvent,
  scheduledEvent,
} from '../../model/delivery-event.ts';
import type { Category } from '../../model/message.ts';
import { seededRandom } from '../../platform/random.ts';
import { contextOf } from '../analytics/support/events.ts';

type Events = readonly DeliveryEvent[];

/** Messages of seven days, and some refused requests and test messages. */
export function seededLives(accountId: string, messages: number): readonly Events[] {
  const random = seededRandom(11);
  const one = <T>(list: readonly T[]): T => list[Math.floor(random.unit() * list.length)] as T;
  return Array.from({ length: messages }, (_, n) => {
    const acceptedAtMs = Date.UTC(2026, 9, 22) + Math.floor(random.unit() * 7 * 86_400_000);
    const isRefused = n % 20 === 0;
    const scheduledAtMs = n % 8 === 3 ? acceptedAtMs + Math.floor(random.unit() * 7_200_000) : null;
    const context = contextOf({
      accountId,
      acceptedAtMs,
      scheduledAtMs,
      carrier: isRefused ? '' : one(['alpha', 'beta']),
      category: one<Category>(['otp', 'transactional', 'promotional']),
      sender: one(['BRAND', 'SHOP', 'O\'Neil, "Ltd"']),
      encoding: one(['gsm7', 'ucs2']),
      segments: isRefused ? 0 : one([1, 1, 2]),
      livemode: n % 15 !== 0,
      ...campaignOf(n),
    });
    if (isRefused)
      return [
        deliveryEvent(context, { kind: 'refused', atMs: acceptedAtMs, error: one(['no_route', 'invalid_field:to']) }),
      ];
    const submitMs = Math.floor(random.unit() * 3_000);
    const life = lifeIn(context, submitMs, submitMs + 20 + Math.floor(random.unit() * 60_000));
    const isHedged = context.category === 'otp' && context.segments === 1 && random.unit() < 0.6;
    const lives = isHedged ? hedgedLives(life) : [...plainLives(life), ...movedLives(life)];
    if (scheduledAtMs === null) return [acceptedEvent(context), ...one(lives)];
    const canceled = canceledEvent(context, acceptedAtMs + 1);
    const rest = one([[], [canceled], ...[1, 2, 3, 4].map(() => [acceptedEvent(context), ...one(lives)])]);
    return [scheduledEvent(context), ...rest];
  });
}

/** Some messages have no campaign, and some campaigns no variants. */
function campaignOf(n: number): Pick<EventContext, 'campaignId' | 'variantId'> {
  const campaign = n % 4;
  if (campaign === 0) return { campaignId: null, variantId: null };
  return { campaignId: `cmp_${campaign}`, variantId: campaign === 3 ? null : n % 3 === 0 ? 'var_a' : 'var_b' };
}

type Life = ReturnType<typeof lifeIn>;

/** Events of a message at its first carrier and, one hop further, at another. */
function lifeIn(context: EventContext, submitMs: number, endMs: number) {
  const dueAtMs = context.scheduledAtMs ?? context.acceptedAtMs;
  const next = { ...context, carrier: context.carrier === 'alpha' ? 'beta' : 'alpha', hop: 1 };
  const eventsOf = (of: EventContext) => ({
    /** Of one segment, or 0: of the message. */
    one: (kind: DeliveryEvent['kind'], afterMs: number, error: string | null = null, segment = 1) =>
      deliveryEvent(of, { kind, atMs: dueAtMs + afterMs + segment, segment, attempt: 1, error }),
    /** Of each segment. */
    each: (kind: DeliveryEvent['kind'], afterMs: number, error: string | null = null) =>
      Array.from({ length: of.segments }, (_, at) =>
        deliveryEvent(of, { kind, atMs: dueAtMs + afterMs + at, segment: at + 1, attempt: 1, error }),
      ),
  });
  return { submitMs, endMs, first: eventsOf(context), second: eventsOf(next), nextCarrier: next.carrier };
}

function plainLives({ first: { one, each }, submitMs, endMs }: Life): readonly Events[] {
  const submitted = each('submitted', submitMs);
  const delivered = each('delivered', endMs);
  const unknown = one('unknown', endMs, 'no_receipt', 0);
  const unanswered = one('unknown', endMs, 'no_response', 0);
  return [
    ...Array.from({ length: 8 }, () => [...submitted, ...delivered]),
    [...submitted, one('undelivered', endMs, 'receipt_undelivered:042')],
    [...submitted, unknown],
    [...submitted, unknown, ...each('delivered', endMs + 900_000)],
    [...submitted, unknown, one('undelivered', endMs + 900_000, 'receipt_undelivered:027')],
    [...submitted, one('undelivered', endMs, 'receipt_expired:000'), ...each('delivered', endMs + 5)],
    submitted,
    [],
    [one('deferred', 1, 'throttled', 0), ...submitted, ...delivered],
    [one('rejected', submitMs, 'ESME_RINVDSTADR')],
    [one('failed', 1, 'no_route', 0)],
    [one('blocked', 1, 'recipient_opted_out', 0)],
    [one('expired', 3_600_000, 'validity_expired', 0)],
    // No response to the submit, but a receipt.
    [unanswered, ...each('delivered', endMs + 900_000)],
    [...each('resent', submitMs, 'resent_by_policy:no_response'), ...each('submitted', submitMs + 500), ...delivered],
    [...each('resent', submitMs, 'resent_by_policy:no_response'), one('unknown', endMs, 'not_resent:no_response', 0)],
  ];
}

/** A message that moved to another carrier before the first had taken it. */
function movedLives({ first, second, submitMs, endMs, nextCarrier }: Life): readonly Events[] {
  const moved = first.one('rerouted', submitMs, `${nextCarrier}: carrier_down`, 0);
  const submitted = second.each('submitted', submitMs + 1_000);
  return [
    [moved, ...submitted, ...second.each('delivered', endMs + 1_000)],
    [moved, ...submitted, second.one('undelivered', endMs + 1_000, 'receipt_undelivered:042')],
    [moved, second.one('failed', submitMs + 1_000, 'no_route', 0)],
    [moved],
  ];
}

/** A second copy of a one-time password, because the receipt or the answer of the first carrier takes too long. */
function hedgedLives({ first, second, submitMs, endMs, nextCarrier }: Life): readonly Events[] {
  const late = (rule: HedgeRule, begin = `to ${nextCarrier}: `) =>
    first.one('hedged', submitMs + 5, `${begin}${hedgeReasons[rule]}`, 0);
  const submitted = first.one('submitted', submitMs);
  const copied = [submitted, late('receipt'), second.one('submitted', submitMs + 10)];
  const unanswered = late('response');
  const undelivered = [
    first.one('undelivered', endMs, 'receipt_undelivered:042'),
    second.one('undelivered', endMs + 3_000, 'receipt_undelivered:027'),
  ] as const;
  const delivered = [first.one('delivered', endMs), second.one('delivered', endMs + 3_000)] as const;
  const unknown = [
    first.one('unknown', endMs, 'no_response', 0),
    second.one('unknown', endMs + 3_000, 'no_receipt', 0),
  ] as const;
  const control = (rule: HedgeRule) => late(rule, controlGroup);
  return [
    [...copied, undelivered[0], delivered[1]],
    [...copied, undelivered[0]],
    [...copied, undelivered[1]],
    [...copied, ...undelivered],
    [...copied, undelivered[1], delivered[0]],
    [...copied, delivered[1], undelivered[0]],
    [...copied, delivered[0], second.one('canceled', endMs + 1, copyNotNeeded)],
    [...copied, ...delivered],
    [...copied, undelivered[0], unknown[1]],
    [...copied, ...unknown, delivered[1]],
    [...copied, unknown[1], undelivered[0], first.one('unknown', endMs + 9, 'no_receipt', 0)],
    [...copied, ...unknown, ...undelivered],
    [unanswered, second.one('submitted', submitMs + 10), unknown[0], delivered[1]],
    [unanswered, second.one('rejected', submitMs + 10, 'ESME_RTHROTTLED'), submitted, delivered[0]],
    [unanswered, second.one('failed', submitMs + 6, 'hedge_not_sent', 0), unknown[0]],
    [unanswered, second.one('failed', submitMs + 6, 'hedge_not_sent', 0)],
    [submitted, control('receipt'), undelivered[0]],
    [submitted, control('receipt'), delivered[0]],
    [control('response'), submitted, delivered[0]],
    [control('response'), unknown[0]],
  ];
}

// The events of messages of one week, the 22nd to the 28th of October 2026, for reports. Clocks in Berlin went back on the 25th.
import { type DeliveryEvent, acceptedEvent, deliveryEvent } from '../../model/delivery-event.ts';
import type { Category } from '../../model/message.ts';
import { seededRandom } from '../../platform/random.ts';
import { contextOf } from '../analytics/support/events.ts';

/** Messages of seven days that end in every way, and some refused requests and test messages. */
export function seededLives(accountId: string, messages: number): readonly (readonly DeliveryEvent[])[] {
  const random = seededRandom(11);
  const one = <T>(list: readonly T[]): T => list[Math.floor(random.unit() * list.length)] as T;
  return Array.from({ length: messages }, (_, n) => {
    const acceptedAtMs = Date.UTC(2026, 9, 22) + Math.floor(random.unit() * 7 * 86_400_000);
    const isRefused = n % 20 === 0;
    const context = contextOf({
      accountId,
      acceptedAtMs,
      carrier: isRefused ? '' : one(['alpha', 'beta']),
      category: one<Category>(['otp', 'transactional', 'promotional']),
      sender: one(['BRAND', 'SHOP', 'O\'Neil, "Ltd"']),
      encoding: one(['gsm7', 'ucs2']),
      segments: isRefused ? 0 : one([1, 1, 2]),
      livemode: n % 15 !== 0,
    });
    if (isRefused)
      return [
        deliveryEvent(context, { kind: 'refused', atMs: acceptedAtMs, error: one(['no_route', 'invalid_field:to']) }),
      ];
    const parts = Array.from({ length: context.segments }, (__, at) => at + 1);
    const of = (kind: DeliveryEvent['kind'], afterMs: number, error: string | null = null) =>
      parts.map((segment) =>
        deliveryEvent(context, { kind, atMs: acceptedAtMs + afterMs + segment, segment, attempt: 1, error }),
      );
    const submitMs = Math.floor(random.unit() * 3_000);
    const endMs = submitMs + 20 + Math.floor(random.unit() * 60_000);
    const unknown = deliveryEvent(context, { kind: 'unknown', atMs: acceptedAtMs + endMs, error: 'no_receipt' });
    const begin = [acceptedEvent(context), ...of('submitted', submitMs)];
    const ends: readonly (readonly DeliveryEvent[])[] = [
      ...Array.from({ length: 5 }, () => [...begin, ...of('delivered', endMs)]),
      [...begin, ...of('undelivered', endMs, 'receipt_undelivered:042').slice(0, 1)],
      [...begin, unknown],
      [...begin, unknown, ...of('delivered', endMs + 900_000)],
      [...begin, ...of('undelivered', endMs, 'receipt_expired:000').slice(0, 1), ...of('delivered', endMs + 5)],
      begin,
    ];
    return one(ends);
  });
}

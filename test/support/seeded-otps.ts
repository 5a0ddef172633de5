// One-time passwords and decisions of the guard over a seeded run of messages, as facts.
import type { DeliveryEvent } from '../../model/delivery-event.ts';
import type { GuardFact, OtpFact } from '../../model/fact.ts';
import { type MessageId, type OtpId, eventIdOf } from '../../model/ids.ts';
import { seededRandom } from '../../platform/random.ts';

/** A one-time password for each live message of the lane, and for some two; they end in every way. */
export function seededOtps(lives: readonly (readonly DeliveryEvent[])[]): readonly OtpFact[] {
  const random = seededRandom(11);
  const one = <T>(list: readonly T[]): T => list[Math.floor(random.unit() * list.length)] as T;
  const sent = lives.map(([first]) => first as DeliveryEvent);
  const otps = sent.filter(({ category, livemode, kind }) => category === 'otp' && livemode && kind === 'accepted');
  return otps.map(({ messageId, accountId, acceptedAtMs: createdAtMs, sender }, at) => {
    const [status, reason] = one([
      ...[1, 2, 3, 4].map(() => ['verified', null] as const),
      ...[['expired', 'expired'] as const, ['canceled', null] as const, ['failed', 'not_sent'] as const],
      ...[['max_attempts_reached', 'max_attempts_reached'] as const, ['failed', 'locked'] as const],
      ...[['pending', null] as const, ['failed', 'delivery_failed'] as const],
    ]);
    const identity = { messageId, kind: 'otp', attempt: 0, carrier: '', segment: 0, detail: '' };
    const language = one(['en', 'bn', null]);
    // A language in which nobody has entered a code.
    const isUnused = status !== 'verified' && at % 5 === 0;
    const isTwice = at % 9 === 0 && at > 0;
    return {
      ...{ kind: 'otp', eventId: eventIdOf(identity), atMs: createdAtMs, accountId, livemode: true, version: at + 2 },
      ...{
        id: `otp_${messageId}` as OtpId,
        to: `+88017${10_000_000 + at * 20_000}`,
        status,
        reason,
        purpose: 'default',
      },
      ...{ language: isUnused ? 'hi' : language, ownCode: at % 10 === 0, sender, clientReference: null, createdAtMs },
      expiresAtMs: createdAtMs + 300_000,
      endedAtMs: status === 'pending' ? null : createdAtMs + 1_000 + Math.floor(random.unit() * 90_000),
      attempts: 1,
      // The second message is sent while the code is valid, and no other one of the run is as near.
      messageIds: [...(isTwice ? [messageId] : []), messageId] as MessageId[],
    };
  });
}

export function seededDecisions(accountId: string): readonly GuardFact[] {
  return Array.from({ length: 40 }, (_, n) => {
    const identity = {
      messageId: `decision ${n} of ${accountId}`,
      kind: 'otp_guard',
      attempt: 0,
      carrier: '',
      segment: 0,
      detail: '',
    };
    const prefix = `+88017${n % 3}`;
    return {
      ...{ kind: 'guard', eventId: eventIdOf(identity), atMs: Date.UTC(2026, 9, 23, n % 24), accountId },
      ...{ livemode: true, what: n % 5 === 0 ? 'block' : 'refusal', rule: n % 2 === 0 ? 'conversion' : 'velocity' },
      ...{ action: n % 5 === 0 ? null : n % 2 === 0 ? 'block' : 'challenge', mode: n % 7 === 0 ? 'shadow' : 'on' },
      ...{ scope: prefix, prefix, statistic: n + 0.5, threshold: 20 + (n % 4) / 8, times: 1, released: '' },
      untilMs: n % 5 === 0 ? Date.UTC(2026, 9, 23, n % 24, n) : 0,
    };
  });
}

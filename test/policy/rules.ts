// Rules, principals and requests for the tests of policy: one good one of each, to be varied.
import { type Category, categories } from '../../model/message.ts';
import { senderKinds } from '../../model/sender.ts';
import type { Principal, CarrierOffer, RoutingRules, SmsRequest } from '../../policy/contract.ts';
import type { QuietRule } from '../../policy/country/contract.ts';

export const rules: RoutingRules = {
  country: { callingCode: '+880', nationalLengths: [10], prefixes: { '17': 'alpha', '18': 'beta', '1719': 'gamma' } },
  carriers: [
    offer('alpha', ['otp', 'transactional', 'promotional']),
    offer('beta', ['otp', 'transactional']),
    offer('gamma', ['otp']),
    offer('sandbox', ['otp', 'transactional', 'promotional']),
  ],
  routes: [
    { prefix: '+8801799', classes: ['promotional'], carriers: ['beta', 'alpha'], choose: 'listed' },
    { prefix: '+8801799', classes: [], carriers: ['gamma', 'beta'], choose: 'listed' },
  ],
  fallback: [],
  sandboxCarrier: 'sandbox',
};

/** No promotional message at these minutes of any day in Dhaka; an end before the start is of the next day. */
export function quietForPromotions(startMinute: number, endMinute: number): QuietRule {
  return {
    categories: ['promotional'],
    timeZone: 'Asia/Dhaka',
    from: null,
    until: null,
    days: [0, 1, 2, 3, 4, 5, 6],
    dates: [],
    closed: [{ startMinute, endMinute }],
  };
}

export function principal(
  over: { livemode?: boolean; scopes?: string[]; senders?: string[]; status?: 'active' | 'suspended' } = {},
): Principal {
  const { livemode = true, scopes = ['sms:send'], senders = ['HELIO'], status = 'active' } = over;
  return { livemode, scopes, account: { status, senders: new Set(senders) } };
}

export function request(over: Partial<SmsRequest> = {}): SmsRequest {
  return {
    to: '+8801712345678',
    from: 'HELIO',
    message: 'Your code is 123456',
    category: 'transactional',
    encoding: 'auto',
    transliterate: false,
    clientReference: null,
    validitySeconds: null,
    quietHours: 'hold',
    ...over,
  };
}

export function offer(
  name: string,
  classes: readonly Category[] = categories,
  more: Partial<CarrierOffer> = {},
): CarrierOffer {
  return { name, classes, senders: senderKinds, cost: 0, weight: 1, nationalTables: [], ...more };
}

// Rules, applicants and requests for the tests of policy: one good one of each, to be varied.
import type { Applicant, RoutingRules, SmsRequest } from '../../policy/contract.ts';

export const rules: RoutingRules = {
  country: { callingCode: '+880', nationalLengths: [10], prefixes: { '17': 'alpha', '18': 'beta', '1719': 'gamma' } },
  carriers: [
    { name: 'alpha', classes: ['otp', 'transactional', 'promotional'] },
    { name: 'beta', classes: ['otp', 'transactional'] },
    { name: 'gamma', classes: ['otp'] },
    { name: 'sandbox', classes: ['otp', 'transactional', 'promotional'] },
  ],
  routes: [
    { prefix: '+8801799', classes: ['promotional'], carriers: ['beta', 'alpha'] },
    { prefix: '+8801799', classes: [], carriers: ['gamma', 'beta'] },
  ],
  sandboxCarrier: 'sandbox',
};

export function applicant(
  over: { livemode?: boolean; scopes?: string[]; senders?: string[]; status?: 'active' | 'suspended' } = {},
): Applicant {
  const { livemode = true, scopes = ['sms:send'], senders = ['HELIO'], status = 'active' } = over;
  return { key: { livemode, scopes }, account: { status, senders: new Set(senders) } };
}

export function request(over: Partial<SmsRequest> = {}): SmsRequest {
  return {
    to: '+8801712345678',
    from: 'HELIO',
    message: 'Your code is 123456',
    category: 'transactional',
    encoding: 'auto',
    clientReference: null,
    validitySeconds: null,
    ...over,
  };
}

// Accounts with every gate switched on, in the same structures as in an entry point, and messages that pass all of
// them: a refusal ends early and would look cheap.
import { networkGate } from '../../acceptance/principal-limits.ts';
import { RateLimits } from '../../acceptance/principal-limits.ts';
import { newRateMemory } from '../../platform/rate-table.ts';
import { type Principal, principalOfKey } from '../../acceptance/principal.ts';
import { tenantEntities } from '../../directory/tenant-entities.ts';
import { encodeBlock } from '../../directory/suppression-entry.ts';
import { Suppressed } from '../../directory/suppressed.ts';
import { Tenants } from '../../directory/tenants.ts';
import { newApiKey } from '../../model/api-key.ts';
import { type AccountId, newAccountId, newApiKeyId } from '../../model/ids.ts';
import { parseIp } from '../../platform/ip-address.ts';
import { blockOfPlace, suppressionBitsFor, suppressionPlaceOf } from '../../model/suppression.ts';
import { assert } from '../../platform/assert.ts';
import { seededRandom } from '../../platform/random.ts';
import { admission } from '../../policy/admission/gates.ts';
import type { RoutingRules, SmsRequest } from '../../policy/contract.ts';
import { offer, request } from '../../test/policy/rules.ts';

type Wanted = { accounts: number; suppressedPerAccount: number; suppressedOfLargest: number; seed: number };

const wordsPerAccount = 200;
const templatesPerAccount = 20;
const numberOf = (at: number) => `+88017${String(at % 100_000_000).padStart(8, '0')}`;

const rules: RoutingRules = {
  country: { callingCode: '+880', nationalLengths: [10], prefixes: { '17': 'alpha' } },
  content: { words: listOf('worldwide', 500), linksDenied: listOf('nobody', 500, '.example'), linksAllowed: [] },
  carriers: [offer('alpha')],
  routes: [],
  fallback: [],
  sandboxCarrier: 'sandbox',
};

export function admitForBench(wanted: Wanted) {
  const random = seededRandom(wanted.seed);
  const suppressed = new Suppressed();
  const tenants = new Tenants((accountId) => ({
    has: (to, from, category) => suppressed.has(accountId, to, from, category),
  }));
  const heapBefore = process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers;
  const tokens = Array.from({ length: wanted.accounts }, (_, at) => {
    const { token, accountId } = addAccount(tenants, at);
    const count = at === 0 ? wanted.suppressedOfLargest : wanted.suppressedPerAccount;
    // Odd numbers are suppressed, even ones are sent to: neighbours, so that the first digits decide nothing.
    suppress(
      suppressed,
      accountId,
      Array.from({ length: count }, () => Math.floor(random.unit() * 5e7) * 2 + 1),
    );
    return token;
  });
  // Read at the end: what is compiled at first use belongs to it.
  const heapMb = () => (process.memoryUsage().heapUsed + process.memoryUsage().arrayBuffers - heapBefore) / 2 ** 20;

  const rates = new RateLimits(newRateMemory());
  const admit = admission(rules);
  const ip = parseIp('203.0.113.77');
  const principalAt = (at: number): Principal => {
    // Every second message is of the account with the long list.
    const found = tenants.authenticate(tokens[at % 2 === 0 ? 0 : at % tokens.length], 0);
    assert(found.ok, 'the bench made this key');
    return principalOfKey(found);
  };
  const plain = tokens.length - 1;
  const one = (principal: Principal, at: number) => {
    assert(networkGate(principal, ip) === null, 'the address is allowed');
    assert(rates.take(principal).refused === null, 'the rate is high enough');
    const admitted = admit(principal, requestOf(at));
    assert(admitted.ok, 'the message passes every gate');
  };
  const known = Array.from({ length: 1_000 }, (_, at) => principalAt(at));
  return {
    heapMb,
    textChars: requestOf(0).message.length,
    parts: {
      all_gates: (at: number) => one(principalAt(at), at),
      without_authentication: (at: number) => one(known[at % known.length] as Principal, at),
      authentication: (at: number) => void principalAt(at + plain),
    },
  };
}

function addAccount(tenants: Tenants, at: number): { token: string; accountId: AccountId } {
  const accountId = newAccountId(1_700_000_000_000 + at);
  const key = newApiKey(true);
  const put = (name: string, text: string) => assert(tenants.apply(name, Buffer.from(text)), `${name} is readable`);
  const rate = { perSecond: 100_000, burst: 1_000_000 };
  const content = {
    words: listOf('w', wordsPerAccount),
    linksDenied: listOf('d', wordsPerAccount, '.example'),
    linksAllowed: [],
  };
  put(
    `account.${accountId}`,
    tenantEntities.account.encode({
      ...{ v: 1, accountId, name: 'Bench', status: 'active', senders: ['HELIO', 'OTHER'] },
      ...{ networks: ['198.51.100.0/24', '203.0.113.0/24'], rate, requireTemplate: ['otp', 'transactional'], content },
    }),
  );
  put(
    `key.${key.publicId}`,
    tenantEntities.key.encode({
      ...{ v: 1, keyId: newApiKeyId(1_700_000_000_000 + at), accountId, publicId: key.publicId, livemode: true },
      ...{ secretHash: key.secretHash.toString('base64url'), scopes: ['sms:send'], expiresAtMs: null },
      ...{ networks: ['203.0.113.0/24'], rate },
    }),
  );
  // Ten thousand accounts have templates; the first hundred have many.
  for (let number = 0; number < (at < 100 ? templatesPerAccount : 1); number += 1) {
    const templateId = `tpl_${String(at * 100 + number).padStart(26, '0')}`;
    const body =
      number === 0
        ? 'Your {{shop}} code is {{code}}. It is valid for {{minutes}} minutes: do not give it away.'
        : `Template ${number} says {{shop}} {{code}}`;
    const variables = [
      { name: 'shop', type: 'text', size: 20 },
      { name: 'code', type: 'code', size: 6 },
      ...(number === 0 ? [{ name: 'minutes', type: 'number' } as const] : []),
    ] as const;
    put(
      `template.${accountId}.${templateId}`,
      tenantEntities.template.encode({ v: 1, templateId, accountId, category: 'transactional', body, variables }),
    );
  }
  return { token: key.token, accountId };
}

function suppress(suppressed: Suppressed, accountId: AccountId, subscribers: readonly number[]): void {
  const bits = suppressionBitsFor(subscribers.length);
  const blocks = new Map<number, { number: number; sender: string; category: '' }[]>();
  for (const subscriber of new Set(subscribers)) {
    const number = Number(numberOf(subscriber).slice(1));
    const block = blockOfPlace(suppressionPlaceOf(number), bits);
    const held = blocks.get(block);
    if (held === undefined) blocks.set(block, [{ number, sender: '', category: '' }]);
    else held.push({ number, sender: '', category: '' });
  }
  for (const [block, numbers] of blocks) {
    suppressed.apply(`block.${accountId}.${bits}.${block}`, Buffer.from(encodeBlock('bench', numbers)));
  }
}

function requestOf(at: number): SmsRequest {
  const code = 100_000 + (at % 900_000);
  return request({
    to: numberOf(at * 2),
    message: `Your Fine Goods Shop code is ${code}. It is valid for 5 minutes: do not give it away.`,
    template: null,
  });
}

function listOf(stem: string, count: number, end = ''): string[] {
  return Array.from({ length: count }, (_, at) => `${stem}${at}${end}`);
}

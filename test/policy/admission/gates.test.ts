// Content rules, required templates, opt-outs: each alone, then all of them in one admission, where a test key never
// gets a real carrier whatever the request is.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { categories } from '../../../model/message.ts';
import { linkHostsOf, wordsOf } from '../../../model/words-and-links.ts';
import { admission } from '../../../policy/admission/gates.ts';
import { compileContentRules } from '../../../policy/admission/content-rules.ts';
import type { Principal } from '../../../policy/contract.ts';
import { principal, request, rules } from '../rules.ts';

const approved = {
  templateId: 'tpl_1',
  category: 'otp',
  body: 'Your code is {{code}}',
  variables: [{ name: 'code', type: 'code', size: 6 }],
} as const;
const templates = {
  find: (id: string) => (id === approved.templateId ? approved : undefined),
  ofCategory: (category: string) => (category === approved.category ? [approved] : []),
};

function who(account: Partial<Principal['account']>, livemode = true): Principal {
  const base = principal({ livemode });
  return { ...base, account: { ...base.account, ...account } };
}

const admit = admission(rules);
const codeOf = (asking: Principal, over: Parameters<typeof request>[0] = {}) => {
  const result = admit(asking, request(over));
  return result.ok ? 'admitted' : `${result.code} ${result.field}`;
};

describe('content rules', () => {
  const check = compileContentRules({
    words: ['lottery', 'free money', 'লটারি'],
    linksDenied: ['bad.example', 'bit.ly'],
    linksAllowed: [],
  })!;
  test.each([
    ['Win the LOTTERY now', 'word'],
    ['free, money!', 'word'],
    ['আজ লটারি!', 'word'],
    ['go to http://x.bad.example/a?b', 'link_denied'],
    ['see BIT.LY/abc', 'link_denied'],
    ['http://good.com@bad.example/', 'link_denied'],
    // Disguised: to a reader, or a browser, it is the same.
    ['Win the lоttеry now', 'word'],
    ['Win the LОТТЕRY now', 'word'],
    ['Ｌｏｔｔｅｒｙ', 'word'],
    ['lot\u200btery', 'word'],
    ['lo\u00adtt\u0301ery', 'word'],
    ['লটা\u200cরি', 'word'],
    ['see “bad.example”', 'link_denied'],
    ['see…bad.example', 'link_denied'],
    ['দেখুন: bad.example।', 'link_denied'],
    ['hello..bad.example', 'link_denied'],
    ['http://bad。example/', 'link_denied'],
    ['http://ｂａｄ.ｅｘａｍｐｌｅ', 'link_denied'],
    ['http://bad%2Eexample', 'link_denied'],
    ['http://b\u00adad.example', 'link_denied'],
  ])('%j is hit', (text, kind) => expect(check(text)).toMatchObject({ kind }));
  test.each([
    'lotteryland',
    'freemoney',
    'free lunch, no money',
    'notbad.example',
    'লটারিওয়ালা',
    'bad.example.org',
    'pay 10.50. Thanks',
    '',
  ])('%j is not', (text) => expect(check(text)).toBeNull());

  test('with a list of allowed links every other one is refused', () => {
    const only = compileContentRules({ words: [], linksDenied: [], linksAllowed: ['example.com'] })!;
    expect(only('https://www.example.com/x and example.com')).toBeNull();
    expect(only('https://example.com.evil.net')).toMatchObject({
      kind: 'link_not_allowed',
      found: 'example.com.evil.net',
    });
    expect(only('http://192.0.2.1/')).toMatchObject({ kind: 'link_not_allowed' });
    for (const text of [
      'http://3232235777/',
      'https://localhost:8080/x',
      'http://[::1]/',
      'http://[2001:db8::1]:80/',
    ]) {
      expect(only(text)).toMatchObject({ kind: 'link_not_allowed' });
    }
    expect(only('no links, 10.5 taka')).toBeNull();
    // Handsets show four numbers as a link, and no amount of money.
    for (const text of ['see 185.1.2.3/x', '10.0.0.1', 'pay (185.001.002.255).'])
      expect([text, only(text)]).toMatchObject([text, { kind: 'link_not_allowed' }]);
    for (const text of ['৫০০.৫০ টাকা', '1.250.300,75', 'version 2.4.11', '185.1.2.256', '1.2.3.4.5', '10.000.00'])
      expect([text, only(text)]).toEqual([text, null]);
    expect(only('a://b is no web page, and neither is this: ://')).toMatchObject({ found: 'b' });
  });

  test("a domain in its country's letters and in punycode is one domain", () => {
    const check = compileContentRules({ words: [], linksDenied: ['пример.рф'], linksAllowed: [] })!;
    for (const text of ['https://пример.рф/x', 'ПРИМЕР.РФ', 'www.xn--e1afmkfd.xn--p1ai']) {
      expect(check(text)).toMatchObject({ found: expect.stringContaining('xn--e1afmkfd.xn--p1ai') });
    }
  });

  test('a word is found in every case that its rule may be written in', () => {
    for (const rule of ['Ваня', 'ВАНЯ', 'ваня']) {
      const check = compileContentRules({ words: [rule], linksDenied: [], linksAllowed: [] })!;
      for (const text of ['Ваня', 'ВАНЯ', 'ваня']) expect(check(`${text}!`)).not.toBeNull();
      expect(check('ванна')).toBeNull();
    }
  });

  test('any text is read without an error, and a plain one unchanged', () => {
    fc.assert(
      fc.property(fc.string({ unit: 'binary', maxLength: 200 }), (text) => {
        expect(wordsOf(text).every((word) => word === word.toLowerCase())).toBe(true);
        linkHostsOf(text);
      }),
    );
    fc.assert(
      fc.property(fc.string({ unit: 'binary-ascii', maxLength: 200 }), (text) => {
        expect(wordsOf(text)).toEqual(text.toLowerCase().match(/[a-z0-9]+/g) ?? []);
      }),
    );
  });

  test('the hosts of links are found whatever surrounds them', () => {
    fc.assert(
      fc.property(
        fc.stringMatching(/^[a-z]{1,10}\.(com|net|bd)$/),
        fc.constantFrom('', ' ', '(', '"', '\n', ', '),
        (host, around) => {
          expect(linkHostsOf(`see${around === '' ? ' ' : around}https://${host}/path${around}`)).toContain(host);
        },
      ),
    );
  });

  test('without lists there is nothing to check', () => {
    expect(compileContentRules({ words: [], linksDenied: [], linksAllowed: [] })).toBeNull();
  });

  test("the installation's rules apply to an account without any, and an account's own to that account", () => {
    const strict = admission({ ...rules, content: { words: ['casino'], linksDenied: [], linksAllowed: [] } });
    expect(strict(principal(), request({ message: 'casino' }))).toMatchObject({
      code: 'content_blocked',
      field: 'message',
    });
    const content = { words: ['pizza'], linksDenied: [], linksAllowed: [] };
    expect(codeOf(who({ content }), { message: 'Pizza time' })).toBe('content_blocked message');
    expect(codeOf(who({}), { message: 'Pizza time' })).toBe('admitted');
  });
});

describe('templates', () => {
  const demanding = who({ templates, requireTemplate: ['otp'] });
  test('a category that requires templates accepts what a template could have given, and nothing else', () => {
    expect(codeOf(demanding, { category: 'otp', message: 'Your code is 123456' })).toBe('admitted');
    expect(codeOf(demanding, { category: 'otp', message: 'Your code is 12345' })).toBe('template_mismatch message');
    expect(codeOf(demanding, { category: 'otp', message: 'Buy now' })).toBe('template_mismatch message');
    expect(codeOf(demanding, { category: 'transactional', message: 'Buy now' })).toBe('admitted');
  });
  test('a named template gives the text, which is sent', () => {
    const template = { id: 'tpl_1', variables: { code: '654321' } };
    expect(admit(demanding, request({ category: 'otp', message: '', template }))).toMatchObject({
      ok: true,
      text: 'Your code is 654321',
      templateId: 'tpl_1',
      segments: 1,
    });
  });
  test.each([
    [{ id: 'tpl_1', variables: {} }, 'otp', 'template_mismatch variables.code'],
    [{ id: 'tpl_1', variables: { code: 'abc' } }, 'otp', 'template_mismatch variables.code'],
    [{ id: 'tpl_1', variables: { code: '123456' } }, 'promotional', 'template_mismatch template_id'],
    [{ id: 'tpl_2', variables: {} }, 'otp', 'template_mismatch template_id'],
  ] as const)('%j for %s is refused: %s', (template, category, expected) => {
    expect(codeOf(demanding, { category, message: '', template })).toBe(expected);
  });
});

test('a sender that was approved for some categories is refused for the others, live', () => {
  const senderCategories = new Map([['HELIO', ['otp'] as const]]);
  expect(codeOf(who({ senderCategories }), { category: 'otp' })).toBe('admitted');
  expect(codeOf(who({ senderCategories }), { category: 'promotional' })).toBe('sender_not_registered from');
  expect(codeOf(who({ senderCategories }, false), { category: 'promotional' })).toBe('admitted');
});

test('a suppressed number is refused, for exactly what the entry covers', () => {
  const suppressions = {
    has: (to: string, from: string, category: string) => to.endsWith('78') && from === 'HELIO' && category !== 'otp',
  };
  expect(codeOf(who({ suppressions }))).toBe('recipient_opted_out to');
  expect(codeOf(who({ suppressions }), { category: 'otp' })).toBe('admitted');
  expect(codeOf(who({ suppressions }), { to: '+8801712345679' })).toBe('admitted');
});

test('with all gates on, a test key never gets a real carrier, and a live key never the sandbox', () => {
  const strict = admission({ ...rules, content: { words: ['casino'], linksDenied: [], linksAllowed: [] } });
  fc.assert(
    fc.property(
      fc.boolean(),
      fc.nat(99_999_999).map((n) => `+88017${String(n).padStart(8, '0')}`),
      fc.constantFrom(...categories),
      fc.constantFrom('HELIO', 'Anybody', '12345'),
      fc.constantFrom('Your code is 123456', 'casino', 'hello'),
      fc.constantFrom(null, { id: 'tpl_1', variables: { code: '123456' } }),
      fc.string({ minLength: 1 }),
      (livemode, to, category, from, message, template, messageId) => {
        const asking = who({ templates, requireTemplate: ['otp'] }, livemode);
        const result = strict(
          asking,
          request({ to, category, from, message: template === null ? message : '', template }),
        );
        if (!result.ok) return void expect(result.detail.length).toBeGreaterThan(10);
        const plan = result.route.planFor(messageId);
        for (const carrier of [plan.carrier, ...plan.others]) expect(carrier === 'sandbox').toBe(!livemode);
      },
    ),
    { numRuns: 1_000 },
  );
});

// What a program reads of a refusal about one-time passwords: a code that was used is no 200, fields are those of the route,
// and a limit or a rule is named by members of the problem. A real ingress with two threads and a real nats-server.
import { afterAll, describe, expect, test } from 'vitest';
import { openBucket } from '../../../../cluster/bus/ensure.ts';
import { changeLists, putBlock } from '../../../../cluster/bus/otp-guard-bucket.ts';
import { systemClock } from '../../../../platform/clock.ts';
import { otpLimitsDefault, otpRulesDefault } from '../../../../policy/otp/contract.ts';
import { until } from '../../../support/until.ts';
import { type Tenant, call } from '../harness.ts';
import { type OtpClient, freshNumber, openOtpClient, otherThan } from './otp-client.ts';

const client: OtpClient = await openOtpClient();
const { harness, tenant, start, verify, resend } = client;
const guardBucket = await openBucket(harness.bus, 'otp_guard');
afterAll(() => harness.stop());

describe('a code that was verified', () => {
  test('is a 409 from then on, whatever is typed and by whomever', async () => {
    const { body } = await start();
    const headers = { 'idempotency-key': `verify ${body['id']}` };
    const right = await verify(body['id'], body['test_code'], { headers });
    expect(right).toMatchObject({ status: 200, body: { status: 'verified', valid: true } });
    const used = { status: 409, body: { code: 'otp_already_verified' } };
    expect(await verify(body['id'], body['test_code'])).toMatchObject(used);
    expect(await verify(body['id'], otherThan(body['test_code']))).toMatchObject(used);
    const another = { 'idempotency-key': `again ${body['id']}` };
    expect(await verify(body['id'], body['test_code'], { headers: another })).toMatchObject(used);
    expect(await verify(body['id'], body['test_code'], { headers: another })).toMatchObject(used);
    // Its own request gets its answer again.
    expect((await verify(body['id'], body['test_code'], { headers })).body).toEqual(right.body);
  });

  test('never has the status verified beside valid: false, also when guesses come at once', async () => {
    for (let round = 0; round < 10; round += 1) {
      const { body } = await start();
      const [code, wrong] = [body['test_code'], otherThan(body['test_code'])];
      const answers = await Promise.all([code, wrong, code, wrong, code].map((each) => verify(body['id'], each)));
      const verified = answers.filter((each) => each.body['status'] === 'verified');
      expect(verified.map((each) => each.body['valid'])).toEqual([true]);
      expect(answers.filter(({ status }) => status !== 200 && status !== 409)).toEqual([]);
    }
  });
});

describe('a destination that is not allowed', () => {
  test('is a 422 that names the field and the prefixes, and an event', async () => {
    const own = await harness.tenant();
    await changeLists(guardBucket, own.accountId, () => ({ destinations: ['+88018', '+88019'] }));
    const asked = () => start({ to: freshNumber() }, own.live);
    const answer = await until('the list is in effect', async () => {
      const { status, body } = await asked();
      return status !== 201 && { status, body };
    });
    const detail = 'must begin with +88018 or +88019: this account sends no codes to other numbers (GET /v1/otp-guard)';
    const code = 'otp_destination_not_allowed';
    expect(answer).toMatchObject({
      status: 422,
      body: { code, detail: `to: ${detail}`, errors: [{ field: 'to', code, detail }] },
    });
  });

  test('with many prefixes has some of them', async () => {
    const own = await harness.tenant();
    const destinations = Array.from({ length: 30 }, (_, at) => `+88018${10 + at}`);
    await changeLists(guardBucket, own.accountId, () => ({ destinations }));
    const { detail } = await until('the list is in effect', async () => {
      const { status, body } = await start({ to: freshNumber() }, own.live);
      return status === 422 && { detail: body['detail'] as string };
    });
    expect(detail).toContain('+8801819 or one of 20 more: ');
    expect(detail).not.toContain('+8801820');
  });

  test('has no field where the route has none', async () => {
    const own = await harness.tenant();
    const { body } = await start({ to: freshNumber() }, own.live);
    await changeLists(guardBucket, own.accountId, () => ({ destinations: ['+88018'] }));
    const answer = await until('the list is in effect', async () => {
      const { status, body: answered } = await resend(body['id'], own.live);
      return status === 422 && answered;
    });
    expect(answer).toMatchObject({ code: 'otp_destination_not_allowed', errors: [] });
    expect(answer['detail']).toMatch(/^the number must begin with \+88018: /);
  });
});

describe('errors of templates', () => {
  const code = { name: 'code', type: 'code', size: 8 };
  const brand = { name: 'brand', type: 'text', size: 6 };
  const bodies = {
    tpl_code: { body: '{{code}} is your code', variables: [code] },
    tpl_brand: { body: '{{code}} is your code for {{brand}}', variables: [code, brand] },
    tpl_none: { body: 'Welcome to {{brand}} again', variables: [brand] },
    tpl_more: {
      body: '{{code}} is your code for {{amount}} to {{shop}}',
      variables: [code, { name: 'amount', type: 'number' }, { name: 'shop', type: 'text' }],
    },
    tpl_notice: { body: 'Your parcel {{code}} is here', variables: [code], category: 'transactional' },
  } as const;

  async function owner(): Promise<Tenant> {
    const own = await harness.tenant({ scopes: ['sms:send', 'sms:read', 'otp:custom_code'] });
    for (const [templateId, template] of Object.entries(bodies)) {
      const entry = { v: 1, templateId, accountId: own.accountId, category: 'otp', ...template };
      await harness.put('directory', `template.${own.accountId}.${templateId}`, JSON.stringify(entry));
    }
    return own;
  }

  test.each([
    ['tpl_code', {}, [['length', 'must be 8: the variable code of the template has 8 digits']]],
    ['tpl_code', { length: 7 }, [['length', 'must be 8: the variable code of the template has 8 digits']]],
    ['tpl_code', { code: '123456' }, [['code', 'must have 8 digits, as the variable code of the template']]],
    ['tpl_code', { length: 8, brand: 'Acme' }, [['brand', 'is not a variable of this template: leave it out']]],
    ['tpl_brand', { length: 8 }, [['brand', 'is required by this template']]],
    [
      'tpl_brand',
      { length: 8, brand: 'Acme Bank' },
      [['brand', 'must be a text of 1 to 6 characters on one line, found 9 characters']],
    ],
    [
      'tpl_none',
      { brand: 'Acme' },
      [['template_id', 'is a template without a variable code: there is no place for the one-time password']],
    ],
    [
      'tpl_more',
      { length: 8 },
      [
        [
          'template_id',
          'needs the variables amount, shop: a one-time password has values for code and brand only (POST /v1/sms has variables)',
        ],
      ],
    ],
    [
      'tpl_notice',
      { length: 8 },
      [['template_id', 'is a template for transactional messages: a one-time password needs one of category otp']],
    ],
    ['tpl_gone', {}, [['template_id', 'is not an approved template of this account (GET /v1/templates)']]],
  ] as const)('%s with %j names fields of the route', async (templateId, fields, errors) => {
    const own = await owner();
    const { status, body } = await start({ template_id: templateId, ...fields }, own.test);
    const expected = errors.map(([field, detail]) => ({ field, code: 'template_mismatch', detail }));
    expect({ status, body }).toMatchObject({ status: 422, body: { code: 'template_mismatch', errors: expected } });
  });

  test('of several wrong ones each is named', async () => {
    const own = await owner();
    const { body } = await start({ template_id: 'tpl_brand', length: 7 }, own.test);
    expect(body['errors'].map(({ field }: { field: string }) => field)).toEqual(['length', 'brand']);
  });
});

describe('errors of the text', () => {
  test.each([
    ['a word in the brand', { brand: 'Casino One', domain: 'example.com' }, 'brand'],
    ['the host of the last line', { brand: 'Acme', domain: 'evil.example.com' }, 'domain'],
    ['a word of the host', { brand: 'Acme', domain: 'casino.example.com' }, 'domain'],
    ['a word of the text of its language', {}, 'language'],
    ['a word of the text, with a brand', { brand: 'Acme' }, 'language'],
  ])('name the field that brought %s', async (_what, fields, field) => {
    const words = field === 'language' ? ['share'] : ['casino'];
    const content = { words, linksDenied: ['evil.example.com'], linksAllowed: [] };
    const own = await harness.tenant({ account: { content } });
    const { status, body } = await start(fields, own.test);
    expect({ status, body }).toMatchObject({
      status: 422,
      body: { code: 'content_blocked', errors: [{ field, code: 'content_blocked' }] },
    });
  });

  test('name the template whose text has a link, also with a brand', async () => {
    const content = { words: [], linksDenied: [], linksAllowed: ['example.com'] };
    const own = await harness.tenant({ account: { content } });
    const code = { name: 'code', type: 'code', size: 6 };
    const brand = { name: 'brand', type: 'text', size: 24 };
    const entry = {
      ...{ v: 1, templateId: 'tpl_link', accountId: own.accountId, category: 'otp' },
      ...{ body: '{{code}} is for {{brand}} at bit.ly/x', variables: [code, brand] },
    };
    await harness.put('directory', `template.${own.accountId}.tpl_link`, JSON.stringify(entry));
    const { status, body } = await start({ template_id: 'tpl_link', brand: 'Acme' }, own.test);
    const errors = [{ field: 'template_id', code: 'content_blocked' }];
    expect({ status, body }).toMatchObject({ status: 422, body: { errors } });
  });

  test('of a resend name none: it has no fields', async () => {
    const own = await harness.tenant();
    const { body } = await start({}, own.live);
    const entry = { v: 1, accountId: own.accountId, name: 'Test', status: 'active', senders: [] };
    await harness.put('directory', `account.${own.accountId}`, JSON.stringify(entry));
    const refused = await resend(body['id'], own.live);
    expect(refused).toMatchObject({ status: 422, body: { code: 'sender_not_registered', errors: [] } });
    expect(refused.body['detail']).toMatch(/^`from` of the start "HELIO" is not an approved sender/);
  });

  test('where texts must be of a template, name template_id', async () => {
    const own = await harness.tenant({ account: { requireTemplate: ['otp'] } });
    const { status, body } = await start({}, own.test);
    expect({ status, body }).toMatchObject({
      status: 422,
      body: { code: 'template_mismatch', errors: [{ field: 'template_id' }] },
    });
  });

  test.each([
    [{ length: 4 }, 'length'],
    [{ code: '1234' }, 'code'],
  ])('of a short code say that this account may not: %j', async (fields, field) => {
    const { status, body } = await start(fields);
    const detail =
      'must have at least 6 digits: this account may not send shorter codes, which only the operator can change';
    expect({ status, body }).toMatchObject({ status: 422, body: { errors: [{ field, detail }] } });
  });

  test.each([1e99, -1e99, 0.5, 29])('name ttl_seconds once: %d', async (value) => {
    const { status, body } = await start({ ttl_seconds: value, length: value });
    expect({ status, fields: body['errors'].map(({ field }: { field: string }) => field) }).toEqual({
      status: 422,
      fields: ['length', 'ttl_seconds'],
    });
    expect(body['detail']).toContain('(and 1 more, see errors)');
  });

  // test/model/brand-name.test.ts has what may be a brand and what not.
  test.each([
    ['185.1.2.3/x', 'without a link'],
    ['+8801712345678', 'without a telephone number'],
    ['Acme\u202eknaB', 'visible characters'],
    ['Acme\u0085Bank', 'visible characters'],
    ['\u200b', 'visible characters'],
    [' ', 'a letter or a digit'],
    ['', 'of 1 to 24 characters'],
    ['x'.repeat(25), 'of 1 to 24 characters'],
  ])('a brand that is no name is refused once: %j', async (brand, detail) => {
    const { status, body } = await start({ brand });
    expect({ status, body }).toMatchObject({ status: 422 });
    expect(body['errors']).toEqual([
      { field: 'brand', code: 'invalid_field', detail: expect.stringContaining(detail) },
    ]);
  });

  test.each(['Dr. Martens', 'ব্র্যাক ব্যাংক', 'Shop 24/7', 'x'.repeat(24)])('a name is taken: %s', async (brand) => {
    expect((await start({ brand })).status).toBe(201);
  });

  test.each([
    ['device_id', 'a\nb', 'without control characters'],
    ['device_id', '\ud800', 'well-formed'],
    ['device_id', '  ', 'a visible character'],
    ['device_id', '\u200b', 'a visible character'],
    ['client_reference', 'a\nb', 'without control characters'],
    ['client_reference', '\ud800', 'well-formed'],
  ])('%s is one line of text, not %j', async (field, value, detail) => {
    const { status, body } = await start({ [field]: value });
    expect({ status, body }).toMatchObject({ status: 422 });
    expect(body['errors']).toEqual([{ field, code: 'invalid_field', detail: expect.stringContaining(detail) }]);
  });
});

describe('a 429 has members for programs', () => {
  const perHour = (count: number) => ({ count, perMs: 3_600_000 });

  test('of a limit: what was counted over what, the limit, the seconds', async () => {
    const limits = {
      ...otpLimitsDefault,
      sends: { ...otpLimitsDefault.sends, client_ip: perHour(1), number: { count: 1, perMs: 600_000 } },
      guesses: { ...otpLimitsDefault.guesses, number: { count: 1, perMs: 86_400_000 } },
    };
    const strict = await harness.ingress({}, 2, { otp: { ...otpRulesDefault, limits } });
    const ask = (body: object) =>
      call(strict, 'POST', '/v1/otp', tenant.test, { to: freshNumber(), client_ip: '203.0.113.9', ...body });
    const to = freshNumber();
    const { body } = await ask({ to });
    const byAddress = await ask({});
    expect(byAddress.body['limit']).toEqual({
      counted: 'sends',
      dimension: 'client_ip',
      limit: '1/1h',
      retry_after_seconds: Number(byAddress.headers.get('retry-after')),
    });
    const byNumber = await ask({ to, client_ip: '203.0.113.10', purpose: 'other' });
    expect(byNumber.body).toMatchObject({
      code: 'otp_rate_limited',
      limit: { counted: 'sends', dimension: 'number', limit: '1/10m' },
    });
    const guess = (code: string) => call(strict, 'POST', `/v1/otp/${body['id']}/verify`, tenant.test, { code });
    await guess(otherThan(body['test_code']));
    const locked = await ask({ to, client_ip: '203.0.113.11' });
    expect(locked.body).toMatchObject({
      code: 'otp_locked',
      limit: {
        counted: 'guesses',
        dimension: 'number',
        limit: '1/1d',
        retry_after_seconds: Number(locked.headers.get('retry-after')),
      },
    });
  });

  test('of the guard: the rule, and the numbers or what the client has in common', async () => {
    const own = await harness.tenant();
    const fromMs = systemClock.nowMs();
    const order = { rule: 'operator', statistic: 0, threshold: 0, times: 0, shadow: false, released: null, note: '' };
    await putBlock(harness.bus, guardBucket, {
      ...order,
      rule: 'operator',
      accountId: own.accountId,
      prefix: '+880179',
      fromMs,
      untilMs: fromMs + 600_000,
    });
    const answer = await until('it is blocked', async () => {
      const { status, body, headers } = await start({ to: '+8801790000001' }, own.live);
      return status === 429 && { body, retryAfterS: Number(headers.get('retry-after')) };
    });
    expect(answer.body['guard']).toEqual({
      rule: 'operator',
      dimension: 'prefix',
      prefix: '+880179',
      retry_after_seconds: answer.retryAfterS,
    });
  });
});

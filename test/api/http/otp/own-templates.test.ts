// A template of the account as the text of a one-time password: phones fill in its code as that of a shipped text, and it
// fits one segment with its code. A real ingress with two threads and a real nats-server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Tenant } from '../harness.ts';
import { openOtpClient } from './otp-client.ts';

const { harness, start, verify } = await openOtpClient();
afterAll(() => harness.stop());

const code = { name: 'code', type: 'code', size: 6 };
const brand = { name: 'brand', type: 'text', size: 24 };
const bodies: Readonly<Record<string, string>> = {
  tpl_login: 'Login {{code}}',
  // With six digits 160 and 161 characters of GSM-7, 70 and 71 of UCS-2.
  tpl_160: `{{code}}${'x'.repeat(154)}`,
  tpl_161: `{{code}}${'x'.repeat(155)}`,
  tpl_70: `{{code}}${'ক'.repeat(64)}`,
  tpl_71: `{{code}}${'ক'.repeat(65)}`,
  // With six digits and a brand of one character 160 and 161.
  tpl_brand: `{{code}} {{brand}}${'x'.repeat(152)}`,
  tpl_brand_161: `{{code}} {{brand}}${'x'.repeat(153)}`,
};
let owner: Tenant;
beforeAll(async () => {
  owner = await withTemplates();
});

async function withTemplates(account: object = {}): Promise<Tenant> {
  const own = await harness.tenant({ account });
  for (const [templateId, body] of Object.entries(bodies)) {
    const variables = body.includes('{{brand}}') ? [code, brand] : [code];
    const entry = { v: 1, templateId, accountId: own.accountId, category: 'otp', body, variables };
    await harness.put('directory', `template.${own.accountId}.${templateId}`, JSON.stringify(entry));
  }
  return own;
}

const textOf = async (id: unknown) => {
  const message = (await harness.messages('MT_OTP')).find(({ messageId }) => messageId === id);
  return { templateId: message?.templateId, text: message && 'text' in message.body ? message.body.text : null };
};

describe('the line that phones read', () => {
  test.each([
    ['of WebOTP', { domain: 'example.com' }, (digits: string) => `Login ${digits}\n@example.com #${digits}`],
    ['of the SMS Retriever', { app_hash: 'FA+9qCX9VSu' }, (digits: string) => `<#> Login ${digits}\nFA+9qCX9VSu`],
    ['of neither', {}, (digits: string) => `Login ${digits}`],
  ])('%s', async (_what, fields, expected) => {
    const { status, body } = await start({ template_id: 'tpl_login', ...fields }, owner.test);
    expect({ status, body }).toMatchObject({ status: 201 });
    const digits = body['test_code'];
    expect(await textOf(body['sms_id'])).toEqual({ templateId: 'tpl_login', text: expected(digits) });
    expect((await verify(body['id'], digits, { token: owner.test })).body).toMatchObject({ valid: true });
  });

  test('is refused where only approved texts are sent: its host is no part of one', async () => {
    const strict = await withTemplates({ requireTemplate: ['otp'] });
    const asked = { template_id: 'tpl_login', domain: 'example.com' };
    const { status, body } = await start(asked, strict.test);
    expect({ status, body }).toMatchObject({ status: 422, body: { errors: [{ field: 'domain' }] } });
    expect((await start({ template_id: 'tpl_login' }, strict.test)).status).toBe(201);
  });
});

describe('a template that does not fit one segment with its code', () => {
  test.each(['tpl_160', 'tpl_70'])('%s fits', async (id) => {
    expect((await start({ template_id: id }, owner.test)).status).toBe(201);
  });

  test.each([
    ['tpl_161', '160 characters of GSM-7'],
    ['tpl_71', '70 characters of UCS-2'],
  ])('%s is refused with what to do', async (id, room) => {
    const { status, body } = await start({ template_id: id }, owner.test);
    const detail = `the text with its code takes 2 segments, and must fit one (${room}): use a shorter template, or POST /v1/sms with the category otp and a code of your own`;
    const errors = [{ field: 'template_id', code: 'message_too_long', detail }];
    expect({ status, body }).toMatchObject({ status: 422, body: { code: 'message_too_long', errors } });
  });
});

describe('a text that does not fit names what to change, and what it advises is taken', () => {
  const host = (chars: number) => `${'a'.repeat(60)}.${'b'.repeat(chars - 65)}.com`;
  const bangla = 'ব্র্যাক ব্যাংক লিমিটেড';
  test.each([
    ['the line', { template_id: 'tpl_160', domain: 'example.com' }, { domain: 'leave it out' }],
    ['the hash', { template_id: 'tpl_160', app_hash: 'FA+9qCX9VSu' }, { app_hash: 'leave it out' }],
    ['a brand that its template requires', { template_id: 'tpl_brand', brand: 'Acme' }, { brand: 'use a shorter one' }],
    [
      'a template that is too long with any brand',
      { template_id: 'tpl_brand_161', brand: 'Acme' },
      { template_id: expect.stringContaining('use a shorter template') },
    ],
    ['a brand', { language: 'en', brand: bangla }, { brand: 'leave it out, or use a shorter one' }],
    ['a host', { language: 'bn', domain: host(80) }, { domain: 'leave it out, or use a shorter host' }],
    [
      'the line and a brand, where one of them is not enough',
      { language: 'en', brand: bangla, domain: host(110) },
      { domain: 'leave it out, and change brand too', brand: 'leave it out, and change domain too' },
    ],
    [
      'the line and a brand that its template requires',
      { template_id: 'tpl_brand', brand: 'Acme', domain: 'example.com' },
      { domain: 'leave it out, and change brand too', brand: 'use a shorter one, and change domain too' },
    ],
  ])('%s', async (_what, fields, advice) => {
    const { status, body } = await start(fields, owner.test);
    expect({ status, body }).toMatchObject({ status: 422, body: { code: 'message_too_long' } });
    const said = body['errors'].map(({ field, detail }: Record<string, string>) => [field, detail!.split('): ')[1]]);
    expect(Object.fromEntries(said)).toEqual(advice);
    if ('template_id' in advice) return;
    const changed: Record<string, unknown> = { ...fields };
    for (const [field, how] of Object.entries(advice)) {
      if (how.startsWith('leave it out')) delete changed[field];
      else changed[field] = 'A';
    }
    expect((await start(changed, owner.test)).status).toBe(201);
  });
});

// A template of the account as the text of a one-time password: phones fill in its code as that of a shipped text, and it
// fits one segment with its code. A real ingress with two threads and a real nats-server.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import type { Tenant } from '../harness.ts';
import { openOtpClient } from './otp-client.ts';

const { harness, start, verify } = await openOtpClient();
afterAll(() => harness.stop());

const code = { name: 'code', type: 'code', size: 6 };
const bodies: Readonly<Record<string, string>> = {
  tpl_login: 'Login {{code}}',
  // With six digits 160 and 161 characters of GSM-7, 70 and 71 of UCS-2.
  tpl_160: `{{code}}${'x'.repeat(154)}`,
  tpl_161: `{{code}}${'x'.repeat(155)}`,
  tpl_70: `{{code}}${'ক'.repeat(64)}`,
  tpl_71: `{{code}}${'ক'.repeat(65)}`,
};
let owner: Tenant;
beforeAll(async () => {
  owner = await withTemplates();
});

async function withTemplates(account: object = {}): Promise<Tenant> {
  const own = await harness.tenant({ account });
  for (const [templateId, body] of Object.entries(bodies)) {
    const entry = { v: 1, templateId, accountId: own.accountId, category: 'otp', body, variables: [code] };
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

  test('names the line where it makes it too long', async () => {
    const asked = { template_id: 'tpl_160', domain: 'example.com' };
    const { status, body } = await start(asked, owner.test);
    expect({ status, body }).toMatchObject({ status: 422, body: { errors: [{ field: 'domain' }] } });
  });
});

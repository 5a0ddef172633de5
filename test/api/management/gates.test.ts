// Templates, suppressed numbers and settings over the real API: what is created is in effect, what is wrong is named,
// and no account sees or changes another's.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { setAccountStatus } from '../../../control/store/accounts.ts';
import { setTemplateStatus } from '../../../control/store/templates.ts';
import type { TemplateId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { limits } from '../../../platform/limits.ts';
import { within } from '../../support/running-clock.ts';
import { type RunningApi, refusal, runApi } from './support/running-api.ts';

let running: RunningApi;
beforeAll(async () => {
  running = await runApi();
});
afterAll(async () => running.stop());

const post = (path: string, json: unknown, key = running.live) => running.call('POST', path, { json, key });
const login = {
  name: 'login',
  category: 'otp',
  body: 'Your code is {{code}}',
  variables: [{ name: 'code', type: 'code', size: 6 }],
};

describe('templates', () => {
  test('are written, read, listed by status, approved by the operator and withdrawn', async () => {
    const made = await post('/v1/templates', login);
    expect(made.body).toMatchObject({ object: 'template', status: 'pending', ...login });
    const { id } = made.body;
    expect(refusal(await post('/v1/templates', login))).toMatchObject({ status: 409, code: 'conflict' });
    await setTemplateStatus(running.store, id as TemplateId, 'approved', { note: 'fine' });
    const read = await running.call('GET', `/v1/templates/${id}`);
    expect(read.body).toMatchObject({ status: 'approved', note: 'fine' });
    expect((await running.call('GET', '/v1/templates?status=approved')).body.data.length).toBe(1);
    expect((await running.call('GET', '/v1/templates?status=pending')).body.data).toEqual([]);
    await until('it is in effect', () => running.directory.account(running.accountId)?.templates.find(id));
    for (const method of ['GET', 'DELETE']) {
      const theirs = await running.call(method, `/v1/templates/${id}`, { key: running.other });
      expect(refusal(theirs)).toMatchObject({ status: 404 });
    }
    expect((await running.call('DELETE', `/v1/templates/${id}`)).body).toEqual({
      id,
      object: 'template',
      deleted: true,
    });
    await until('it is gone', () => running.directory.account(running.accountId)?.templates.find(id) === undefined);
  });

  test.each([
    ['an undeclared variable', { ...login, name: 'a', body: 'Hi {{who}}' }, 'body invalid_field'],
    ['an unused one', { ...login, name: 'a', body: 'Hi' }, 'variables invalid_field'],
    [
      'an unknown type',
      { ...login, name: 'a', variables: [{ name: 'code', type: 'secret' }] },
      'variables[0].type invalid_field',
    ],
    ['no category', { name: 'a', body: 'Hi', variables: [] }, 'category missing_field'],
    ['a NUL', { ...login, name: 'a\u0000' }, 'name invalid_field'],
  ])('%s is refused by name', async (_name, json, field) => {
    expect(refusal(await post('/v1/templates', json)).fields).toContain(field);
  });
});

describe('suppressed numbers', () => {
  const isIn = (number: string) => running.directory.account(running.accountId)?.suppressions.has(number, 'A', 'otp');
  test('are added once, found by number, and taken off', async () => {
    const number = '+8801712345678';
    const added = await post('/v1/suppressions', { number });
    expect(added.body).toMatchObject({ object: 'suppression', number, sender: null, category: null, reason: 'manual' });
    await until('it is in effect', () => isIn(number), within(1_000));
    expect(refusal(await post('/v1/suppressions', { number }))).toMatchObject({ code: 'conflict' });
    const found = await running.call('GET', `/v1/suppressions?number=${encodeURIComponent(number)}`);
    expect(found.body.data.map((each: any) => each.id)).toEqual([added.body.id]);
    expect((await running.call('GET', '/v1/suppressions?number=%2B8801712345679')).body.data).toEqual([]);
    const path = `/v1/suppressions/${added.body.id}`;
    expect(refusal(await running.call('DELETE', path, { key: running.other }))).toMatchObject({ status: 404 });
    expect((await running.call('DELETE', path)).status).toBe(200);
    await until('it is gone', () => !isIn(number), within(1_000));
  });

  test('are imported by the thousand, up to the bound and not one more, and an import may be repeated', async () => {
    const numbers = Array.from({ length: limits.suppression.importMax }, (_, at) => `+8801${810_000_000 + at}`);
    const first = await post('/v1/suppressions/import', { numbers });
    expect(first.body).toEqual({ object: 'suppression_import', added: numbers.length, already_listed: 0 });
    const again = await post('/v1/suppressions/import', { numbers: [...numbers.slice(0, 3), '+8801899999999'] });
    expect(again.body).toMatchObject({ added: 1, already_listed: 3 });
    const tooMany = await post('/v1/suppressions/import', { numbers: [...numbers, '+8801899999998'] });
    expect(refusal(tooMany).fields).toEqual(['numbers invalid_field']);
    await until('the last is in effect', () => isIn('+8801899999999'));
  });

  test.each([['01712345678'], ['+0123456789'], ['+12345'], [8801712345678], ['']])('%j is refused', async (number) => {
    expect(refusal(await post('/v1/suppressions', { number })).fields).toEqual(['number invalid_field']);
  });
});

describe('settings', () => {
  test('are changed one by one and in effect at once; rates are shown and cannot be changed here', async () => {
    const change = (json: unknown) => running.call('PATCH', '/v1/account/settings', { json });
    const content_rules = { words: ['casino'], links_denied: ['bit.ly'], links_allowed: [] };
    expect((await change({ require_template: ['promotional'] })).body).toMatchObject({
      require_template: ['promotional'],
    });
    const changed = await change({ content_rules });
    expect(changed.body).toMatchObject({ require_template: ['promotional'], content_rules, rate_limit: null });
    await until('in effect', () => running.directory.account(running.accountId)?.content?.words[0] === 'casino');
    expect((await running.call('GET', '/v1/account/settings')).body).toEqual(changed.body);
    const never = { otp: false, transactional: false, promotional: false };
    expect(changed.body.resend_unknown).toEqual(never);
    const resend_unknown = { ...never, otp: true };
    expect((await change({ resend_unknown })).body).toEqual({ ...changed.body, resend_unknown });
    await until('in effect', () => running.directory.account(running.accountId)?.resendUnknown?.includes('otp'));
    expect(refusal(await change({ resend_unknown: { otp: true } })).fields).toContain(
      'resend_unknown.transactional missing_field',
    );
    expect(refusal(await change({ resend_unknown: { ...never, spam: true } })).fields).toContain(
      'resend_unknown.spam unknown_field',
    );
    expect(refusal(await change({ rate_limit: null })).fields).toEqual(['rate_limit unknown_field']);
    expect(refusal(await change({ ip_allowlist: ['10.0.0.1/8'] })).fields).toEqual(['ip_allowlist[0] invalid_field']);
    expect(refusal(await change({ content_rules: { ...content_rules, links_denied: ['x'] } })).fields).toEqual([
      'content_rules.links_denied[0] invalid_field',
    ]);
  });

  test('words and domains of 100 KB are refused before they are normalised', async () => {
    // Putting so many accents into their order would take ten seconds.
    const slow = `a${'\u0301'.repeat(50_000)}${'\u0323'.repeat(50_000)}`;
    const startedMs = systemClock.monotonicMs();
    for (const [list, field] of [
      ['words', 'content_rules.words[0] invalid_field'],
      ['links_denied', 'content_rules.links_denied[0] invalid_field'],
    ] as const) {
      const content_rules = { words: [], links_denied: [], links_allowed: [], [list]: [`${slow}.com`] };
      const answer = await running.call('PATCH', '/v1/account/settings', { json: { content_rules } });
      expect(refusal(answer).fields).toContain(field);
    }
    expect(systemClock.monotonicMs() - startedMs).toBeLessThan(4_000);
  });

  test('a list without the caller’s address is refused, for the account and for the key', async () => {
    const headers = { 'x-forwarded-for': '198.51.100.7' };
    const patch = (path: string, json: object, key = running.live) =>
      running.call('PATCH', path, { json, headers, key });
    const outside = { ip_allowlist: ['203.0.113.0/24', '2001:db8::/32'] };
    const refused = refusal(await patch('/v1/account/settings', outside));
    expect(refused).toMatchObject({ status: 422, fields: ['ip_allowlist invalid_field'] });
    const { id, key } = (await post('/v1/api-keys', { scopes: ['keys:manage'] })).body;
    expect(refusal(await patch(`/v1/api-keys/${id}`, outside, key)).fields).toEqual(['ip_allowlist invalid_field']);
    // Another key's list is its owner's concern.
    expect((await patch(`/v1/api-keys/${id}`, outside)).body).toMatchObject(outside);
    const inside = { ip_allowlist: ['198.51.100.0/24'] };
    expect((await patch('/v1/account/settings', inside)).body).toMatchObject(inside);
    expect((await patch('/v1/account/settings', { ip_allowlist: [] })).body).toMatchObject({ ip_allowlist: [] });
  });

  test('a key is read and changed, in effect at once; its scopes and its mode are not', async () => {
    const { id, key } = (await post('/v1/api-keys', { scopes: ['sms:send'] })).body;
    const path = `/v1/api-keys/${id}`;
    const patch = (json: object, by = running.live) => running.call('PATCH', path, { json, key: by });
    const change = {
      description: 'shop',
      ip_allowlist: ['203.0.113.0/24'],
      rate_limit: { per_second: 5, burst: 9 },
      expires_at: '2098-12-31T18:00:00.000Z',
    };
    expect((await patch(change)).body).toMatchObject({ id, object: 'api_key', scopes: ['sms:send'], ...change });
    await until('in effect', () => {
      const known = running.directory.authenticate(key);
      return known.ok && known.key.networks?.[0] === '203.0.113.0/24' && known.key.rate?.burst === 9;
    });
    expect((await patch({})).body).toMatchObject(change);
    expect((await patch({ expires_at: null, rate_limit: null, ip_allowlist: [] })).body).toMatchObject({
      expires_at: null,
      rate_limit: null,
      ip_allowlist: [],
      description: 'shop',
    });
    expect((await running.call('GET', path)).body).toMatchObject({ id, description: 'shop' });
    expect(refusal(await patch({ scopes: ['sms:read'] })).fields).toEqual(['scopes unknown_field']);
    expect(refusal(await patch({ expires_at: '2020-01-01T00:00:00Z' })).fields).toEqual(['expires_at invalid_field']);
    expect(refusal(await patch(change, running.testKey))).toMatchObject({
      status: 403,
      code: 'key_exceeds_own_permissions',
    });
    for (const method of ['GET', 'PATCH']) {
      const json = method === 'GET' ? {} : { json: change };
      expect((await running.call(method, path, { key: running.other, ...json })).status).toBe(404);
    }
    await running.call('DELETE', path);
    expect(refusal(await patch(change))).toMatchObject({ status: 409, code: 'conflict' });
  });

  test('a test key changes nothing that live messages depend on', async () => {
    const key = running.testKey;
    const { id } = (await post('/v1/api-keys', { scopes: ['sms:send'] })).body;
    const asked: [string, string, object?][] = [
      ['PATCH', '/v1/account/settings', { ip_allowlist: ['203.0.113.0/24'] }],
      ['GET', '/v1/suppressions'],
      ['POST', '/v1/senders', { name: 'FROMTEST' }],
      ['POST', '/v1/templates', login],
      ['POST', '/v1/suppressions', { number: '+8801712340000' }],
      ['POST', '/v1/suppressions/import', { numbers: ['+8801712340000'] }],
      ['DELETE', '/v1/suppressions/sup_01K3Z8Q4T6W9XAB2CD3EF4GH5J'],
      ['DELETE', '/v1/senders/snd_01K3Z8Q4T6W9XAB2CD3EF4GH5J'],
      ['DELETE', '/v1/templates/tpl_01K3Z8Q4T6W9XAB2CD3EF4GH5J'],
      ['DELETE', `/v1/api-keys/${id}`],
    ];
    for (const [method, path, json] of asked) {
      const code = path.startsWith('/v1/api-keys') ? 'key_exceeds_own_permissions' : 'scope_missing';
      const reply = await running.call(method, path, { key, ...(json === undefined ? {} : { json }) });
      expect([path, refusal(reply)]).toMatchObject([path, { status: 403, code }]);
    }
    const test = await post('/v1/api-keys', { scopes: ['sms:send'] }, key);
    expect(test.body.livemode).toBe(false);
    expect((await running.call('DELETE', `/v1/api-keys/${test.body.id}`, { key })).status).toBe(200);
  });

  test('a key widens no bounds beyond its own, not even its own', async () => {
    const bounds = { ip_allowlist: ['10.0.0.0/8'], rate_limit: { per_second: 10, burst: 10 } };
    const { id, key } = (await post('/v1/api-keys', { scopes: ['keys:manage'], ...bounds })).body;
    const patch = (json: object) => running.call('PATCH', `/v1/api-keys/${id}`, { json, key });
    expect(refusal(await patch({ ip_allowlist: [] })).fields).toEqual(['ip_allowlist invalid_field']);
    expect(refusal(await patch({ ip_allowlist: ['0.0.0.0/0'] })).fields).toEqual(['ip_allowlist[0] invalid_field']);
    expect(refusal(await patch({ rate_limit: null })).fields).toEqual(['rate_limit invalid_field']);
    expect((await patch({ ip_allowlist: ['10.1.0.0/16'] })).status).toBe(200);
  });

  test('a key creates none with wider networks or a higher rate than its own', async () => {
    const bounds = { ip_allowlist: ['10.0.0.0/8'], rate_limit: { per_second: 10, burst: 10 } };
    const bounded = await post('/v1/api-keys', { scopes: ['keys:manage', 'sms:send'], ...bounds });
    const { key } = bounded.body;
    const heir = await post('/v1/api-keys', { scopes: ['sms:send'] }, key);
    expect(heir.body).toMatchObject(bounds);
    const narrower = { ip_allowlist: ['10.1.0.0/16'], rate_limit: { per_second: 5, burst: 5 } };
    expect((await post('/v1/api-keys', { scopes: ['sms:send'], ...narrower }, key)).body).toMatchObject(narrower);
    const wider = { ip_allowlist: ['0.0.0.0/0'], rate_limit: null };
    expect(refusal(await post('/v1/api-keys', { scopes: ['sms:send'], ...wider }, key)).fields).toEqual([
      'ip_allowlist[0] invalid_field',
      'rate_limit invalid_field',
    ]);
  });

  test('a key gives no longer life, no larger burst and nothing to keys beyond it; what has expired stays expired', async () => {
    const soon = new Date(systemClock.nowMs() + 60_000).toISOString();
    const bounds = { expires_at: soon, rate_limit: { per_second: 1, burst: 1 } };
    const { id, key } = (await post('/v1/api-keys', { scopes: ['keys:manage'], ...bounds })).body;
    const patch = (of: string, json: object, by = key) =>
      running.call('PATCH', `/v1/api-keys/${of}`, { json, key: by });
    expect(refusal(await patch(id, { expires_at: null })).fields).toEqual(['expires_at invalid_field']);
    expect(refusal(await patch(id, { rate_limit: { per_second: 1, burst: 1_000_000 } })).fields).toEqual([
      'rate_limit invalid_field',
    ]);
    expect(refusal(await post('/v1/api-keys', { scopes: ['keys:manage'], expires_at: null }, key)).fields).toEqual([
      'expires_at invalid_field',
    ]);
    const heir = await post('/v1/api-keys', { scopes: ['keys:manage'] }, key);
    expect(heir.body).toMatchObject(bounds);

    const strong = (await post('/v1/api-keys', { scopes: ['sms:send', 'keys:manage'] })).body;
    for (const reply of [
      await patch(strong.id, { ip_allowlist: ['10.0.0.0/8'] }),
      await patch(strong.id, { description: 'mine' }),
      await running.call('DELETE', `/v1/api-keys/${strong.id}`, { key }),
    ]) {
      expect(refusal(reply)).toMatchObject({ status: 403, code: 'key_exceeds_own_permissions' });
    }
    expect((await running.call('GET', `/v1/api-keys/${strong.id}`)).body).toMatchObject({ revoked_at: null });

    const over = new Date(systemClock.nowMs() - 1_000);
    await running.store.db.updateTable('api_keys').set({ expires_at: over }).where('id', '=', heir.body.id).execute();
    const later = '2098-12-31T18:00:00.000Z';
    const revived = refusal(await patch(heir.body.id, { expires_at: later }, running.live));
    expect(revived).toMatchObject({ status: 409, code: 'conflict' });
    expect((await running.call('DELETE', `/v1/api-keys/${heir.body.id}`)).status).toBe(200);
  });

  test('the answer to HELP obeys the rules of every other message', async () => {
    const change = (json: unknown) => running.call('PATCH', '/v1/account/settings', { json, key: running.other });
    const inbound = { keep_text: false, help_text: 'Our casino: 16000' };
    expect((await change({ inbound })).status).toBe(200);
    const content_rules = { words: ['casino'], links_denied: [], links_allowed: [] };
    expect(refusal(await change({ inbound, content_rules }))).toMatchObject({
      status: 422,
      fields: ['inbound.help_text content_blocked'],
    });
    const required = refusal(await change({ inbound, require_template: ['transactional'] }));
    expect(required.fields).toEqual(['inbound.help_text template_mismatch']);
    expect((await change({ inbound: { ...inbound, help_text: null }, content_rules })).status).toBe(200);
  });

  test('a suspended account changes nothing, reads everything and revokes its keys', async () => {
    const accountId = await running.newAccount();
    const key = await running.newKey(accountId, true);
    const { id } = (await post('/v1/api-keys', { scopes: ['sms:send'] }, key)).body;
    await setAccountStatus(running.store, accountId, 'suspended');
    await until('it is suspended', () => running.directory.account(accountId)?.status === 'suspended');
    const writes: [string, string, object?][] = [
      ['POST', '/v1/api-keys', { scopes: ['sms:send'] }],
      ['PATCH', `/v1/api-keys/${id}`, { description: 'x' }],
      ['PATCH', '/v1/account/settings', { ip_allowlist: [] }],
      ['POST', '/v1/senders', { name: 'BACK' }],
      ['DELETE', '/v1/senders/snd_01K3Z8Q4T6W9XAB2CD3EF4GH5J'],
      ['POST', '/v1/templates', login],
      ['DELETE', '/v1/templates/tpl_01K3Z8Q4T6W9XAB2CD3EF4GH5J'],
      ['POST', '/v1/suppressions', { number: '+8801712345678' }],
      ['POST', '/v1/suppressions/import', { numbers: ['+8801712345678'] }],
      ['DELETE', '/v1/suppressions/sup_01K3Z8Q4T6W9XAB2CD3EF4GH5J'],
      ['POST', '/v1/carriers/alpha/pause', {}],
    ];
    for (const [method, path, json] of writes) {
      const reply = await running.call(method, path, { key, ...(json === undefined ? {} : { json }) });
      expect([path, refusal(reply)]).toMatchObject([path, { status: 403, code: 'account_suspended' }]);
    }
    for (const path of ['/v1/account', '/v1/account/settings', '/v1/api-keys', '/v1/senders', '/v1/suppressions']) {
      expect([path, (await running.call('GET', path, { key })).status]).toEqual([path, 200]);
    }
    expect((await running.call('DELETE', `/v1/api-keys/${id}`, { key })).status).toBe(200);
  });
});

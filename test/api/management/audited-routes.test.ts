// Every route that changes something is in this table, with its audit record, or the reason why it has none. Each is
// called on the running API over HTTP, and its record is checked: what was done, by which key, from which address. A
// new route fails here until it has a row.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { endpoints } from '../../../api/management/app.ts';
import { type AuditAction, auditActions } from '../../../control/store/audit-actions.ts';
import { until } from '../../support/until.ts';
import { linkTarget } from '../../../model/records/link-record.ts';
import { sendLink } from './support/sent-link.ts';
import { type RunningApi, runApi } from './support/running-api.ts';
import { carrierWith } from '../../support/carrier-harness.ts';

let api: RunningApi;
beforeAll(async () => {
  api = await runApi([carrierWith({ port: 1 })]);
});
afterAll(() => api?.stop());

type Audited = {
  readonly action: AuditAction;
  readonly json?: object;
  /** Creates what the path names; returns its id. */
  readonly of?: () => Promise<string>;
  readonly detail?: object;
};
const messages = 'each message has a history of its own, refusals and cancels too';
const orders = (verb: string, done: 'paused' | 'drained' | 'resumed') => ({
  [`post /v1/carriers/{name}/${verb}`]: { action: `carrier.${done}` as const, json: { reason: 'why' } },
  [`post /v1/carriers/{name}/binds/{bind}/${verb}`]: { action: `bind.${done}` as const, json: { reason: 'why' } },
});
const idOf = async (path: string, json: object) => String((await api.call('POST', path, { json })).body.id);
const newLink = async (url: string) => {
  const id = await sendLink(api.bus, linkTarget(api.accountId, true, url));
  const isKnown = async () =>
    (await api.call('GET', '/v1/links')).body.data.some((each: { id: string }) => each.id === id);
  await until('the API knows the link', isKnown);
  return id;
};
const webhook = () => idOf('/v1/webhooks', { url: 'https://example.com/' });
const attempts = 'it changes nothing; each request it makes is listed among the attempts of the endpoint';
const template = { name: 'one', category: 'transactional', body: 'Hello', variables: [] };

const table: Readonly<Record<string, string | Audited>> = {
  'post /v1/sms': messages,
  'post /v1/otp': messages,
  'post /v1/otp/{id}/verify': messages,
  'post /v1/otp/{id}/resend': messages,
  'post /v1/otp/{id}/cancel': messages,
  'post /v1/sms/batch': messages,
  'delete /v1/sms/{id}': messages,
  'patch /v1/account/settings': {
    action: 'account.changed',
    json: { require_template: ['promotional'] },
    detail: { requireTemplate: { from: [], to: ['promotional'] } },
  },
  'post /v1/api-keys': { action: 'api_key.created', json: { scopes: ['sms:send'] }, detail: { scopes: ['sms:send'] } },
  'patch /v1/api-keys/{id}': {
    action: 'api_key.changed',
    json: { ip_allowlist: ['192.0.2.0/24'] },
    of: () => idOf('/v1/api-keys', { scopes: ['sms:send'] }),
    detail: { ip_allowlist: { from: [], to: ['192.0.2.0/24'] } },
  },
  'delete /v1/api-keys/{id}': {
    action: 'api_key.revoked',
    of: () => idOf('/v1/api-keys', { scopes: ['sms:send'] }),
  },
  'post /v1/senders': { action: 'sender.created', json: { name: 'AUDITED' } },
  'delete /v1/senders/{id}': { action: 'sender.deleted', of: () => idOf('/v1/senders', { name: 'GONE' }) },
  'post /v1/templates': { action: 'template.created', json: template },
  'delete /v1/templates/{id}': {
    action: 'template.deleted',
    of: () => idOf('/v1/templates', { ...template, name: 'two' }),
  },
  'post /v1/webhooks': {
    action: 'webhook.created',
    json: { url: 'https://example.com/' },
    detail: { url: 'https://example.com/', livemode: true },
  },
  'patch /v1/webhooks/{id}': {
    action: 'webhook.changed',
    json: { description: 'new' },
    of: webhook,
    detail: { description: { from: '', to: 'new' } },
  },
  'post /v1/webhooks/{id}/rotate-secret': {
    action: 'webhook.secret_rotated',
    json: { overlap_seconds: 60 },
    of: webhook,
    detail: { overlap_seconds: 60 },
  },
  'delete /v1/webhooks/{id}': { action: 'webhook.deleted', of: webhook, detail: { url: 'https://example.com/' } },
  'post /v1/webhooks/{id}/test': attempts,
  'post /v1/webhooks/{id}/replay': attempts,
  'post /v1/suppressions': { action: 'suppression.added', json: { number: '+8801712340001' } },
  'post /v1/suppressions/import': { action: 'suppression.added', json: { numbers: ['+8801712340002'] } },
  'delete /v1/suppressions/{id}': {
    action: 'suppression.removed',
    of: () => idOf('/v1/suppressions', { number: '+8801712340003' }),
  },
  'post /v1/links/{id}/disable': { action: 'link.disabled', of: () => newLink('https://example.org/one') },
  'post /v1/links/{id}/enable': { action: 'link.enabled', of: () => newLink('https://example.org/two') },
  'patch /v1/otp-guard': {
    action: 'otp_guard.changed',
    json: { destinations: ['+880'], safe_list: ['+8801712340009'] },
    detail: {
      destinations: { from: null, to: 1, added: ['+880'], removed: [], more: 0 },
      safe_list: { from: 0, to: 1, added: ['+880171234****'], removed: [], more: 0 },
    },
  },
  'post /v1/otp/unlock': {
    action: 'otp.unlocked',
    json: { to: '+8801712340009' },
    detail: { failed_guesses: 0, livemode: true },
  },
  'post /v1/otp-guard/blocks': {
    action: 'otp_guard.blocked',
    json: { prefix: '+880171234', minutes: 5, note: 'theirs' },
    detail: { minutes: 5, note: 'theirs' },
  },
  'post /v1/otp-guard/blocks/{prefix}/release': {
    action: 'otp_guard.released',
    of: async () => {
      await api.call('POST', '/v1/otp-guard/blocks', { json: { prefix: '+880171235', minutes: 5 } });
      return '+880171235';
    },
    detail: { rule: 'operator' },
  },
  ...orders('pause', 'paused'),
  ...orders('drain', 'drained'),
  ...orders('resume', 'resumed'),
};

test('every route that is no GET is in the table, and nothing else is', () => {
  const changing = endpoints.filter(({ method }) => method !== 'get').map(({ method, path }) => `${method} ${path}`);
  expect(Object.keys(table).sort()).toEqual(changing.sort());
  for (const entry of Object.values(table)) if (typeof entry !== 'string') expect(auditActions).toContain(entry.action);
});

describe('leaves a record that says which key, from where and what:', () => {
  const audited = Object.entries(table).flatMap(([route, entry]) =>
    typeof entry === 'string' ? [] : [[route, entry] as const],
  );
  test.each(audited)('%s', async (route, { action, json, of, detail = {} }) => {
    const [method = '', template = ''] = route.split(' ');
    const id = of === undefined ? '' : await of();
    const path = template
      .replace(/\{id\}|\{prefix\}/, id)
      .replace('{name}', 'alpha')
      .replace('{bind}', '1');
    const records = async () => (await api.call('GET', `/v1/audit?action=${action}&limit=100`)).body.data as object[];
    const before = (await records()).length;
    const headers = { 'x-forwarded-for': '198.51.100.9' };
    const reply = await api.call(method.toUpperCase(), path, { ...(json === undefined ? {} : { json }), headers });
    expect([route, reply.status, [200, 201].includes(reply.status)]).toEqual([route, reply.status, true]);
    const found = await until('its record', async () => {
      const now = await records();
      return now.length > before && now[0];
    });
    expect(found).toMatchObject({ action, actor: expect.stringMatching(/^key_/), from: '198.51.100.9', detail });
  });
});

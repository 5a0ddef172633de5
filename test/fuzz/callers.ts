// The callers of the fuzz test: a key of every kind, created through the public entry points.
import type { SmsClient } from '../support/sms-client.ts';
import type { WholeSystem } from '../support/whole-system.ts';
import { until } from '../support/until.ts';
import type { KeyName } from './request.ts';

export type Callers = {
  readonly keys: Readonly<Record<KeyName, string | null>>;
  /** An approved template with `shop` and `code`. */
  readonly templateId: string;
};

export async function makeCallers(system: WholeSystem, live: SmsClient): Promise<Callers> {
  const cli = async (...words: string[]) =>
    JSON.parse(await system.cli(...words, '--json')) as { id: string; key: string };
  const made = async (path: string, body: object) => {
    const reply = await live.call('POST', path, body);
    if (reply.status !== 201) throw new Error(`${path} answered ${reply.status}: ${JSON.stringify(reply.json)}`);
    return reply.json as { id: string; key: string };
  };
  const own = async (name: string) => {
    const account = await cli('accounts', 'create', '--name', name);
    return { id: account.id, key: (await cli('keys', 'create', '--account', account.id)).key };
  };
  const [settings, suspended] = await Promise.all([own('Settings'), own('Suspended')]);
  const template = await made('/v1/templates', {
    name: 'fuzz',
    category: 'transactional',
    body: 'Your {{shop}} code is {{code}}.',
    variables: [
      { name: 'shop', type: 'text', size: 20 },
      { name: 'code', type: 'code', size: 6 },
    ],
  });
  const operatorScopes = 'carriers:read,carriers:manage,audit:read';
  const operator = await cli('keys', 'create', '--account', settings.id, '--scopes', operatorScopes);
  await Promise.all([cli('accounts', 'suspend', suspended.id), cli('templates', 'approve', template.id)]);
  const all = ['sms:send', 'sms:read', 'account:read', 'keys:manage', 'senders:manage'];
  const readOnly = await made('/v1/api-keys', { scopes: ['sms:read'] });
  const fenced = await made('/v1/api-keys', { scopes: all, ip_allowlist: ['203.0.113.0/24'] });
  const slow = await made('/v1/api-keys', { scopes: all, rate_limit: { per_second: 1, burst: 2 } });
  const revoked = await made('/v1/api-keys', { scopes: all });
  await live.call('DELETE', `/v1/api-keys/${revoked.id}`);
  const keys = {
    live: system.keys.liveKey,
    test: system.keys.testKey,
    settings: settings.key,
    operator: operator.key,
    suspended: suspended.key,
    readOnly: readOnly.key,
    fenced: fenced.key,
    slow: slow.key,
    revoked: revoked.key,
    unknown: `${system.keys.liveKey.slice(0, -4)}0000`,
    garbage: 'x',
    absent: null,
  };
  const codeOf = async (key: string) => {
    const authorization = { authorization: `Bearer ${key}` };
    return (await live.call('GET', '/v1/account', undefined, authorization)).json['code'];
  };
  await until('the new keys are known everywhere', async () => {
    const codes = [
      await codeOf(keys.settings),
      await codeOf(keys.suspended),
      await codeOf(keys.revoked),
      await codeOf(keys.fenced),
      await codeOf(keys.operator),
    ];
    return codes.join() === [undefined, undefined, 'invalid_api_key', 'ip_not_allowed', 'scope_missing'].join();
  });
  return { keys, templateId: template.id };
}

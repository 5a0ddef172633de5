// Webhook endpoints over the real API on PostgreSQL and NATS: what is registered is in the directory of the data plane,
// with secrets only the body key opens; hostile URLs are refused by name; no account sees another's, nor another mode's.
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { AttemptLog } from '../../../actors/webhook/attempts/attempt-log.ts';
import { disableSubject } from '../../../actors/webhook/contract.ts';
import type { SendResult } from '../../../actors/webhook/send/http-sender.ts';
import { Publisher } from '../../../cluster/bus/publisher.ts';
import { disableWebhooksOnRequest } from '../../../control/requests.ts';
import { listAuditRecords } from '../../../control/store/audit-log.ts';
import { resealWebhooks } from '../../../control/store/reseal-webhooks.ts';
import { createWebhook } from '../../../control/store/webhook-endpoints.ts';
import { operator } from '../../../control/store/store.ts';
import type { AccountId, WebhookEndpointId } from '../../../model/ids.ts';
import { bodyCipher } from '../../../model/records/body-cipher.ts';
import { bodyKeyId } from '../../../model/records/body-keys.ts';
import { openWebhookSecrets, signingSecrets } from '../../../model/webhook-secrets.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { until } from '../../support/until.ts';
import { type RunningApi, refusal, runApi } from './support/running-api.ts';

let running: RunningApi;
/** Live, with every scope, of an account of the test's own. */
let key: string;
let account: AccountId;
beforeAll(async () => {
  running = await runApi();
});
beforeEach(async () => {
  account = await running.newAccount();
  key = await running.newKey(account, true);
});
afterAll(() => running?.stop());

const url = 'https://example.com/hooks?token=1';
const call = (method: string, path: string, json?: unknown, as = key) =>
  running.call(method, path, { key: as, ...(json === undefined ? {} : { json }) });
const register = async (json: object = { url }, as = key) => (await call('POST', '/v1/webhooks', json, as)).body;
const eventIdOf = (nth: number) => `evt_${String(nth).padStart(22, '0')}`;
const inDirectory = (id: string) => running.directory.webhookEndpoint(id as WebhookEndpointId);
const known = (id: string) => until('the directory has it', () => inDirectory(id) ?? null);
const secretsOf = (id: string) => {
  const endpoint = inDirectory(id);
  return endpoint === undefined ? [] : openWebhookSecrets(endpoint, running.cipher);
};

describe('an endpoint', () => {
  test('is registered, read, listed, changed, disabled, enabled and deleted', async () => {
    const made = await register({ url, events: ['sms.delivered'], description: 'shop' });
    expect(made).toMatchObject({
      ...{ object: 'webhook', url, events: ['sms.delivered'], ordering: 'none', batch: null },
      ...{ description: 'shop', livemode: true, status: 'enabled', disabled_reason: null, disabled_at: null },
    });
    expect(made.secret).toMatch(/^whsec_[A-Za-z0-9+/]{43}=$/);
    const path = `/v1/webhooks/${made.id}`;
    const { secret, ...shown } = made;
    const health = { failing_since: null, error: null, tries: 0, next_try_at: null, warned_at: [] };
    expect((await call('GET', path)).body).toEqual({ ...shown, health });
    expect((await call('GET', '/v1/webhooks')).body.data).toEqual([{ ...shown, health }]);
    await known(made.id);
    expect(inDirectory(made.id)).toMatchObject({ accountId: account, url, batch: null });
    expect(secretsOf(made.id)).toEqual([{ secret, untilMs: null }]);

    const changed = await call('PATCH', path, { url: 'https://example.com:8443/x', events: ['*'], batch: null });
    expect(changed.body).toEqual({ ...shown, url: 'https://example.com:8443/x', events: ['*'], batch: null });
    const off = await call('PATCH', path, { status: 'disabled' });
    expect(off.body).toMatchObject({ status: 'disabled', disabled_reason: 'client', events: ['*'] });
    await until('it is off', () => inDirectory(made.id)?.status === 'disabled');
    expect((await call('PATCH', path, { status: 'enabled' })).body).toEqual(changed.body);
    expect((await call('DELETE', path)).body).toEqual({ id: made.id, object: 'webhook', deleted: true });
    expect(refusal(await call('GET', path))).toMatchObject({ status: 404, code: 'not_found' });
    await until('it is gone', () => inDirectory(made.id) === undefined);
    const { items } = await listAuditRecords(running.store, { limit: 10, after: null, target: made.id });
    const actions = ['webhook.deleted', 'webhook.enabled', 'webhook.disabled', 'webhook.changed', 'webhook.created'];
    expect(items.map(({ action }) => action)).toEqual(actions);
    expect(JSON.stringify(items)).not.toContain(secret);
  });

  test('takes every type unless types are named, and no type twice', async () => {
    expect(await register()).toMatchObject({ events: ['*'] });
    expect(await register({ url, events: [] })).toMatchObject({ events: [] });
    const wrong = async (events: unknown) => refusal(await call('POST', '/v1/webhooks', { url, events })).fields;
    expect(await wrong(['sms.delivered', 'sms.delivered'])).toEqual(['events invalid_field']);
    expect(await wrong(['*', 'sms.delivered'])).toEqual(['events invalid_field']);
    expect(await wrong(['sms.sent'])).toEqual(['events[0] invalid_field']);
    expect(await wrong(['sms.delivered', 'otp.started'])).toEqual(['events[1] invalid_field']);
    const others = ['otp.verified', 'otp.failed', 'otp.blocked', 'link.clicked', 'link.requested'];
    expect(await register({ url, events: others })).toMatchObject({ events: others });
    expect(await wrong('sms.sent')).toEqual(['events invalid_field']);
  });

  test('of another account or of the other mode is not found', async () => {
    const { id } = await register();
    const test = await running.newKey(account, false);
    const changes = [
      ['GET', `/v1/webhooks/${id}`],
      ['PATCH', `/v1/webhooks/${id}`, { description: 'x' }],
      ['POST', `/v1/webhooks/${id}/rotate-secret`, {}],
      ['GET', `/v1/webhooks/${id}/deliveries`],
      ['POST', `/v1/webhooks/${id}/test`],
      ['POST', `/v1/webhooks/${id}/replay`, { event_id: eventIdOf(1) }],
      ['DELETE', `/v1/webhooks/${id}`],
    ] as const;
    for (const other of [running.other, test])
      for (const [method, path, json] of changes)
        expect(refusal(await call(method, path, json, other))).toMatchObject({ status: 404, code: 'not_found' });
    expect((await call('GET', '/v1/webhooks', undefined, test)).body.data).toEqual([]);
    expect(await register({ url: 'http://example.com/' }, test)).toMatchObject({ livemode: false });
    const blind = await running.newKey(account, true, ['sms:send', 'sms:read']);
    expect(refusal(await call('GET', '/v1/webhooks', undefined, blind))).toMatchObject({ code: 'scope_missing' });
  });

  test('is one of so many of an account, and not one more', async () => {
    const settings = { url, events: [], ordering: 'none', batch: null, description: '' } as const;
    const asked = { accountId: account, livemode: true, actor: operator };
    for (let at = 1; at < limits.webhooks.perAccountMax; at += 1)
      await createWebhook(running.store, running.cipher, asked, settings);
    expect(await register()).toMatchObject({ object: 'webhook' });
    expect(refusal(await call('POST', '/v1/webhooks', { url }))).toMatchObject({ status: 409, code: 'conflict' });
  });

  test('registered again under the same idempotency key is the same one, without its secret', async () => {
    const asked = { key, json: { url }, headers: { 'idempotency-key': 'one' } };
    const first = await running.call('POST', '/v1/webhooks', asked);
    const again = await running.call('POST', '/v1/webhooks', asked);
    expect(again.body).toEqual({ ...first.body, secret: null });
    expect((await call('GET', '/v1/webhooks')).body.data.length).toBe(1);
  });
});

test('batches: both sides of each bound, and back to one event each', async () => {
  const { batchEventsMin, batchEventsMax, batchWaitMsMin, batchWaitMsMax } = limits.webhooks;
  for (const batch of [
    { max_events: batchEventsMin, max_wait_ms: batchWaitMsMax },
    { max_events: batchEventsMax, max_wait_ms: batchWaitMsMin },
  ]) {
    const { id, batch: kept } = await register({ url, batch });
    expect(kept).toEqual(batch);
    expect((await known(id)).batch).toEqual({ max: batch.max_events, waitMs: batch.max_wait_ms });
    expect((await call('PATCH', `/v1/webhooks/${id}`, { batch: null })).body.batch).toBeNull();
    await until('it gets single events', () => inDirectory(id)?.batch === null);
  }
  const refused = async (batch: unknown) => refusal(await call('POST', '/v1/webhooks', { url, batch })).fields;
  const sound = { max_events: batchEventsMin, max_wait_ms: batchWaitMsMin };
  expect(await refused({ ...sound, max_events: batchEventsMin - 1 })).toEqual(['batch.max_events invalid_field']);
  expect(await refused({ ...sound, max_events: batchEventsMax + 1 })).toEqual(['batch.max_events invalid_field']);
  expect(await refused({ ...sound, max_wait_ms: batchWaitMsMin - 1 })).toEqual(['batch.max_wait_ms invalid_field']);
  expect(await refused({ ...sound, max_wait_ms: batchWaitMsMax + 1 })).toEqual(['batch.max_wait_ms invalid_field']);
  expect(await refused({ max_events: 5 })).toHaveLength(1);
  expect(await refused({ ...sound, more: 1 })).toEqual(['batch.more unknown_field']);
  expect(await refused(5)).toEqual(['batch invalid_field']);
});

describe('a URL is refused by its field:', () => {
  const long = (chars: number) => `https://example.com/${'a'.repeat(chars - 'https://example.com/'.length)}`;
  test.each([
    ['no URL', 'example.com/hooks'],
    ['nothing', ''],
    ['another scheme', 'ftp://example.com/'],
    ['a script', 'javascript:alert(1)'],
    ['a blob of an allowed origin', 'blob:https://example.com/1'],
    ['plain http for live messages', 'http://example.com/'],
    ['a user name', 'https://user@example.com/'],
    ['a password', 'https://:secret@example.com/'],
    ['a fragment', 'https://example.com/#top'],
    ['an empty fragment', 'https://example.com/#'],
    ['a port of another service', 'https://example.com:25/'],
    ['loopback', 'https://127.0.0.1/'],
    ['loopback as one number', 'https://2130706433/'],
    ['loopback in octal', 'https://0177.0.0.1/'],
    ['loopback in hexadecimal', 'https://0x7f.1/'],
    ['loopback in circled digits', 'https://①②⑦.⓪.⓪.①/'],
    ['loopback of IPv6', 'https://[::1]/'],
    ['loopback inside of IPv6', 'https://[::ffff:127.0.0.1]/'],
    ['loopback inside of IPv6, compatible', 'https://[::7f00:1]/'],
    ['metadata of a cloud', 'https://169.254.169.254/latest/meta-data'],
    ['metadata behind NAT64', 'https://[64:ff9b::a9fe:a9fe]/'],
    ['metadata behind 6to4', 'https://[2002:a9fe:a9fe::]/'],
    ['a private network', 'https://10.1.2.3/'],
    ['this machine by name', 'https://localhost/'],
    ['a name without a dot', 'https://intranet/'],
    ['a dot at the end', 'https://example.com./'],
    ['a name of mDNS', 'https://printer.local/'],
    ['a name of the operator’s network', 'https://db.internal/'],
    ['below localhost', 'https://x.localhost/'],
    ['one character too many', long(limits.webhooks.urlCharsMax + 1)],
    ['too many characters as it is sent', `https://example.com/${'আ'.repeat(limits.webhooks.urlCharsMax / 9)}`],
    ['a lone surrogate', 'https://example.com/\ud800'],
    ['a number', 5],
  ])('%s', async (_name, hostile) => {
    expect(refusal(await call('POST', '/v1/webhooks', { url: hostile })).fields).toEqual(['url invalid_field']);
  });

  test('at a change too; the longest one, a port and an IPv6 address of the internet are taken', async () => {
    for (const good of [long(limits.webhooks.urlCharsMax), 'https://example.com:8443/', 'https://[2606:4700::1111]/x'])
      expect(await register({ url: good })).toMatchObject({ url: good });
    const { id } = await register();
    const changed = await call('PATCH', `/v1/webhooks/${id}`, { url: 'https://10.0.0.1/' });
    expect(refusal(changed).fields).toEqual(['url invalid_field']);
  });
});

describe('the secret', () => {
  test('is rotated with an overlap in which both sign, and without one', async () => {
    const { id, secret: first } = await register();
    const rotate = (json?: object) => call('POST', `/v1/webhooks/${id}/rotate-secret`, json);
    const second = (await rotate()).body;
    expect(second.secret).not.toBe(first);
    await until('the directory has both', () => secretsOf(id).length === 2);
    const [newest, before] = secretsOf(id);
    expect([newest?.secret, newest?.untilMs, before?.secret]).toEqual([second.secret, null, first]);
    expect(new Date(before?.untilMs ?? 0).toISOString()).toBe(second.previous_secrets_end_at);
    const endMs = before?.untilMs ?? 0;
    expect(endMs - systemClock.nowMs()).toBeLessThanOrEqual(limits.webhooks.overlapSecondsDefault * 1_000);
    expect(signingSecrets(secretsOf(id), endMs - 1).length).toBe(2);
    expect(signingSecrets(secretsOf(id), endMs).map(({ secret }) => secret)).toEqual([second.secret]);

    const third = (await rotate({ overlap_seconds: limits.webhooks.overlapSecondsMax })).body;
    expect(refusal(await rotate())).toMatchObject({ status: 409, code: 'too_many_secrets' });
    await until('all three are there', () => secretsOf(id).length === limits.webhooks.secretsMax);
    expect(secretsOf(id)[2]).toEqual(before);
    const last = (await rotate({ overlap_seconds: 0 })).body;
    expect([third.secret, last.secret].every((each) => each.startsWith('whsec_'))).toBe(true);
    await until('only the last signs', () => secretsOf(id).length === 1);
    expect(secretsOf(id)).toEqual([{ secret: last.secret, untilMs: null }]);
    const tooLong = await rotate({ overlap_seconds: limits.webhooks.overlapSecondsMax + 1 });
    expect(refusal(tooLong).fields).toEqual(['overlap_seconds invalid_field']);
  });

  test('is sealed again when the body key was rotated, and the old key is not needed any more', async () => {
    const { id, secret } = await register();
    await known(id);
    const [old, fresh] = [Buffer.alloc(32, 7), Buffer.alloc(32, 9)];
    expect(await resealWebhooks(running.store, bodyCipher([fresh, old]))).toBeGreaterThan(0);
    const sealedWith = () => Buffer.from(inDirectory(id)?.sealedSecrets ?? '', 'base64').toString('hex', 0, 4);
    await until('the directory has it sealed with the new key', () => sealedWith() === bodyKeyId(fresh));
    const endpoint = await known(id);
    expect(openWebhookSecrets(endpoint, bodyCipher(fresh))).toEqual([{ secret, untilMs: null }]);
    expect(await resealWebhooks(running.store, bodyCipher([fresh, old]))).toBe(0);
    expect(await resealWebhooks(running.store, bodyCipher([old, fresh]))).toBeGreaterThan(0);
  });
});

test('an endpoint whose body key is lost gets a new secret by a rotation', async () => {
  const settings = { url, events: [], ordering: 'none', batch: null, description: '' } as const;
  const asked = { accountId: account, livemode: true, actor: operator };
  const made = await createWebhook(running.store, bodyCipher(Buffer.alloc(32, 99)), asked, settings);
  const id = made.ok ? made.webhook.id : '';
  const { secret } = (await call('POST', `/v1/webhooks/${id}/rotate-secret`)).body;
  const isNew = (sealed = '') => sealed !== '' && sealed !== (made.ok ? made.webhook.sealedSecrets : '');
  await until('the directory has the new secret', () => isNew(inDirectory(id)?.sealedSecrets));
  expect(secretsOf(id)).toEqual([{ secret, untilMs: null }]);
});

test('the delivery process has an endpoint disabled once, and not when it was enabled again since', async () => {
  const { id } = await register();
  const stop = disableWebhooksOnRequest(running.bus, running.store);
  const request = (reason: string) => JSON.stringify({ endpointId: id, reason, enabledAtMs: null });
  const ask = (reason: string) => running.bus.connection.request(disableSubject, request(reason), { timeout: 5_000 });
  for (const reason of ['failing', 'gone']) expect((await ask(reason)).json()).toEqual({ ok: true });
  expect((await call('GET', `/v1/webhooks/${id}`)).body).toMatchObject({ disabled_reason: 'failing' });
  await until('the directory knows', () => inDirectory(id)?.disabledReason === 'failing');
  await call('PATCH', `/v1/webhooks/${id}`, { status: 'enabled' });
  expect((await ask('failing')).json()).toEqual({ ok: true });
  expect((await call('GET', `/v1/webhooks/${id}`)).body.status).toBe('enabled');
  stop();
});

test('tests and replays say so when no delivery process answers; what is asked for is checked first', async () => {
  const { id } = await register();
  const path = `/v1/webhooks/${id}`;
  const away = { status: 503, code: 'webhooks_unavailable' };
  expect(refusal(await call('POST', `${path}/test`))).toMatchObject(away);
  expect(refusal(await call('POST', `${path}/replay`, { event_id: eventIdOf(1) }))).toMatchObject(away);
  const replay = async (json: object) => refusal(await call('POST', `${path}/replay`, json)).fields;
  const past = new Date(systemClock.nowMs() - 60_000).toISOString();
  const future = new Date(systemClock.nowMs() + 60_000).toISOString();
  for (const wrong of [{}, { event_id: 'x' }, { event_id: 'evt_x' }, { event_id: eventIdOf(1).replace('evt', 'evb') }])
    expect(await replay(wrong)).toEqual(['event_id invalid_field']);
  expect(await replay({ event_id: eventIdOf(1), since: past, until: past })).toEqual(['until invalid_field']);
  expect(await replay({ since: future })).toEqual(['since invalid_field']);
  expect(await replay({ since: past, until: past })).toEqual(['until invalid_field']);
  expect(await replay({ since: 'yesterday' })).toEqual(['since invalid_field']);
});

test('attempts are read without the delivery process; unknown filters are refused by name', async () => {
  const { id } = await register();
  const endpoint = await known(id);
  const publisher = new Publisher(running.bus);
  const log = new AttemptLog(publisher, running.cipher, systemClock);
  const add = (eventId: string, result: Partial<SendResult>) =>
    log.add({
      ...{ endpoint, webhookId: eventId, eventIds: [eventId], type: 'sms.delivered', url, attempt: 1 },
      ...{ headers: { 'webhook-id': eventId }, body: '{"type":"sms.delivered"}', atMs: systemClock.nowMs() },
      result: {
        ...{ error: null, status: 200, detail: '', headers: { server: 'nginx' }, response: 'thanks' },
        ...{ retryAfterMs: null, latencyMs: 12, ...result },
      },
    });
  add(eventIdOf(1), {});
  add(eventIdOf(2), { error: 'timeout', status: null, detail: 'no response in 10000 ms' });
  await log.stop();
  publisher.close();
  const read = async (query: string) => (await call('GET', `/v1/webhooks/${id}/deliveries${query}`)).body;
  const idsOf = async (query: string) =>
    (await read(query)).data.map((each: { webhook_id: string }) => each.webhook_id);
  const all = await read('');
  expect(all).toMatchObject({ health: null, waiting: null, next_cursor: null });
  expect(
    all.data.toSorted((a: { webhook_id: string }, b: { webhook_id: string }) => (a.webhook_id < b.webhook_id ? -1 : 1)),
  ).toMatchObject([
    {
      ...{
        object: 'webhook_attempt',
        webhook_id: eventIdOf(1),
        event_ids: [eventIdOf(1)],
        succeeded: true,
        error: null,
        status: 200,
      },
      request: { headers: { 'webhook-id': eventIdOf(1) }, body: '{"type":"sms.delivered"}', body_chars: 24 },
      ...{
        response: { headers: { server: 'nginx' }, body: 'thanks' },
        latency_ms: 12,
        type: 'sms.delivered',
        attempt: 1,
      },
    },
    { webhook_id: eventIdOf(2), succeeded: false, error: 'timeout', status: null, response: null },
  ]);
  expect(await idsOf('?result=succeeded')).toEqual([eventIdOf(1)]);
  expect(await idsOf('?result=failed')).toEqual([eventIdOf(2)]);
  expect(await idsOf('?error=timeout')).toEqual([eventIdOf(2)]);
  expect(await idsOf(`?event_id=${eventIdOf(1)}&type=sms.delivered`)).toEqual([eventIdOf(1)]);
  expect(await idsOf('?type=sms.failed')).toEqual([]);
  expect(await idsOf('?since=2026-01-01T00:00:00Z&until=2026-01-02T00:00:00Z')).toEqual([]);
  const first = await read('?limit=1');
  const both = [first.data[0].webhook_id, ...(await idsOf(`?limit=1&cursor=${first.next_cursor}`))];
  expect(new Set(both)).toEqual(new Set([eventIdOf(1), eventIdOf(2)]));
  const refused = async (query: string) => refusal(await call('GET', `/v1/webhooks/${id}/deliveries?${query}`)).fields;
  expect(await refused('result=ok')).toEqual(['result invalid_field']);
  expect(await refused('error=unknown')).toEqual(['error invalid_field']);
  expect(await refused('result=succeeded&error=timeout')).toEqual(['error invalid_field']);
  expect(await refused('event_id=bad')).toEqual(['event_id invalid_field']);
  expect(await idsOf(`?event_id=${eventIdOf(1).replace('evt', 'evb')}`)).toEqual([]);
  expect(await refused('since=yesterday')).toEqual(['since invalid_field']);
  expect(await refused('since=2026-01-02T00:00:00Z&until=2026-01-02T00:00:00Z')).toEqual(['until invalid_field']);
  expect(await refused('colour=red')).toEqual(['colour unknown_field']);
  expect(await refused('cursor=x')).toEqual(['cursor invalid_field']);
});

// `track_clicks` where a text comes from a template, in batches and for later; the domain, the segments and the expiry of
// short links; and every form of a link that is refused, by the field that has it.
import { request } from 'node:http';
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { type Click, decodeClickRecord } from '../../../model/records/click-record.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { until } from '../../support/until.ts';
import { counted } from './counted.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness, post } from '../http/harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;
let own: Tenant;

const links = { baseUrl: 'https://go.example', accounts: {}, fallbackUrl: null, storeAddresses: false };
const templateId = 'tpl_01K3Z8Q4T6W9XAB2CD3EF4GH5J';

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  own = await harness.tenant();
  const accounts = { [own.accountId]: 'https://own.example' };
  ingress = await harness.ingress({}, 1, { links: { ...links, accounts } });
  const variables = [
    { name: 'name', type: 'text', size: 30 },
    { name: 'link', type: 'url' },
  ];
  const body = 'Dear {{name}}, see {{link}} or https://help.example.org/now.';
  for (const [id, of] of [
    [templateId, body],
    ['tpl_01K3Z8Q4T6W9XAB2CD3EF4GH5K', 'Dear {{name}}, see {{link}} or https://user:secret@help.example.org.'],
  ] as const) {
    const entry = { v: 1, templateId: id, accountId: tenant.accountId, category: 'transactional', body: of, variables };
    await harness.put('directory', `template.${tenant.accountId}.${id}`, JSON.stringify(entry));
  }
});
afterAll(async () => harness.stop());

const { to, from } = goodBody;
const ofTemplate = (variables: object, more: object = {}) => ({
  ...{ to, from, template_id: templateId, variables, track_clicks: true },
  ...more,
});
const wanted = { name: 'Rahim', link: 'https://shop.example.org/offer?id=7' };

/** What a redirect answers: its status and where it leads. */
function open(code: string, on = ingress, headers: Record<string, string> = {}): Promise<[number, string | undefined]> {
  return new Promise((resolve, reject) => {
    const asked = request(on.url(`/r/${code}`), { headers, agent: false }, (response) => {
      response.resume();
      response.on('end', () => resolve([response.statusCode ?? 0, response.headers.location]));
    });
    asked.on('error', reject);
    asked.end();
  });
}

async function textOf(messageId: unknown, stream = 'MT_TXN'): Promise<string> {
  const found = (await harness.messages(stream)).find((message) => message.messageId === messageId);
  return found !== undefined && 'text' in found.body ? found.body.text : '';
}

const codesIn = (text: string, base = 'https://go.example/r/') =>
  text
    .split(base)
    .slice(1)
    .map((rest) => rest.slice(0, 10));

describe('a template with links', () => {
  test('has a short link in the place of its own link and of the one in a variable', async () => {
    const sent = await post(ingress, tenant.live, ofTemplate(wanted));
    expect(sent.status).toBe(202);
    const text = await textOf(sent.body['id']);
    const [ofVariable, ofText] = codesIn(text) as [string, string];
    expect(text).toBe(`Dear Rahim, see https://go.example/r/${ofVariable} or https://go.example/r/${ofText}.`);
    expect(await open(ofVariable)).toEqual([302, wanted.link]);
    expect(await open(ofText)).toEqual([302, 'https://help.example.org/now']);
  });

  test('is explained with both, in a batch and for later too', async () => {
    const explained = await post(ingress, tenant.live, ofTemplate(wanted, { dry_run: 'explain' }));
    expect(explained.body).toMatchObject({
      would_send: true,
      links: [wanted.link, 'https://help.example.org/now'],
      message: 'Dear Rahim, see https://go.example/r/0000000000 or https://go.example/r/0000000000.',
    });
    const messages = [ofTemplate(wanted), ofTemplate({ ...wanted, name: 'Karim' }), { to, from, message: 'No link' }];
    const batch = await call(ingress, 'POST', '/v1/sms/batch', tenant.live, { messages });
    expect(batch.body).toMatchObject({ accepted: 3, rejected: 0 });
    const texts = await Promise.all(batch.body['results'].map(({ id }: { id: string }) => textOf(id)));
    expect(texts.map((text) => codesIn(text as string).length)).toEqual([2, 2, 0]);
    expect(new Set(texts.flatMap((text) => codesIn(text as string))).size).toBe(4);

    const send_at = new Date(systemClock.nowMs() + 30 * 86_400_000).toISOString();
    const later = await post(ingress, tenant.live, ofTemplate(wanted, { send_at }));
    expect(later.body).toMatchObject({ status: 'scheduled' });
    const [code] = codesIn(await textOf(later.body['id'], 'SCHEDULED')) as [string];
    expect(await open(code)).toEqual([302, wanted.link]);
  });

  test('goes out with its links as they are without track_clicks', async () => {
    const sent = await post(ingress, tenant.live, ofTemplate(wanted, { track_clicks: false }));
    expect(await textOf(sent.body['id'])).toContain(wanted.link);
  });
});

describe('a short link', () => {
  test('has the domain of its account, and leads on under it', async () => {
    const sent = await post(ingress, own.live, { ...goodBody, message: `See ${wanted.link}`, track_clicks: true });
    const text = await textOf(sent.body['id']);
    expect(text).toMatch(/^See https:\/\/own\.example\/r\/[0-9A-Za-z]{10}$/);
    const [code] = codesIn(text, 'https://own.example/r/') as [string];
    expect(await open(code, ingress, { host: 'own.example' })).toEqual([302, wanted.link]);
    // Whatever host is asked for: it is no part of the answer.
    expect(await open(code, ingress, { host: 'evil.example', 'x-forwarded-host': 'evil.example' })).toEqual([
      302,
      wanted.link,
    ]);
  });

  test('is what segments are counted of', async () => {
    const message = `See https://shop.example.org/${'x'.repeat(400)} now`;
    const tracked = await post(ingress, tenant.live, { ...goodBody, message, track_clicks: true });
    const plain = await post(ingress, tenant.live, { ...goodBody, message });
    expect([tracked.body['segments'], plain.body['segments']]).toEqual([1, 3]);
  });

  test('leads nowhere once it has expired, also for an ingress that starts later', async () => {
    const expiring = 'https://shop.example.org/expiring';
    const sent = await post(ingress, tenant.live, { ...goodBody, message: `See ${expiring}`, track_clicks: true });
    const [code] = codesIn(await textOf(sent.body['id'])) as [string];
    const dayMs = 86_400_000;
    const onDay = async (day: number, fallbackUrl: string | null) => {
      const env = { HELIOGRAPH_OWN_BUS: 'yes', CLOCK_SHIFT_MS: String(day * dayMs) };
      const later = await harness.ingress(env, 1, { links: { ...links, fallbackUrl } });
      let early = 0;
      const answer = await until('it has read LINKS', async () => {
        const found = await open(code, later);
        if (found[0] !== 503) return found;
        early += 1;
        return null;
      });
      expect(await counted(later, 'heliograph_redirects_total', { ended: 'not_ready' })).toBe(early);
      await later.kill9();
      return answer;
    };
    expect(await onDay(89, null)).toEqual([302, expiring]);
    expect(await onDay(92, null)).toEqual([404, undefined]);
    expect(await onDay(92, 'https://example.com/expired')).toEqual([302, 'https://example.com/expired']);
  });

  test('that is fetched ahead of a use is known by each header that says so', async () => {
    const sent = await post(ingress, tenant.live, { ...goodBody, message: `See ${wanted.link}`, track_clicks: true });
    const [code] = codesIn(await textOf(sent.body['id'])) as [string];
    const ahead: readonly (readonly [string, string])[] = [
      ['sec-purpose', 'prefetch;prerender'],
      ['sec-purpose', 'prefetch;anonymous-client-ip'],
      ['purpose', 'prefetch'],
      ['x-purpose', 'preview'],
      ['x-moz', 'prefetch'],
    ];
    await harness.bus.manager.streams.purge('CLICKS');
    for (const [name, value] of ahead) await open(code, ingress, { [name]: value });
    await open(code, ingress, { purpose: 'reading' });
    const clicks = await until('every click', async () => {
      const found = await clicksStored();
      return found.length > ahead.length ? found : null;
    });
    expect(clicks.map(({ isPrefetch }) => isPrefetch)).toEqual([...ahead.map(() => true), false]);
  });
});

async function clicksStored(): Promise<readonly Click[]> {
  const { state } = await harness.bus.manager.streams.info('CLICKS');
  const clicks: Click[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    const stored = await harness.bus.manager.streams.getMessage('CLICKS', { seq });
    const record = stored === null ? null : decodeClickRecord(stored.data);
    if (record?.kind === 'clicks') clicks.push(...record.clicks);
  }
  return clicks;
}

describe('refused by the field that has it', () => {
  const bad = [
    ['a user and a password', 'https://user:secret@shop.example.org/'],
    ['a user', 'https://bank.example.org@evil.example.org/'],
    ['an escaped user', 'https://%75ser:secret@shop.example.org/'],
    ['an empty password', 'https://user:@shop.example.org/'],
    ['our own domain', 'https://go.example/r/abcdefghij'],
    ['our own domain in upper case', 'HTTPS://GO.EXAMPLE/r/abcdefghij'],
    ['our own domain without TLS', 'http://go.example/r/abcdefghij'],
    ['our own domain and a port', 'https://go.example:8443/r/abcdefghij'],
    ['our own domain and the usual port', 'https://go.example:443/'],
    ['our own domain with escapes', 'https://g%6f%2Eexample/r/abcdefghij'],
    ['our own domain with a dot behind it', 'https://go.example./r/abcdefghij'],
    ['our own domain in wide letters', 'https://ｇｏ.ｅｘａｍｐｌｅ/r/abcdefghij'],
    ['our own domain with a wide dot', 'https://go｡example/r/abcdefghij'],
    ['our own domain with an unseen character', 'https://go\u00AD.example/r/abcdefghij'],
    ['our own domain behind more slashes', 'https:////go.example/r/abcdefghij'],
    ['the domain of another account', 'https://own.example/r/abcdefghij'],
    ['an address', 'http://[::ffff:127.0.0.1]/'],
    ['an address as one number', 'http://2130706433/'],
    ['this machine', 'http://localhost/admin'],
  ] as const;

  test.each(bad)('%s in a message', async (_name, link) => {
    const message = `See ${link} now`;
    const answer = await post(ingress, tenant.live, { ...goodBody, message, track_clicks: true });
    expect(answer).toMatchObject({
      status: 422,
      body: { code: 'link_not_trackable', errors: [{ field: 'message', code: 'link_not_trackable' }] },
    });
    expect(JSON.stringify(answer.body)).not.toContain('secret');
  });

  test.each(bad.filter(([, link]) => !/[^\x20-\x7e]/.test(link)))('%s in a variable', async (_name, link) => {
    const answer = await post(ingress, tenant.live, ofTemplate({ ...wanted, link }));
    expect(answer.status).toBe(422);
    expect(['link_not_trackable', 'template_mismatch']).toContain(answer.body['code']);
    expect(answer.body['errors']).toMatchObject([{ field: 'variables.link' }]);
    expect(JSON.stringify(answer.body)).not.toContain('secret');
  });

  test('in a template, and in one of a batch', async () => {
    const wrong = { template_id: 'tpl_01K3Z8Q4T6W9XAB2CD3EF4GH5K' };
    const answer = await post(ingress, tenant.live, ofTemplate(wanted, wrong));
    expect(answer.body).toMatchObject({ code: 'link_not_trackable', errors: [{ field: 'template_id' }] });
    expect(JSON.stringify(answer.body)).not.toContain('secret');
    const messages = [ofTemplate(wanted), ofTemplate(wanted, wrong)];
    const batch = await call(ingress, 'POST', '/v1/sms/batch', tenant.live, { messages });
    expect(batch.body).toMatchObject({ accepted: 1, rejected: 1 });
    expect(JSON.stringify(batch.body['results'][1])).toContain('template_id');
  });

  test('more links than a message may have', async () => {
    const message = Array.from({ length: limits.links.perMessageMax + 1 }, (_, at) => `https://a.example/${at}`).join(
      ' ',
    );
    const answer = await post(ingress, tenant.live, { ...goodBody, message, track_clicks: true });
    expect(answer.body).toMatchObject({ code: 'link_not_trackable', errors: [{ field: 'message' }] });
  });
});

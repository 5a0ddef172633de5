// Messages with `track_clicks` against a real ingress: what goes out, where its short links lead, and what is kept of
// those who follow them.
import { request } from 'node:http';
import { afterAll, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { clicksSubject, linkSwitchSubject } from '../../../cluster/bus/subjects.ts';
import type { AccountId, LinkId } from '../../../model/ids.ts';
import { linkCodes, type CodePlace } from '../../../model/link-code.ts';
import { type Click, decodeClickRecord, type IssuedLinks } from '../../../model/records/click-record.ts';
import { encodeLink } from '../../../model/records/link-record.ts';
import { linkSecret } from '../../../directory/link-secret.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { accountQueueMaxDefault } from '../../../platform/limits-lanes.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness, post } from '../http/harness.ts';
import { until } from '../../support/until.ts';
import { counted } from './counted.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  ingress = await harness.ingress({}, 2);
});
afterAll(async () => harness.stop());
beforeEach(async () => {
  for (const stream of ['MT_TXN', 'CLICKS']) await harness.bus.manager.streams.purge(stream);
});

const target = 'https://shop.example.org/offer?id=7';
const tracked = (more: object = {}) => ({
  ...goodBody,
  message: `Your offer: ${target}!`,
  track_clicks: true,
  ...more,
});

/** Everything in CLICKS, decoded. */
async function recorded(): Promise<{ issued: IssuedLinks[]; clicks: Click[] }> {
  const { state } = await harness.bus.manager.streams.info('CLICKS');
  const issued: IssuedLinks[] = [];
  const clicks: Click[] = [];
  for (let seq = state.first_seq; seq <= state.last_seq; seq += 1) {
    const stored = await harness.bus.manager.streams.getMessage('CLICKS', { seq });
    if (stored === null) continue;
    const record = decodeClickRecord(stored.data);
    if (record.kind === 'issued') issued.push(record.issued);
    else clicks.push(...record.clicks);
  }
  return { issued, clicks };
}
const clicked = (count: number) =>
  until(`${count} clicks`, async () => {
    const { clicks } = await recorded();
    return clicks.length >= count ? clicks : null;
  });

/** The codes in the texts that wait for a carrier. */
async function codesSent(stream = 'MT_TXN'): Promise<string[]> {
  const texts = (await harness.messages(stream)).map(({ body }) => ('text' in body ? body.text : ''));
  return texts.flatMap((text) => [...text.matchAll(/https:\/\/go\.example\/r\/([0-9A-Za-z]{10})/g)].map(([, c]) => c!));
}

async function sendOne(body: object = tracked(), to: Tenant = tenant): Promise<string> {
  expect((await post(ingress, to.live, body)).body).toMatchObject({ status: 'accepted' });
  const [code] = await codesSent();
  if (code === undefined) throw new Error('no link went out');
  return code;
}

type Answer = { status: number; headers: Record<string, unknown>; body: string };

function open(code: string, headers: Record<string, string> = {}, method = 'GET', on = ingress): Promise<Answer> {
  return new Promise((resolve, reject) => {
    const asked = request(on.url(`/r/${code}`), { method, headers, agent: false }, (response) => {
      let body = '';
      response.setEncoding('utf8');
      response.on('data', (piece: string) => (body += piece));
      response.on('end', () => resolve({ status: response.statusCode ?? 0, headers: response.headers, body }));
    });
    asked.on('error', reject);
    asked.end();
  });
}

/** Clicks that an ingress has lost for this reason. */
const lostOf = (own: Ingress, reason: string) => counted(own, 'heliograph_clicks_lost_total', { reason });

const browser = {
  'user-agent': 'Mozilla/5.0 (Linux; Android 14) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36',
  'accept-language': 'bn-BD',
};

describe('a message with a link', () => {
  test('says how many are short ones, none too, and so does a repeat; nothing without track_clicks', async () => {
    const linksOf = async (body: object, headers = {}) =>
      (await post(ingress, tenant.live, body, headers)).body['links'];
    const none = tracked({ message: 'Your offer: shop.example.org' });
    expect([await linksOf(tracked()), await linksOf(none)]).toEqual([1, 0]);
    expect(await linksOf(tracked({ track_clicks: false }))).toBeUndefined();
    for (const [body, links] of [
      [tracked({ message: `${target} ${target}2` }), 2],
      [none, 0],
    ] as const)
      for (let time = 0; time < 2; time += 1)
        expect(await linksOf(body, { 'idempotency-key': `links-${links}` })).toBe(links);
  });

  test('goes out with a short link, which leads to the target and nowhere else', async () => {
    const answer = await post(ingress, tenant.live, tracked());
    expect(answer.body).toMatchObject({ status: 'accepted', segments: 1, encoding: 'gsm7' });
    const [message] = await harness.messages();
    const text = message !== undefined && 'text' in message.body ? message.body.text : '';
    expect(text).toMatch(/^Your offer: https:\/\/go\.example\/r\/[0-9A-Za-z]{10}!$/);

    const [code] = await codesSent();
    const led = await open(`${code}?utm_source=sms&next=https://evil.example`, browser);
    expect(led).toMatchObject({ status: 302, body: '' });
    expect(led.headers).toMatchObject({
      location: target,
      'cache-control': 'no-store',
      'referrer-policy': 'no-referrer',
      'x-robots-tag': 'noindex',
    });
    expect(led.headers['set-cookie']).toBeUndefined();
    const head = await open(code!, browser, 'HEAD');
    expect([head.status, head.headers['location']]).toEqual([302, target]);

    const clicks = await clicked(2);
    const { issued } = await recorded();
    expect(issued).toMatchObject([{ messageId: answer.body['id'], accountId: tenant.accountId, livemode: true }]);
    const [link] = issued[0]!.links;
    expect(link).toMatchObject({ url: target });
    expect(clicks.filter(({ isHead }) => isHead).length).toBe(1);
    for (const click of clicks) {
      expect(click).toMatchObject({ linkId: link!.linkId, series: link!.series, index: link!.index, address: null });
      expect(click).toMatchObject({ userAgent: browser['user-agent'], hasLanguage: true, isPrefetch: false });
      expect(click.addressHash).toMatch(/^[\w-]{12}$/);
    }
  });

  test('has codes of its own in each message, of one series', async () => {
    const messages = Array.from({ length: 20 }, (_, at) => tracked({ to: `+88017${String(10_000_000 + at)}` }));
    const answer = await call(ingress, 'POST', '/v1/sms/batch', tenant.live, { messages });
    expect(answer.body).toMatchObject({ accepted: 20, rejected: 0 });
    const codes = await codesSent();
    expect(new Set(codes).size).toBe(20);
    for (const code of codes) expect((await open(code)).headers['location']).toBe(target);
    const places = (await recorded()).issued.flatMap(({ links }) => links.map(({ series }) => series));
    expect(places.length).toBe(20);
    expect(new Set(places).size).toBeLessThanOrEqual(4);
  });

  test('keeps its code until it is sent, however late that is', async () => {
    const later = new Date(systemClock.nowMs() + 86_400_000).toISOString();
    expect((await post(ingress, tenant.live, tracked({ send_at: later }))).body).toMatchObject({ status: 'scheduled' });
    const [code] = await codesSent('SCHEDULED');
    expect((await open(code!)).headers['location']).toBe(target);
  });

  test('is explained as it would go out, and nothing is made', async () => {
    const answer = await post(ingress, tenant.live, tracked({ dry_run: 'explain' }));
    expect(answer.body).toMatchObject({ would_send: true, links: [target] });
    expect(answer.body['message']).toBe(`Your offer: https://go.example/r/0000000000!`);
    expect((await recorded()).issued).toEqual([]);
  });

  test('that cannot be tracked is refused by name', async () => {
    const answer = await post(ingress, tenant.live, tracked({ message: 'https://go.example/r/abcdefghij' }));
    expect(answer).toMatchObject({ status: 422, body: { code: 'link_not_trackable' } });
    expect(answer.body['errors']).toMatchObject([{ field: 'message', code: 'link_not_trackable' }]);
    expect(await post(ingress, tenant.live, tracked({ track_clicks: 'yes' }))).toMatchObject({
      status: 422,
      body: { errors: [{ field: 'track_clicks', code: 'invalid_field' }] },
    });
  });

  test('is sent once under an idempotency key, and a repeat is answered as the first', async () => {
    const headers = { 'idempotency-key': 'once' };
    const first = await post(ingress, tenant.live, tracked(), headers);
    const again = await post(ingress, tenant.live, tracked(), headers);
    expect(again.body).toEqual(first.body);
    expect((await codesSent()).length).toBe(1);
  });
});

describe('codes', () => {
  test('that were never made, or not yet given out, lead nowhere and are no clicks', async () => {
    const code = await sendOne();
    const codes = linkCodes(await linkSecret(harness.bus));
    const { series } = codes.placeOf(code) as CodePlace;
    const next = codes.codeOf({ series, index: limits.links.seriesSizeMax });
    for (const wrong of [next, 'abcdefghij', '0', 'x'.repeat(200), '..%2f..%2fetc', '%00']) {
      expect((await open(wrong)).status).toBe(404);
    }
    // What is left of a link that was cut or lengthened, down to /r itself, asks for no API key either.
    for (const path of ['', '../r', `${code}/`, `${code}/more`, '/']) {
      for (const method of ['GET', 'HEAD']) expect((await open(path, {}, method)).status).toBe(404);
    }
    await open(code);
    await clicked(1);
    expect((await recorded()).clicks.length).toBe(1);
  });

  test('of a link that is disabled are gone, and no message may carry it until it is enabled', async () => {
    const url = 'https://shop.example.org/disabled';
    const code = await sendOne(tracked({ message: `See ${url}` }));
    const linkId = (await recorded()).issued[0]!.links[0]!.linkId as LinkId;
    const turn = async (disabled: boolean) => {
      const accountId = tenant.accountId as AccountId;
      const record = encodeLink({ kind: 'switch', accountId, linkId, disabled, atMs: 1 });
      await harness.bus.jetstream.publish(linkSwitchSubject, record);
      await until('every thread knows', async () => {
        const answers = await Promise.all(Array.from({ length: 8 }, () => open(code)));
        return answers.every(({ status }) => status === (disabled ? 410 : 302));
      });
    };
    await turn(true);
    expect(await post(ingress, tenant.live, tracked({ message: `See ${url}` }))).toMatchObject({
      status: 422,
      body: { code: 'link_disabled' },
    });
    await turn(false);
    expect((await post(ingress, tenant.live, tracked({ message: `See ${url}` }))).status).toBe(202);
  });

  test('of an account that is suspended are gone', async () => {
    const other = await harness.tenant();
    const code = await sendOne(tracked(), other);
    expect((await open(code)).status).toBe(302);
    const entry = { v: 1, accountId: other.accountId, name: 'Test', status: 'suspended', senders: ['HELIO'] };
    await harness.put('directory', `account.${other.accountId}`, JSON.stringify(entry));
    expect(await open(code)).toMatchObject({ status: 410, body: 'This link has been switched off.\n' });
  });
});

test('a link has GET and HEAD: another method is refused, with or without a code, and asks for no key', async () => {
  for (const path of ['abcdefghij', '', 'a/b'])
    for (const method of ['POST', 'PUT', 'DELETE', 'OPTIONS']) {
      const { status, headers, body } = await open(path, {}, method);
      expect([method, path, status, headers['allow']]).toEqual([method, path, 405, 'GET, HEAD']);
      expect(JSON.parse(body)).toMatchObject({ code: 'method_not_allowed' });
    }
});

describe('an ingress of its own', () => {
  test('has a page for codes that lead nowhere, keeps addresses where configured, and refuses wrong codes of who tries them', async () => {
    const code = await sendOne();
    const fallbackUrl = 'https://example.com/expired';
    const links = { baseUrl: 'https://go.example', accounts: {}, fallbackUrl, storeAddresses: true };
    const own = await harness.ingress({}, 1, { links });
    await until('it knows the link', async () => (await open(code, {}, 'GET', own)).headers['location'] === target);
    expect((await clicked(1)).at(-1)).toMatchObject({ address: '127.0.0.1' });
    const answers = new Map<number, number>();
    for (let tried = 0; tried < limits.links.missesBurst * 2; tried += 1) {
      const { status, headers } = await open('abcdefghij', {}, 'GET', own);
      if (status === 302) expect(headers['location']).toBe(fallbackUrl);
      answers.set(status, (answers.get(status) ?? 0) + 1);
    }
    expect(new Set(answers.keys())).toEqual(new Set([302, 429]));
    expect(answers.get(302)).toBeGreaterThanOrEqual(limits.links.missesBurst);
    const ended = (how: string) => counted(own, 'heliograph_redirects_total', { ended: how });
    expect([await ended('unknown'), await ended('too_many_misses')]).toEqual([answers.get(302), answers.get(429)]);
    // A turn comes back every half second: wrong codes take it. Another subscriber behind the same address has a live one.
    for (let tried = 0; tried < 10; tried += 1) {
      await until('a wrong code is refused', async () => (await open('abcdefghij', {}, 'GET', own)).status === 429);
      expect(await open(code, {}, 'GET', own)).toMatchObject({ status: 302, headers: { location: target } });
    }
    await own.kill9();
  });

  test('leads on a client that opens one link in a loop, and keeps a few of its clicks', async () => {
    const own = await harness.ingress({});
    const code = await sendOne();
    await until('it knows the link', async () => (await open(code, {}, 'GET', own)).status === 302);
    await until('clicks are lost', async () => {
      const opened = await Promise.all(Array.from({ length: 50 }, () => open(code, browser, 'GET', own)));
      for (const { status, headers } of opened) expect([status, headers['location']]).toEqual([302, target]);
      return (await lostOf(own, 'code')) > 0;
    });
    expect(await lostOf(own, 'account')).toBe(0);
    await own.kill9();
  });

  test('keeps no clicks while CLICKS is half full, so that messages with links are still accepted', async () => {
    const { config } = await harness.bus.manager.streams.info('CLICKS');
    const bound = (max_bytes: number) => harness.bus.manager.streams.update('CLICKS', { max_bytes });
    const messages = Array.from({ length: 20 }, (_, at) => tracked({ to: `+88017${String(10_000_000 + at)}` }));
    await call(ingress, 'POST', '/v1/sms/batch', tenant.live, { messages });
    const codes = await codesSent();
    await harness.bus.manager.streams.purge('CLICKS');
    // The start of an ingress gives the stream its bound again.
    const own = await harness.ingress({});
    await until('it knows the links', async () => (await open(codes[0]!, {}, 'GET', own)).status === 302);
    try {
      await bound(100_000);
      for (let at = 0; at < 60; at += 1) await harness.bus.jetstream.publish(clicksSubject, Buffer.alloc(1_000));
      await until('a click is lost', async () => {
        expect((await open(codes[0]!, browser, 'GET', own)).headers['location']).toBe(target);
        return (await lostOf(own, 'full')) > 0;
      });
      for (let round = 0; round < 20; round += 1) {
        const answers = await Promise.all(codes.map((code) => open(code, browser, 'GET', own)));
        expect(new Set(answers.map(({ status }) => status))).toEqual(new Set([302]));
      }
      expect((await post(own, tenant.live, tracked())).body).toMatchObject({ status: 'accepted' });
      await harness.bus.manager.streams.purge('CLICKS');
      await until('clicks are kept again', async () => {
        await open(codes[0]!, browser, 'GET', own);
        return (await recorded()).clicks.length > 0;
      });
      await own.kill9();
    } finally {
      await bound(config.max_bytes);
    }
  });

  test('refuses an account at its share of links, and only that one', async () => {
    const shares = { ...defaultShares, live_links: { total: 1_000, perAccount: 3, reserve: 0 } };
    const own = await harness.ingress({}, 1, {
      limits: {
        queueMessagesMax: 5_000_000,
        accountQueueMax: accountQueueMaxDefault,
        shares,
        linkDays: 90,
        streamReplicas: 1,
      },
    });
    const [greedy, modest] = [await harness.tenant(), await harness.tenant()];
    const send = (to: Tenant, at: number) =>
      post(own, to.live, tracked({ message: `https://shop.example.org/${at}` })).then(({ status, body }) => [
        status,
        body['code'],
      ]);
    const answers = [];
    for (let at = 0; at < 4; at += 1) answers.push(await send(greedy, at));
    expect(answers.map(([status]) => status)).toEqual([202, 202, 202, 429]);
    expect(answers[3]?.[1]).toBe('account_links_full');
    expect((await send(modest, 0))[0]).toBe(202);
    // A link that it has goes on being sent.
    expect((await send(greedy, 1))[0]).toBe(202);
    await own.kill9();
  });
});

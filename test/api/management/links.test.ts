// Short links in the management API: an account sees and switches its own, of the mode of the key.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { linkTarget } from '../../../model/records/link-record.ts';
import { until } from '../../support/until.ts';
import { type RunningApi, runApi } from './support/running-api.ts';
import { sendLink } from './support/sent-link.ts';

let api: RunningApi;
beforeAll(async () => {
  api = await runApi();
});
afterAll(() => api?.stop());

const list = async (key: string, query = '') => (await api.call('GET', `/v1/links${query}`, { key })).body;

test('are listed page by page, newest first, to their account and in their mode only', async () => {
  const urls = Array.from({ length: 5 }, (_, at) => `https://example.org/${at}`);
  for (const url of urls) await sendLink(api.bus, linkTarget(api.accountId, true, url));
  await sendLink(api.bus, linkTarget(api.accountId, false, 'https://example.org/test'));
  await until('all are known', async () => (await list(api.testKey)).data.length === 1);
  const seen: string[] = [];
  for (let cursor: string | null = ''; cursor !== null; ) {
    const page = await list(api.live, `?limit=2${cursor === '' ? '' : `&cursor=${cursor}`}`);
    expect(page.data.length).toBeLessThanOrEqual(2);
    seen.push(...page.data.map(({ url }: { url: string }) => url));
    cursor = page.next_cursor;
  }
  expect(seen).toEqual(urls.toReversed());
  expect((await list(api.other)).data).toEqual([]);
  expect((await api.call('GET', '/v1/links?cursor=x', { key: api.live })).status).toBe(422);
});

test('are found by their address, however it is written, and by their state; one is read by its id', async () => {
  const [first, second] = await Promise.all(
    ['a', 'b'].map((name) => sendLink(api.bus, linkTarget(api.accountId, true, `https://found.example/${name}`))),
  );
  const read = (id = '', key = api.live) => api.call('GET', `/v1/links/${id}`, { key });
  for (const id of [first, second]) await until('it is known', async () => (await read(id)).status === 200);
  expect((await read(first)).body).toMatchObject({ id: first, object: 'link', url: 'https://found.example/a' });
  for (const key of [api.other, api.testKey]) expect((await read(first, key)).status).toBe(404);
  const idsOf = async (query: string, key = api.live) =>
    (await list(key, query)).data.map(({ id }: { id: string }) => id);
  const written = `?url=${encodeURIComponent('HTTPS://Found.Example:443/b')}`;
  expect(await idsOf(written)).toEqual([second]);
  expect(await idsOf(written, api.testKey)).toEqual([]);
  expect(await idsOf('?url=https://found.example/c')).toEqual([]);
  expect((await api.call('POST', `/v1/links/${second}/disable`, { key: api.live })).status).toBe(200);
  expect(await idsOf('?status=disabled')).toEqual([second]);
  expect(await idsOf('?status=enabled')).toContain(first);
  expect(await idsOf('?status=enabled')).not.toContain(second);
  expect(await idsOf(`${written}&status=enabled`)).toEqual([]);
  for (const wrong of ['?url=found', '?status=off', '?state=disabled'])
    expect([wrong, (await api.call('GET', `/v1/links${wrong}`, { key: api.live })).status]).toEqual([wrong, 422]);
});

test('are switched off and on by their account; to others they are not there', async () => {
  const id = await sendLink(api.bus, linkTarget(api.accountId, true, 'https://example.org/switched'));
  const turn = (verb: string, key = api.live, of = id) => api.call('POST', `/v1/links/${of}/${verb}`, { key });
  await until('it is known', async () => (await turn('enable')).status === 200);
  expect((await turn('disable')).body).toMatchObject({ id, object: 'link', status: 'disabled' });
  const now = async () => (await list(api.live)).data.find((each: { id: string }) => each.id === id);
  expect(await now()).toMatchObject({ status: 'disabled', url: 'https://example.org/switched' });
  const detail = 'no link of this account has this id in the mode of this key';
  for (const key of [api.other, api.testKey]) {
    const { status, body } = await turn('enable', key);
    expect([status, body.detail]).toEqual([404, detail]);
  }
  for (const unknown of ['lnk_0000000000000000', 'x', 'lnk_'])
    expect((await turn('disable', api.live, unknown)).status).toBe(404);
  const readOnly = await api.newKey(api.accountId, true, ['sms:read']);
  expect((await turn('enable', readOnly)).body).toMatchObject({ code: 'scope_missing' });
  expect((await turn('enable')).body).toMatchObject({ status: 'enabled' });
});

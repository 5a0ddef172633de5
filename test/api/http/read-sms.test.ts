// GET /v1/sms/{id} and GET /v1/sms with the real analytics role: readable right after the 202, by its own account and
// mode only; wrong parameters are named; without analytics the answer is 503 and sending continues.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { until } from '../../support/until.ts';
import { type Harness, type Ingress, type Tenant, answeredByStore, goodBody, openHarness, post } from './harness.ts';

let harness: Harness;
let ingress: Ingress;
let tenant: Tenant;
let other: Tenant;
let analytics: { stop(): Promise<void> };

beforeAll(async () => {
  harness = await openHarness();
  tenant = await harness.tenant();
  other = await harness.tenant({ scopes: ['sms:read'] });
  [ingress, analytics] = await Promise.all([harness.ingress(), harness.analytics()]);
});
afterAll(async () => harness.stop());

const get = (path: string, token: string | null = tenant.live) => answeredByStore(() => getOnce(path, token));

async function getOnce(path: string, token: string | null = tenant.live) {
  const response = await fetch(ingress.url(path), {
    headers: token === null ? {} : { authorization: `Bearer ${token}` },
  });
  return { status: response.status, body: (await response.json()) as Record<string, any>, headers: response.headers };
}

describe('one message', () => {
  test('is readable right after its 202, twenty times out of twenty', async () => {
    for (let at = 0; at < 20; at += 1) {
      const sent = await post(ingress, tenant.live, { ...goodBody, client_reference: `r${at}` });
      const { status, body } = await get(`/v1/sms/${sent.body['id']}`);
      expect(status).toBe(200);
      expect(body).toMatchObject(sent.body);
      expect(body['history']).toEqual([
        { status: 'accepted', at: sent.body['created_at'], carrier: null, error: null },
      ]);
      expect(body['timing_ms']).toEqual({ accepted_to_submitted: null, submitted_to_delivered: null });
      expect(body['error']).toBeNull();
    }
  });

  test('is not found by another account, by the other mode, or with an invalid id', async () => {
    const { body: sent } = await post(ingress, tenant.live, goodBody);
    expect((await get(`/v1/sms/${sent['id']}`)).status).toBe(200);
    for (const [path, token] of [
      [`/v1/sms/${sent['id']}`, other.live],
      [`/v1/sms/${sent['id']}`, tenant.test],
      ['/v1/sms/sms_00000000000000000000000000', tenant.live],
      ['/v1/sms/nonsense', tenant.live],
      [`/v1/sms/${'x'.repeat(2_000)}`, tenant.live],
    ] as const) {
      expect((await get(path, token)).body).toMatchObject({ status: 404, code: 'not_found' });
    }
  });

  test('needs a key, and the key the scope', async () => {
    const writer = await harness.tenant({ scopes: ['sms:send'] });
    const path = '/v1/sms/sms_00000000000000000000000000';
    expect((await get(path, null)).body).toMatchObject({ status: 401, code: 'missing_api_key' });
    await until('the directory', async () => (await get(path, writer.live)).body['code'] === 'scope_missing');
  });
});

describe('the list', () => {
  test('pages through everything of the account, newest first, and filters', async () => {
    const lister = await harness.tenant();
    await until('the directory', async () => (await post(ingress, lister.live, '{')).status === 400);
    const ids: string[] = [];
    for (let at = 0; at < 7; at += 1) {
      const { body } = await post(ingress, lister.live, { ...goodBody, category: at === 3 ? 'otp' : 'transactional' });
      ids.push(body['id'] as string);
    }
    await until('the last', async () => (await get(`/v1/sms/${ids[6]}`, lister.live)).status === 200);
    const seen: string[] = [];
    let cursor = '';
    do {
      const { body } = await get(`/v1/sms?limit=3${cursor}`, lister.live);
      seen.push(...(body['data'] as { id: string }[]).map((each) => each.id));
      cursor = body['next_cursor'] === null ? '' : `&cursor=${encodeURIComponent(body['next_cursor'] as string)}`;
    } while (cursor !== '');
    expect(seen).toEqual([...ids].sort().reverse());

    const otp = await get('/v1/sms?category=otp&to=%2B8801712345678&status=accepted', lister.live);
    expect((otp.body['data'] as { id: string }[]).map((each) => each.id)).toEqual([ids[3]]);
    for (const before of ['2020-01-01', '2020-01-01T00:00:00+06:00', '2020-01-01T00:00%2B06:00'])
      expect((await get(`/v1/sms?created_before=${before}`, lister.live)).body).toEqual({
        data: [],
        next_cursor: null,
      });
    expect((await get('/v1/sms', lister.test)).body['data']).toEqual([]);
  });

  test.each([
    ['limit=0', 'limit', 'invalid_field'],
    ['limit=101', 'limit', 'invalid_field'],
    ['limit=ten', 'limit', 'invalid_field'],
    ['limit=1&limit=2', 'limit', 'invalid_field'],
    ['status=lost', 'status', 'invalid_field'],
    ['category=spam', 'category', 'invalid_field'],
    ['to=abc', 'to', 'invalid_field'],
    ['created_after=yesterday', 'created_after', 'invalid_field'],
    ['created_after=2026-01-01T10:00:00', 'created_after', 'invalid_field'],
    ['created_before=2026-13-01', 'created_before', 'invalid_field'],
    ['cursor=nonsense', 'cursor', 'invalid_field'],
    ['colour=red', 'colour', 'unknown_field'],
    ['__proto__=1', '__proto__', 'unknown_field'],
  ])('?%s is refused by name', async (query, field, code) => {
    const { body } = await get(`/v1/sms?${query}`);
    expect(body).toMatchObject({ status: 422, code, errors: [{ field, code }] });
  });

  test('limit=1 and limit=100 are both accepted', async () => {
    expect((await get('/v1/sms?limit=1')).body['data']).toHaveLength(1);
    expect((await get('/v1/sms?limit=100')).status).toBe(200);
  });
});

test('with analytics down the status is unavailable, and sending continues', async () => {
  const { body: sent } = await post(ingress, tenant.live, goodBody);
  await analytics.stop();
  const read = await getOnce(`/v1/sms/${sent['id']}`);
  expect(read.body).toMatchObject({ status: 503, code: 'status_unavailable' });
  expect(Number(read.headers.get('retry-after'))).toBeGreaterThan(0);
  expect((await getOnce('/v1/sms')).body).toMatchObject({ code: 'status_unavailable' });
  expect((await post(ingress, tenant.live, goodBody)).status).toBe(202);
});

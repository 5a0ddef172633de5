// `limits.api_key_days_default`: how long a key created without an expiry is valid, over the running API.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { type RunningApi, runApi } from './support/running-api.ts';

let api: RunningApi;
let days: number | null = null;
beforeAll(async () => {
  api = await runApi([], undefined, () => days);
});
afterAll(() => api?.stop());

const dayMs = 86_400_000;
const endOf = async (more: object) => {
  const { status, body } = await api.call('POST', '/v1/api-keys', { json: { scopes: ['sms:send'], ...more } });
  expect(status).toBe(201);
  return body.expires_at === null ? null : Date.parse(body.expires_at);
};

test('without it a key has no end; with it a key expires after that many days unless the request says otherwise', async () => {
  days = null;
  expect(await endOf({})).toBe(null);
  days = 90;
  const beforeMs = systemClock.nowMs();
  const endsAtMs = (await endOf({})) ?? 0;
  expect(endsAtMs).toBeGreaterThanOrEqual(beforeMs + 90 * dayMs);
  expect(endsAtMs).toBeLessThan(systemClock.nowMs() + 90 * dayMs + 1);
  // An expiry in the request counts, in either case.
  expect(await endOf({ expires_at: null })).toBe(null);
  const soon = new Date(systemClock.nowMs() + dayMs).toISOString();
  expect(await endOf({ expires_at: soon })).toBe(Date.parse(soon));
});

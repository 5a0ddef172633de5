// What the API answers to a replay of webhooks, by what the delivery process says: here a stand-in for it on the bus.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { type ReplayAnswer, webhookSubjects } from '../../../actors/webhook/contract.ts';
import { systemClock } from '../../../platform/clock.ts';
import { type RunningApi, refusal, runApi } from './support/running-api.ts';

let running: RunningApi;
let key: string;
beforeAll(async () => {
  running = await runApi();
  key = await running.newKey(await running.newAccount(), true);
});
afterAll(() => running?.stop());

const url = 'https://example.com/hooks?token=1';
const call = (path: string, json: object) => running.call('POST', path, { key, json });
const register = async (json: object = { url }) => (await call('/v1/webhooks', json)).body;

test('a replay says which types it leaves out, and for how long recording is behind', async () => {
  const all = await register();
  const few = await register({ url, events: ['sms.delivered', 'webhook.failing'] });
  let answer: ReplayAnswer = { ok: true, events: 3 };
  const answering = running.bus.connection.subscribe(webhookSubjects.replay, {
    callback: (_error, msg) => void msg.respond(JSON.stringify(answer)),
  });
  const since = new Date(systemClock.nowMs() - 60_000).toISOString();
  const replay = ({ id }: { id: string }) => call(`/v1/webhooks/${id}/replay`, { since });
  const types = ['webhook.failing', 'webhook.disabled'];
  expect((await replay(all)).body).toEqual({
    ...{ object: 'webhook_replay', webhook: all.id, events: 3, not_replayed: types },
  });
  expect((await replay(few)).body.not_replayed).toEqual(['webhook.failing']);
  answer = { ok: false, why: 'not_found' };
  expect((await replay(all)).body.detail).toContain('events of webhook.failing, webhook.disabled and webhook.test');
  for (const [behindMs, named, after] of [
    [12_400, ' by 13 s,', '13'],
    [7_200_000, ' by 7200 s,', '60'],
    [null, 'behind,', '1'],
  ] as const) {
    answer = { ok: false, why: 'behind', behindMs };
    const reply = await replay(all);
    expect(refusal(reply)).toMatchObject({ status: 503, code: 'recording_behind' });
    expect([reply.body.detail.includes(named), reply.headers.get('retry-after')]).toEqual([true, after]);
  }
  answering.unsubscribe();
});

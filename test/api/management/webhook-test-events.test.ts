// Test events of a webhook endpoint, and the attempts that are found of them: over the real API, on PostgreSQL and NATS,
// with the parts of the delivery process and a receiver on loopback.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { signedHeaders, signingKeys } from '../../../actors/webhook/send/signature.ts';
import { createWebhook } from '../../../control/store/webhook-endpoints.ts';
import { operator } from '../../../control/store/store.ts';
import { until } from '../../support/until.ts';
import { type Receiver, type RunningWebhooks, runWebhooks, startReceiver } from '../../support/webhooks.ts';
import { type RunningApi, refusal, runApi } from './support/running-api.ts';

let running: RunningApi;
let delivery: RunningWebhooks;
let receiver: Receiver;
beforeAll(async () => {
  running = await runApi();
  delivery = await runWebhooks(running.bus);
  receiver = await startReceiver();
  await until('it delivers', () => delivery.node.state === 'delivers');
});
afterAll(async () => {
  await delivery?.stop();
  await receiver?.close();
  await running?.stop();
});

/** Straight into the database: the API refuses a URL on loopback. */
async function register(): Promise<string> {
  const asked = { accountId: running.accountId, livemode: true, actor: operator };
  const settings = { url: receiver.url, events: ['*'], ordering: 'none', batch: null, description: '' } as const;
  const made = await createWebhook(running.store, running.cipher, asked, settings);
  return made.ok ? made.webhook.id : expect.fail(made.code);
}

test('a test event right after the secret was replaced is signed by the new one alone', async () => {
  const path = `/v1/webhooks/${await register()}`;
  for (let time = 0; time < 5; time += 1) {
    const { body: rotated } = await running.call('POST', `${path}/rotate-secret`, { json: { overlap_seconds: 0 } });
    const { body: attempt } = await running.call('POST', `${path}/test`);
    expect(attempt).toMatchObject({ succeeded: true, webhook_id: receiver.received.at(-1)?.id });
    const { headers = {}, body = '', id = '' } = receiver.received.at(-1) ?? {};
    const expected = signedHeaders(id, Number(headers['webhook-timestamp']), body, signingKeys([rotated.secret]));
    expect(headers['webhook-signature']).toBe(expected['webhook-signature']);
  }
});

test('attempts are found by every type that a request can have and no other, from a time whose plus is as it is', async () => {
  const path = `/v1/webhooks/${await register()}`;
  const { body: attempt } = await running.call('POST', `${path}/test`);
  const idsOf = async (query: string) =>
    (await running.call('GET', `${path}/deliveries?${query}`)).body.data.map(({ id }: { id: string }) => id);
  for (const time of ['since=2026-01-01T00:00:00+06:00', 'since=2026-01-01T00:00:00%2B06:00'])
    expect(await idsOf(`type=webhook.test&${time}`)).toEqual([attempt.id]);
  for (const type of ['webhook.batch', 'otp.blocked', 'sms.delivered']) expect(await idsOf(`type=${type}`)).toEqual([]);
  const refused = await running.call('GET', `${path}/deliveries?type=sms.nope`);
  expect(refusal(refused)).toMatchObject({ status: 422, fields: ['type invalid_field'] });
});

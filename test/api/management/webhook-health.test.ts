// What the account of a failing endpoint can read of it when it has no other endpoint to be warned: since when it
// fails and how, the warnings, and why and when it was disabled. The delivery process runs beside the API.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { disableWebhooksOnRequest } from '../../../control/requests.ts';
import { operator } from '../../../control/store/store.ts';
import { createWebhook } from '../../../control/store/webhook-endpoints.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { movedClock } from '../../support/moved-clock.ts';
import { until } from '../../support/until.ts';
import {
  type Receiver,
  type RunningWebhooks,
  deliveredNow,
  eventPublisher,
  runWebhooks,
  startReceiver,
} from '../../support/webhooks.ts';
import { type RunningApi, runApi } from './support/running-api.ts';

const none = { failing_since: null, error: null, tries: 0, next_try_at: null, warned_at: [] };

let running: RunningApi;
let webhooks: RunningWebhooks;
let hook: Receiver;
let stopDisabling: () => void;
const clock = movedClock();
beforeAll(async () => {
  running = await runApi();
  stopDisabling = disableWebhooksOnRequest(running.bus, running.store);
  hook = await startReceiver(() => ({ status: 500 }));
  webhooks = await runWebhooks(running.bus, { clock });
  await until('it delivers', () => webhooks.node.state === 'delivers');
});
afterAll(async () => {
  await hook?.close();
  await webhooks?.stop();
  stopDisabling?.();
  await running?.stop();
});

test('an account with one endpoint reads since when it fails, its warnings, and why it was disabled', async () => {
  const accountId = await running.newAccount();
  const key = await running.newKey(accountId, true);
  const settings = { url: hook.url, events: ['*'], ordering: 'none', batch: null, description: '' } as const;
  const asked = { accountId, livemode: true, actor: operator };
  // Its URL is one that the API would refuse.
  const made = await createWebhook(running.store, running.cipher, asked, settings);
  const id = made.ok ? made.webhook.id : '';
  const path = `/v1/webhooks/${id}`;
  const read = async () => (await running.call('GET', path, { key })).body;
  await until('it is known', () => (made.ok ? webhooks.directory.webhookEndpoint(made.webhook.id) : null));
  expect(await read()).toMatchObject({ id, status: 'enabled', health: none });

  const events = eventPublisher(running.bus);
  const all = Array.from({ length: 10 }, () => deliveredNow(accountId));
  await events.publish(all);
  events.close();
  const failing = await until('it fails', async () => {
    const { health } = await read();
    return health.failing_since === null ? null : health;
  });
  const sinceMs = Date.parse(failing.failing_since);
  expect(Math.abs(systemClock.nowMs() - sinceMs)).toBeLessThan(600_000);
  expect(failing).toMatchObject({ error: 'http_error', tries: 1, warned_at: [] });
  expect(Date.parse(failing.next_try_at)).toBeGreaterThan(sinceMs);
  expect((await running.call('GET', `${path}/deliveries`, { key })).body).toMatchObject({
    health: failing,
    waiting: 10,
  });

  const warnings = limits.delivery.warnAfterMs.map((afterMs) => new Date(sinceMs + afterMs).toISOString());
  for (let count = 1; count <= warnings.length; count += 1) {
    clock.to(Date.parse(warnings[count - 1] ?? ''));
    const warned = async () => (await read()).health.warned_at;
    await until('one more warning', async () => (await warned()).length === count);
    expect(await warned()).toEqual(warnings.slice(0, count));
  }
  const listed = (await running.call('GET', '/v1/webhooks', { key })).body.data;
  expect(listed).toMatchObject([{ id, health: { failing_since: failing.failing_since, warned_at: warnings } }]);

  hook.answer = () => ({ status: 410 });
  clock.to(clock.nowMs() + 2 * 86_400_000);
  const disabled = await until('it is disabled', async () => {
    const shown = await read();
    return shown.status === 'disabled' ? shown : null;
  });
  expect(disabled).toMatchObject({
    disabled_reason: 'gone',
    health: { failing_since: failing.failing_since, error: 'gone', next_try_at: null, warned_at: warnings },
  });
  expect(disabled.disabled_at).not.toBeNull();

  hook.answer = () => ({ status: 204 });
  const before = hook.received.length;
  await running.call('PATCH', path, { key, json: { status: 'enabled' } });
  // At once, before the delivery process has noticed.
  expect(await read()).toMatchObject({ status: 'enabled', disabled_reason: null, disabled_at: null, health: none });
  await until('what waited is delivered', () => hook.received.length >= before + all.length);
  const ids = new Set(hook.received.slice(before).map((each) => each.id));
  expect(ids).toEqual(new Set(all.map(({ eventId }) => eventId as string)));
}, 120_000);

// An endpoint that begins to fail while it has as many requests in flight as its account may have, and more events behind them.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { until } from '../../support/until.ts';
import {
  type WebhookBus,
  putAccount,
  putEndpoint,
  runWebhooks,
  startWebhookBus,
  waitingInLog,
} from '../../support/webhooks.ts';

let bus: WebhookBus;
beforeAll(async () => {
  bus = await startWebhookBus();
});
afterAll(() => bus.stop());

test.each(['none', 'per_message'] as const)(
  'gets no further request for as long as it asks for, with ordering %s',
  async (ordering) => {
    const [perAccount, asksAt, events] = [4, 40, 400];
    const accountId = await putAccount(bus.bus);
    const hook = await bus.receiver(async (_request, count) => {
      if (count === asksAt) return { status: 429, headers: { 'retry-after': '60' } };
      await systemClock.sleep(10);
      return { status: 200 };
    });
    await putEndpoint(bus.bus, { accountId, url: hook.url, ordering });
    const webhook_requests = { total: 100, perAccount, reserve: 0 };
    const running = await runWebhooks(bus.bus, { shares: { ...defaultShares, webhook_requests } });
    await until('it delivers', () => running.node.state === 'delivers');
    const before = await waitingInLog(bus.bus);
    await bus.publishMany(accountId, events);
    const sentMost = asksAt + perAccount;
    await until('the others wait', async () => (await waitingInLog(bus.bus)) - before >= events - sentMost);
    expect(hook.received.length).toBeLessThanOrEqual(sentMost);
    await running.stop();
  },
);

// A replay that waits for the event store: it asks again until it is answered, and says so once a minute (log-throttle.ts).
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { querySubjects } from '../../../analytics/contract.ts';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { type Clock, systemClock } from '../../../platform/clock.ts';
import { log } from '../../../platform/log.ts';
import { until } from '../../support/until.ts';
import { type WebhookBus, putAccount, putEndpoint, runWebhooks, startWebhookBus } from '../../support/webhooks.ts';

let bus: WebhookBus;
beforeAll(async () => {
  bus = await startWebhookBus();
});
afterAll(() => bus?.stop());

test('is logged once, however often it asks within a minute', async () => {
  const warn = vi.spyOn(log, 'warn');
  const lines = () =>
    warn.mock.calls.filter(([, what]) => what === 'a replay waits for the event store').map(([facts]) => facts);
  let asked = 0;
  bus.bus.connection.subscribe(querySubjects.replayEvents, {
    callback(_error, msg) {
      asked += 1;
      msg.respond(JSON.stringify({ result: 'unavailable', why: 'away', detail: 'it is away' }));
    },
  });
  const accountId = await putAccount(bus.bus);
  const { url } = await bus.receiver();
  const { entry } = await putEndpoint(bus.bus, { accountId, url });
  const endpointId = entry.id;
  // One that an earlier process has begun.
  const place = { source: 'messages', after: '' };
  const replay = { endpointId, accountId, sinceMs: 0, untilMs: systemClock.nowMs(), again: '.a', place };
  const bucket = await openBucket(bus.bus, 'webhooks');
  await bucket.put(`replay.${endpointId}`, JSON.stringify(replay));

  // Time stands still, and a wait is over at once.
  const clock: Clock = {
    ...systemClock,
    monotonicMs: () => 0,
    sleep: (ms, signal) => systemClock.sleep(Math.min(ms, 5), signal),
  };
  const running = await runWebhooks(bus.bus, { clock });
  try {
    await until('it has asked ten times', () => asked >= 10);
    expect(lines()).toEqual([{ endpointId, error: 'it is away' }]);
  } finally {
    await running.stop();
    warn.mockRestore();
  }
});

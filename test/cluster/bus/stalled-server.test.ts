// What a process logs while its nats-server stands still (SIGSTOP) and when it is restarted: nothing that sends an operator to
// a registry nobody imported, no line for each consumer, and an end for what began.
import { AckPolicy } from '@nats-io/jetstream';
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type Consumption, consumeStream } from '../../../cluster/bus/consume.ts';
import { watchRegistries } from '../../../directory/registry/registry-watcher.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { metrics } from '../../../platform/telemetry.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { serverProcess, suspend } from '../../support/processes.ts';
import { until } from '../../support/until.ts';

let harness: TestBus;
const [warn, error] = [vi.spyOn(log, 'warn'), vi.spyOn(log, 'error')];
beforeEach(async () => {
  harness = await startBus('stalled');
  warn.mockClear();
  error.mockClear();
});
afterEach(() => harness.stop());

type Facts = { consumer?: string; connection?: string; suppressed?: number };
const warned = (what: RegExp): Facts[] =>
  (warn.mock.calls as unknown as [Facts, string][]).filter(([, text]) => what.test(text)).map(([facts]) => facts);
const ignored = async (why: string) =>
  (await metrics.errorsIgnored.get()).values.find(({ labels }) => labels.why === why)?.value ?? 0;

test('a registry that nobody imported raises no alarm, and is not unknown', async () => {
  const seen: string[] = [];
  const keeper = await watchRegistries(harness.bus, ({ name, version }) => void seen.push(`${name} ${version}`));
  const { pid } = await serverProcess(harness.nats.dataDir, 'nats-server');
  await suspend(pid);
  try {
    await until('a look without an answer', () =>
      ignored('NATS did not answer: the registry is looked at again').then((count) => count > 0),
    );
  } finally {
    process.kill(pid, 'SIGCONT');
  }
  keeper.stop();
  expect(error).not.toHaveBeenCalled();
  expect(seen).toEqual([]);
});

test('many silent consumers are one line, which names one and counts the others', async () => {
  const names = Array.from({ length: 8 }, (_, index) => `quiet-${index}`);
  const taken = new Set<string>();
  const consumptions: Consumption[] = await Promise.all(
    names.map((name) =>
      consumeStream(harness.bus, {
        stream: 'MT_TXN',
        consumer: {
          durable_name: name,
          filter_subject: `mt.txn.${name}.>`,
          ack_policy: AckPolicy.Explicit,
          max_ack_pending: 10,
        },
        prefetch: 10,
        handle(record) {
          taken.add(name);
          record.ack();
        },
      }),
    ),
  );
  const lines = () => warned(/reopening it$/);
  const beganAtMs = systemClock.monotonicMs();
  const { pid } = await serverProcess(harness.nats.dataDir, 'nats-server');
  await suspend(pid);
  await until('a line', () => lines().length > 0);
  process.kill(pid, 'SIGCONT');
  for (const name of names)
    await until(`a record of ${name}`, async () => {
      await harness.bus.jetstream.publish(`mt.txn.${name}.0`, 'x').catch(() => {});
      return taken.has(name);
    });
  const lastedMs = systemClock.monotonicMs() - beganAtMs;
  expect(lines().length).toBeLessThanOrEqual(1 + Math.floor(lastedMs / limits.bus.consumerLogEveryMs));
  expect(names).toContain(lines()[0]?.consumer);
  for (const each of consumptions) await each.stop();
});

test('the loss of a connection and its end are both warnings', async () => {
  await harness.nats.kill9();
  await until('the loss', () => warned(/^NATS connection lost$/).some(({ connection }) => connection === 'stalled'));
  await harness.nats.restart();
  await until('the end', () => warned(/^NATS connection restored$/).some(({ connection }) => connection === 'stalled'));
});

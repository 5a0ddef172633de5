// Which pulls count as lost, on a real nats-server: none that the client read late or the server began late. (A pull
// that the server drops in silence: consume.test.ts.)
import { AckPolicy, type Consumer } from '@nats-io/jetstream';
import { afterAll, beforeAll, expect, test } from 'vitest';
import { ensureConsumer } from '../../../cluster/bus/ensure.ts';
import { followStatus, watchPulls } from '../../../cluster/bus/lost-pull.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { type TestBus, startBus } from '../../support/bus.ts';
import { serverProcess } from '../../support/processes.ts';

/** The shortest that the client allows. */
const pullMs = 1_000;
const consumers = 24;

let test_: TestBus;
beforeAll(async () => {
  test_ = await startBus();
});
afterAll(async () => {
  await test_.stop();
});

async function idleConsumers(prefix: string): Promise<Map<string, Consumer>> {
  const names = Array.from({ length: consumers }, (_, index) => `${prefix}${index}`);
  const entries = names.map(async (name) => {
    const config = { durable_name: name, ack_policy: AckPolicy.Explicit, filter_subject: `mt.txn.${name}.>` };
    await ensureConsumer(test_.bus.manager, 'MT_TXN', config);
    return [name, await test_.bus.jetstream.consumers.get('MT_TXN', name)] as const;
  });
  return new Map(await Promise.all(entries));
}

/** Pulls that begin together, with how often each consumer has pulled and which were reported as lost. */
async function pullFrom(idle: ReadonlyMap<string, Consumer>) {
  const pulled = new Map<string, number>();
  const lost: string[] = [];
  const all = [...idle].map(async ([name, consumer]) => {
    const options = { max_messages: 10, expires: pullMs, idle_heartbeat: 500, callback: () => {} };
    const messages = await consumer.consume(options);
    pulled.set(name, 0);
    void followStatus(messages, (type) => {
      if (type === 'next') pulled.set(name, pulled.get(name)! + 1);
    });
    watchPulls(test_.bus, consumer, messages, pullMs, systemClock, () => lost.push(name));
    return messages;
  });
  const opened = await Promise.all(all);
  const stop = () => opened.forEach((messages) => messages.stop());
  return { lost, pulledTimes: () => Math.min(...pulled.values()), stop };
}

/** The server answers nothing from `fromMs` to `untilMs`, monotonic. */
async function stall(fromMs: number, untilMs: number): Promise<void> {
  const { pid } = await serverProcess(test_.nats.dataDir, 'nats-server');
  await until('the stall begins', () => systemClock.monotonicMs() >= fromMs, { everyMs: 5 });
  process.kill(pid, 'SIGSTOP');
  await until('the stall ends', () => systemClock.monotonicMs() >= untilMs, { everyMs: 5 });
  process.kill(pid, 'SIGCONT');
}

test('pulls that a busy server begins late end late, and none is lost', async () => {
  const idle = await idleConsumers('begin');
  const nowMs = systemClock.monotonicMs();
  const stalled = stall(nowMs + 200, nowMs + 600);
  await until('the server is busy', () => systemClock.monotonicMs() > nowMs + 250, { everyMs: 5 });
  const pulling = await pullFrom(idle);
  await stalled;
  await until('each has pulled again', () => pulling.pulledTimes() >= 1);
  expect(pulling.lost).toEqual([]);
  pulling.stop();
});

test('pulls that end while the server is busy are answered late, and none is lost', async () => {
  const pulling = await pullFrom(await idleConsumers('end'));
  const nowMs = systemClock.monotonicMs();
  await stall(nowMs + pullMs - 100, nowMs + pullMs + 300);
  await until('each has pulled again', () => pulling.pulledTimes() >= 1);
  expect(pulling.lost).toEqual([]);
  pulling.stop();
});

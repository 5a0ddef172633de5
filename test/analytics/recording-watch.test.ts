// A store that refuses every insert is in the health of analytics, in a metric and, after a minute, in the log.
import { afterEach, beforeEach, expect, test, vi } from 'vitest';
import { type AnalyticsNode, startAnalytics } from '../../analytics/analytics-node.ts';
import { RecordingWatch } from '../../analytics/recording-watch.ts';
import { type Engine, openEngine } from '../../analytics/store/engine.ts';
import { applySchema } from '../../analytics/store/schema.ts';
import type { Waiting } from '../../analytics/recorder/recorder.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import { ManualClock } from '../support/manual-clock.ts';
import { until } from '../support/until.ts';
import { type TestClickHouse, startClickHouse } from './support/clickhouse-server.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { contextOf, lifeOf } from './support/events.ts';

const [error, warn] = [vi.spyOn(log, 'error'), vi.spyOn(log, 'warn')];
const alarms = () => error.mock.calls.filter(([said]) => JSON.stringify(said).includes('"alarm":"nothing_recorded"'));
const ended = () => warn.mock.calls.filter(([, said]) => said === 'events are recorded again');
beforeEach(() => {
  error.mockClear();
  warn.mockClear();
});

const gauge = async () => (await metrics.recorderWaiting.get()).values[0]?.value;

test('says so after ten seconds, raises one alarm after a minute, and says when it is over', async () => {
  const clock = new ManualClock();
  const beganAtMs = clock.nowMs();
  let waiting: Waiting | null = { forMs: 0, failure: 'MEMORY_LIMIT_EXCEEDED' };
  const watch = new RecordingWatch(() => waiting, clock);
  const wait = (ms: number) => {
    for (let waitedMs = 0; waitedMs < ms; waitedMs += 1_000) {
      waiting &&= { ...waiting, forMs: waiting.forMs + 1_000 };
      clock.advance(1_000);
    }
  };
  wait(9_000);
  expect([watch.failingSince, await gauge()]).toEqual([null, 9]);
  wait(1_000);
  expect(watch.failingSince).toEqual(new Date(beganAtMs));
  wait(49_000);
  expect(alarms()).toEqual([]);
  wait(60_000);
  expect(alarms()).toMatchObject([
    [{ since: new Date(beganAtMs).toISOString(), error: 'MEMORY_LIMIT_EXCEEDED' }, expect.any(String)],
  ]);
  expect(watch.failingSince).toEqual(new Date(beganAtMs));
  waiting = null;
  wait(1_000);
  expect([watch.failingSince, ended().length, await gauge()]).toEqual([null, 1, 0]);
  wait(1_000);
  expect(ended()).toHaveLength(1);
  watch.close();
  expect(clock.timers).toBe(0);
});

let events: EventBus;
let clickhouse: TestClickHouse;
let engine: Engine;
let node: AnalyticsNode;
afterEach(async () => {
  await node?.stop(5_000);
  await engine?.close();
  await events?.stop();
  await clickhouse?.stop();
});

test('the health of a node whose inserts are refused says since when, and readiness stays', async () => {
  [events, clickhouse] = await Promise.all([startEventBus(), startClickHouse()]);
  engine = openEngine({ clickhouseUrl: clickhouse.url, dataDir: events.dataDir });
  await applySchema(engine);
  let aheadMs = 0;
  const clock: Clock = { ...systemClock, monotonicMs: () => systemClock.monotonicMs() + aheadMs };
  node = await startAnalytics(events.bus, engine, { clock });
  const rows = async () => (await clickhouse.rows('SELECT toUInt32(count()) FROM sms_events'))[0]?.[0];
  await events.publish(lifeOf(contextOf()));
  await until('it is recorded', async () => (await rows()) === 3);
  expect(node.health()).toEqual({ ok: true, detail: 'recording' });

  clickhouse.weather = 'read-only';
  const refusedBefore = systemClock.nowMs();
  await events.publish(lifeOf(contextOf()));
  await until('inserts are refused', () => clickhouse.refused >= 2);
  aheadMs = 61_000;
  await until('the alarm', () => alarms().length === 1);
  expect(alarms()[0]?.[0]).toMatchObject({ error: expect.stringContaining('readonly mode') });
  const { ok, detail } = node.health();
  expect([ok, detail]).toEqual([true, expect.stringMatching(/^nothing recorded since 20/)]);
  expect(Date.parse(detail.slice(-24))).toBeLessThanOrEqual(refusedBefore);

  clickhouse.weather = 'fine';
  await until('it is recorded again', () => node.health().detail === 'recording');
  expect([await rows(), ended().length]).toEqual([6, 1]);
});

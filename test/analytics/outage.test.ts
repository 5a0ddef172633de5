// ClickHouse as a server that goes down and loses answers (faults 35 and 36), the role as a real child process.
import { afterEach, beforeEach, expect, test } from 'vitest';
import { until } from '../support/until.ts';
import { expectExactCounts } from '../support/recount.ts';
import { type TestClickHouse, startClickHouse } from './support/clickhouse-server.ts';
import { type EventBus, startEventBus } from './support/event-bus.ts';
import { contextOf, lifeOf } from './support/events.ts';
import { type RunningRole, startRole } from './support/role.ts';

let events: EventBus;
let clickhouse: TestClickHouse;
let role: RunningRole | null = null;

beforeEach(async () => {
  [events, clickhouse] = await Promise.all([startEventBus(), startClickHouse()]);
});

afterEach(async () => {
  await role?.end('SIGKILL');
  role = null;
  await events.stop();
  await clickhouse.stop();
});

const start = () => startRole(events.nats.url, events.dataDir, { CLICKHOUSE_URL: clickhouse.url });

async function counts(): Promise<unknown[]> {
  const [rows] = await clickhouse.rows('SELECT toUInt32(count()), toUInt32(uniqExact(event_id)) FROM sms_events');
  const [submits] = await clickhouse.rows('SELECT toUInt32(count()) FROM sms_submits');
  return [...(rows ?? []), ...(submits ?? [])];
}

async function publishLives(messages: number): Promise<void> {
  for (let published = 0; published < messages; published += 20) {
    await events.publish(Array.from({ length: 20 }, () => lifeOf(contextOf())).flat());
  }
}

test('while ClickHouse is down events wait in the stream; afterwards the counts are exact', async () => {
  role = await start();
  await publishLives(100);
  await until('the first rows', async () => (await counts())[0] === 300);
  clickhouse.weather = 'down';
  await publishLives(400);
  await until('refused inserts', () => clickhouse.refused >= 3);
  // Also a role that starts during the outage waits and does not count twice.
  await role.end('SIGKILL');
  clickhouse.weather = 'fine';
  role = await start();
  await until('all rows', async () => (await counts())[0] === 1_500);
  await role.end('SIGTERM');
  expect(await counts()).toEqual([1_500, 1_500, 500]);
  expect((await expectExactCounts(clickhouse.rows))['delivered']).toBe(500);
});

test('an insert that was applied but whose answer was lost is not doubled, nor in the counts of reports', async () => {
  role = await start();
  clickhouse.weather = 'answer-lost';
  await publishLives(200);
  await until('lost answers', () => clickhouse.lost >= 3);
  // Killed with the outcome unknown: the next one repeats the range under its token.
  await role.end('SIGKILL');
  await publishLives(100);
  clickhouse.weather = 'fine';
  role = await start();
  await until('all rows', async () => (await counts())[0] === 900);
  await role.end('SIGTERM');
  expect(await counts()).toEqual([900, 900, 300]);
  expect((await expectExactCounts(clickhouse.rows))['delivered']).toBe(300);
});

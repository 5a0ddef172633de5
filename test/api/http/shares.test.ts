// What one account may do at once on a listening thread (fault 54): its excess of batches, queries and requests is
// refused as its own, and an account that sends OTPs meanwhile gets only 202.
import { afterAll, afterEach, beforeAll, beforeEach, describe, expect, test } from 'vitest';
import { mayBeArriving } from '../../../api/http/status-query-client.ts';
import { SliceTurns } from '../../../api/http/slice-turns.ts';
import { newMessageId } from '../../../model/ids.ts';
import { nextTurn, systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { sharedBounds } from '../../../platform/limits-shares.ts';
import { limits } from '../../../platform/limits.ts';
import { type Harness, type Ingress, type Tenant, call, goodBody, openHarness, post } from './harness.ts';
import { type Victim, startVictim } from './victim.ts';

let harness: Harness;
let ingress: Ingress;
let busy: Tenant;
let other: Tenant;
let analytics: { stop(): Promise<void> };

beforeAll(async () => {
  harness = await openHarness();
  busy = await harness.tenant();
  other = await harness.tenant();
  ingress = await harness.ingress();
  analytics = await harness.analytics();
});
afterAll(async () => {
  await analytics.stop();
  await harness.stop();
});

describe('beside an account that does as much as it can', () => {
  let victim: Victim;
  beforeEach(() => {
    victim = startVictim(ingress, other.live);
  });
  afterEach(async () => {
    expect((await victim.stop()).others).toEqual([]);
  });

  test('of sixty batches at once an account has its share at work, and single messages pass', async () => {
    // Large ones, of which four follow one another within the time that a batch may wait, at the slowest pace too.
    const messages = Array.from({ length: 300 }, () => ({ ...goodBody, category: 'promotional' }));
    const send = () => call(ingress, 'POST', '/v1/sms/batch', busy.live, { messages });
    const batches = Array.from({ length: 60 }, send);
    expect((await post(ingress, busy.live, goodBody)).status).toBe(202);
    const answers = await Promise.all(batches);
    const refused = answers.filter(({ status }) => status !== 202);
    expect(new Set(refused.map(({ status, body }) => `${status} ${body['code']}`))).toEqual(
      new Set(['429 account_busy']),
    );
    for (const { headers } of refused) expect(headers.get('retry-after')).toBe('1');
    expect(answers.length - refused.length).toBeGreaterThanOrEqual(sharedBounds.batches_at_work.perAccount);
    const again = await until('a place again', async () => {
      const answer = await call(ingress, 'POST', '/v1/sms/batch', busy.live, { messages: messages.slice(0, 3) });
      return answer.status !== 429 && answer;
    });
    expect([again.status, again.body['accepted']]).toEqual([202, 3]);
  });

  test('of three hundred queries about messages that may be in transit one account has its share', async () => {
    const ask = () => call(ingress, 'GET', `/v1/sms/${newMessageId(systemClock.nowMs())}`, busy.live);
    const asked = Array.from({ length: 300 }, ask);
    // Not refused as busy: it has places of its own. Whether it is known yet is up to the event store.
    const own = await Promise.all([
      call(ingress, 'GET', '/v1/sms?limit=1', other.live),
      call(ingress, 'GET', `/v1/sms/${newMessageId(1_700_000_000_000)}`, other.live),
    ]);
    for (const { body } of own) expect(body['code']).not.toBe('account_busy');
    const codes = (await Promise.all(asked)).map(({ status, body }) => `${status} ${body['code']}`);
    const busyOnes = codes.filter((code) => code === '429 account_busy').length;
    expect(busyOnes).toBeGreaterThan(0);
    expect(300 - busyOnes).toBeGreaterThanOrEqual(sharedBounds.status_queries.perAccount);
  });

  test('of thirty-two pages of its list one account has its share, and each of them is answered', async () => {
    // Three pages come together, and a page reads several statements within two seconds.
    const list = () =>
      until('an answer of the event store', async () => {
        const answer = await call(ingress, 'GET', '/v1/sms?limit=100', busy.live);
        return answer.status !== 503 && answer;
      });
    const lists = Array.from({ length: 32 }, list);
    const own = await call(ingress, 'GET', '/v1/sms?limit=1', other.live);
    expect(own.body['code']).not.toBe('account_busy');
    const answers = await Promise.all(lists);
    const refused = answers.filter(({ status }) => status === 429);
    expect(new Set(refused.map(({ body }) => body['code']))).toEqual(new Set(['account_busy']));
    expect(refused.length).toBeGreaterThan(0);
    const read = answers.filter(({ status }) => status === 200);
    expect(read.length + refused.length).toBe(32);
    expect(read.length).toBeGreaterThanOrEqual(sharedBounds.list_queries.perAccount);
  });
});

describe('rates', () => {
  const rated = (burst: number) => harness.tenant({ key: { rate: { perSecond: 1, burst } } });
  const batchOf = (count: number, token: string) =>
    call(ingress, 'POST', '/v1/sms/batch', token, { messages: Array.from({ length: count }, () => goodBody) });

  test('a batch costs as many turns as it has messages', async () => {
    const tenant = await rated(20);
    const first = await batchOf(15, tenant.live);
    expect([first.status, first.headers.get('ratelimit-remaining')]).toEqual([202, '5']);
    const second = await batchOf(15, tenant.live);
    expect([second.status, second.body['code']]).toEqual([429, 'rate_limited']);
    expect(Number(second.headers.get('retry-after'))).toBeGreaterThan(5);
    expect((await post(ingress, tenant.live, goodBody)).status).toBe(202);
  });

  test('one with more messages than the burst is answered to send fewer', async () => {
    const tenant = await rated(5);
    const answer = await batchOf(6, tenant.live);
    expect([answer.status, answer.body['code']]).toEqual([429, 'rate_limited']);
    expect(answer.body['detail']).toMatch(/a batch of 6 messages is more than 5 at once with this key/);
    const other = await rated(5);
    expect((await batchOf(5, other.live)).status).toBe(202);
  });
});

describe('what is revealed without a key, and to caches', () => {
  test('/health/ready says yes, and not how many keys there are', async () => {
    expect(await (await fetch(ingress.url('/health/ready'))).text()).toBe('{"status":"ok"}');
  });

  test.each([
    ['a 202', () => post(ingress, other.live, goodBody), 202],
    ['a refusal', () => post(ingress, null, goodBody), 401],
    ['a status', () => call(ingress, 'GET', '/v1/sms/x', other.live), 404],
  ])('%s is kept by no cache and taken for nothing else', async (_name, ask, status) => {
    const answer = await ask();
    expect([answer.status, answer.headers.get('cache-control'), answer.headers.get('x-content-type-options')]).toEqual([
      status,
      'no-store',
      'nosniff',
    ]);
  });
});

test.each([
  [0, true],
  [limits.queries.youngMs, true],
  [limits.queries.youngMs + 1, false],
  [-limits.queries.aheadMs, true],
  [-limits.queries.aheadMs - 1, false],
])('a message of %i ms ago may be arriving: %s', (ageMs, expected) => {
  const nowMs = 1_800_000_000_000;
  expect(mayBeArriving(newMessageId(nowMs - ageMs), nowMs)).toBe(expected);
});

test('slices take turns: one in each turn of the event loop, in the order of request', async () => {
  const turns = new SliceTurns();
  let turn = 0;
  const done: [name: string, turn: number][] = [];
  const work = async (name: string) => {
    for (let slice = 0; slice < 3; slice += 1) {
      await turns.next();
      done.push([name, turn]);
    }
  };
  const all = Promise.all([work('a'), work('b')]);
  while (done.length < 6) {
    await nextTurn();
    turn += 1;
  }
  await all;
  expect(done.map(([name]) => name)).toEqual(['a', 'b', 'a', 'b', 'a', 'b']);
  expect(new Set(done.map(([, at]) => at)).size).toBe(6);
});

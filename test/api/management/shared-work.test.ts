// What accounts share of the management API: one that does all it can is answered 429, and no other is affected.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { SharedWork, WriteRate, WriteTurns } from '../../../api/management/shared-work.ts';
import { findAccount } from '../../../control/store/accounts.ts';
import { openStore } from '../../../control/store/store.ts';
import { newAccountId } from '../../../model/ids.ts';
import { systemClock } from '../../../platform/clock.ts';
import { until } from '../../support/until.ts';
import { ignoring } from '../../../platform/errors.ts';
import { defaultShares } from '../../../platform/limits-shares.ts';
import { limits } from '../../../platform/limits.ts';
import { ManualClock } from '../../support/manual-clock.ts';
import { within } from '../../support/running-clock.ts';
import { type Reply, type RunningApi, refusal, runApi } from './support/running-api.ts';

const databaseAway = '503 control_plane_unavailable';
/** Half of the time a request waits for a connection (limits.store.connectTimeoutMs). */
const excusedAboveMs = 1_000;

const outcome = ({ status, body }: Reply) => (status === 200 ? '200' : `${status} ${body.code}`);

/** Reads all the time on a connection of its own, which no account can take: how slow the machine is at most. */
function probe(databaseUrl: string): { slowestMs(): Promise<number> } {
  const store = openStore(databaseUrl, systemClock, { poolMax: 1 });
  let isOver = false;
  let slowestMs = 0;
  const reading = (async () => {
    while (!isOver) {
      const beganMs = systemClock.monotonicMs();
      await findAccount(store, newAccountId(systemClock.nowMs())).catch((error: unknown) =>
        ignoring(error, 'it was slow: its time says so'),
      );
      slowestMs = Math.max(slowestMs, systemClock.monotonicMs() - beganMs);
      await systemClock.sleep(20);
    }
  })();
  return {
    async slowestMs() {
      isOver = true;
      await reading;
      await store.close();
      return slowestMs;
    },
  };
}

describe('300 imports of one account', () => {
  let running: RunningApi;
  beforeAll(async () => {
    running = await runApi([], defaultShares);
  });
  afterAll(async () => running.stop());

  test('keep no other account from reading, and no revocation from being in effect within a second', async () => {
    const flooder = await running.newKey(await running.newAccount(), true);
    const victim = await running.newKey(await running.newAccount(), true);
    const toRevoke = (await running.call('POST', '/v1/api-keys', { key: victim, json: { scopes: ['sms:send'] } })).body;
    const raw = JSON.stringify({ numbers: Array.from({ length: 10_000 }, (_, at) => `+88017${10_000_000 + at}`) });
    const flood = new Map<string, number>();
    const beside = probe(running.postgres.applicationUrl);
    let left = 300;
    let isOver = false;
    const flooding = Promise.all(
      Array.from({ length: 64 }, async () => {
        while (left > 0) {
          left -= 1;
          const answer = outcome(await running.call('POST', '/v1/suppressions/import', { key: flooder, raw }));
          flood.set(answer, (flood.get(answer) ?? 0) + 1);
        }
      }),
    ).then(() => (isOver = true));

    const seen: string[] = [];
    const read = async () => seen.push(outcome(await running.call('GET', '/v1/account', { key: victim })));
    const reading = (async () => {
      while (!isOver) await read();
    })();
    await until('the flood has begun', () => flood.size > 0);
    const revoke = async () => {
      const answer = outcome(await running.call('DELETE', `/v1/api-keys/${toRevoke.id}`, { key: victim }));
      seen.push(answer);
      return answer === '200';
    };
    await until('the revocation is made', revoke);
    const isRefused = () => !running.directory.authenticate(toRevoke.key).ok;
    await until('the revocation is in effect', isRefused, within(1_000));
    await Promise.all([flooding, reading]);
    const slowestMs = await beside.slowestMs();
    // Only a machine on which the same read on a connection of its own takes a second may fail to reach its database.
    const excused = slowestMs > excusedAboveMs ? [databaseAway] : [];
    expect({ slowestMs, refused: seen.filter((each) => each !== '200' && !excused.includes(each)) }).toEqual({
      slowestMs,
      refused: [],
    });
    expect(seen.filter((each) => each === '200').length).toBeGreaterThan(3);
    // The flooder's own import may take longer than a statement may.
    const flooded = [...flood.keys()].filter((each) => each !== databaseAway);
    expect(new Set(flooded)).toEqual(new Set(['200', '429 account_busy']));
  });

  test('an account has its share of requests at work, and the next one is refused with that reason', async () => {
    const work = new SharedWork();
    const read = { method: 'get' } as const;
    const places = Array.from({ length: 8 }, () => work.enter('a', read));
    expect(places.every(({ ok }) => ok)).toBe(true);
    expect(work.enter('a', read)).toMatchObject({ problem: { status: 429, code: 'account_busy', retryAfterS: 1 } });
    expect(work.enter('b', read).ok).toBe(true);
    for (const place of places) if (place.ok) place.leave();
    expect(work.enter('a', read).ok).toBe(true);
  });

  test('what waits for another process has places of its own, as many, and takes none of the others', async () => {
    const work = new SharedWork();
    const waiting = { method: 'post', waitsForOthers: true } as const;
    const places = Array.from({ length: 8 }, () => work.enter('a', waiting));
    expect(places.every(({ ok }) => ok)).toBe(true);
    const refused = { problem: { status: 429, code: 'account_busy', retryAfterS: 1 } };
    expect(work.enter('a', waiting)).toMatchObject(refused);
    for (let times = 0; times < 8; times += 1) expect(work.enter('a', { method: 'delete' }).ok).toBe(true);
    expect(work.enter('a', { method: 'delete' })).toMatchObject(refused);
    for (const place of places) if (place.ok) place.leave();
    expect(work.enter('a', waiting).ok).toBe(true);
  });

  test('one import of an account and four of all may be at work; a refused one holds no place', async () => {
    const work = new SharedWork();
    const an = { method: 'post', isImport: true } as const;
    for (const account of ['a', 'b', 'c', 'd']) expect(work.enter(account, an).ok).toBe(true);
    expect(work.enter('a', an)).toMatchObject({ problem: { status: 429, code: 'account_busy' } });
    for (let times = 0; times < 100; times += 1) {
      expect(work.enter('e', an)).toMatchObject({ problem: { status: 503, code: 'overloaded' } });
    }
    expect(work.enter('e', { method: 'get' }).ok).toBe(true);
  });
});

describe('writes an hour', () => {
  test('are the share of an account at once and its rate afterwards; others have theirs; the total is for all', () => {
    const clock = new ManualClock();
    const rate = new WriteRate({ total: 25, perAccount: 10, reserve: 0 }, clock);
    for (let times = 0; times < 10; times += 1) expect(rate.refuse('a')).toBeNull();
    expect(rate.refuse('a')).toMatchObject({ status: 429, code: 'rate_limited', retryAfterS: 360 });
    for (let times = 0; times < 10; times += 1) expect(rate.refuse('b')).toBeNull();
    for (let times = 0; times < 5; times += 1) expect(rate.refuse('c')).toBeNull();
    expect(rate.refuse('c')).toMatchObject({ status: 503, code: 'overloaded' });
    clock.step(0);
    clock.advance(360_000);
    expect(rate.refuse('a')).toBeNull();
    expect(rate.refuse('a')).not.toBeNull();
  });

  test('over the API: the account is answered when, still reads and revokes its keys, and others write', async () => {
    const shares = { ...defaultShares, management_writes: { total: 100, perAccount: 4, reserve: 0 } };
    const running = await runApi([], shares);
    try {
      const ids: string[] = [];
      for (let at = 0; at < 4; at += 1) {
        const made = await running.call('POST', '/v1/api-keys', { json: { scopes: ['sms:send'] } });
        expect(made.status).toBe(201);
        ids.push(made.body.id);
      }
      const fifth = await running.call('POST', '/v1/senders', { json: { name: 'FIFTH' } });
      expect(refusal(fifth)).toMatchObject({ status: 429, code: 'rate_limited' });
      expect(Number(fifth.headers.get('retry-after'))).toBeGreaterThan(800);
      expect((await running.call('GET', '/v1/api-keys')).status).toBe(200);
      for (const id of ids) expect((await running.call('DELETE', `/v1/api-keys/${id}`)).status).toBe(200);
      expect((await running.call('POST', '/v1/senders', { json: { name: 'OTHER' }, key: running.other })).status).toBe(
        201,
      );
    } finally {
      await running.stop();
    }
  });
});

describe('turns of an account', () => {
  test('two writes run at a time, the rest in their order, and other accounts do not wait', async () => {
    const turns = new WriteTurns();
    const begun: string[] = [];
    const ends: (() => void)[] = [];
    const write = (account: string, name: string) =>
      turns.run(account, async () => {
        begun.push(name);
        await new Promise<void>((resolve) => ends.push(resolve));
      });
    const all = ['1', '2', '3', '4'].map((name) => write('a', name));
    all.push(write('b', 'b'));
    await until('three run', () => begun.length === 3);
    expect(begun).toEqual(['1', '2', 'b']);
    ends.shift()?.();
    await until('the third runs', () => begun.length === 4);
    expect(begun.at(-1)).toBe('3');
    for (let end = ends.shift(); begun.length < 5 || end !== undefined; end = ends.shift()) {
      end?.();
      await new Promise((resolve) => setImmediate(resolve));
    }
    await Promise.all(all);
  });

  test('a write whose turn does not come in time is refused and never run, while the earlier ones still run', async () => {
    const clock = new ManualClock();
    const turns = new WriteTurns(clock);
    const ends: (() => void)[] = [];
    const long = () => turns.run('a', () => new Promise<void>((resolve) => ends.push(resolve)));
    const first = [long(), long()];
    let ran = 0;
    const next = () =>
      turns.run('a', async () => {
        ran += 1;
        return 'done';
      });
    const late = next();
    await until('two run', () => ends.length === 2);
    clock.advance(limits.management.turnWaitMs - 1);
    const inTime = next();
    clock.advance(1);
    expect(await late).toBeNull();
    for (const end of ends) end();
    await Promise.all(first);
    expect(await inTime).toBe('done');
    expect(await next()).toBe('done');
    expect(ran).toBe(2);
    expect(clock.timers).toBe(0);
  });

  test('one that is refused says so, and that it was not made', async () => {
    const clock = new ManualClock();
    const work = new SharedWork(defaultShares, clock);
    const ends: (() => void)[] = [];
    const long = () => work.write('a', () => new Promise((resolve) => ends.push(() => resolve({ body: 'made' }))));
    const first = [long(), long()];
    const late = long();
    await until('two run', () => ends.length === 2);
    clock.advance(limits.management.turnWaitMs);
    expect(await late).toMatchObject({ problem: { status: 429, code: 'account_busy' } });
    for (const end of ends) end();
    expect(await Promise.all(first)).toEqual([{ body: 'made' }, { body: 'made' }]);
  });
});

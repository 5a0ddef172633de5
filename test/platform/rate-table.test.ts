// Rates: never more than configured in any interval, never less than configured from rest, counted over threads.
import { Worker } from 'node:worker_threads';
import { once } from 'node:events';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { paceOf, takeTurn } from '../../platform/gcra.ts';
import { limits } from '../../platform/limits.ts';
import { RateTable, newRateMemory } from '../../platform/rate-table.ts';

const secondUs = 1_000_000;

describe('one rate', () => {
  test('allows the whole burst from rest, then exactly one per interval', () => {
    const pace = paceOf(10, secondUs, 5);
    let arrival = 0;
    const ask = (nowUs: number) => {
      const verdict = takeTurn(pace, arrival, nowUs);
      arrival = verdict.arrivalUs;
      return verdict;
    };
    expect([5, 4, 3, 2, 1].map(() => ask(1_000).remaining)).toEqual([4, 3, 2, 1, 0]);
    expect(ask(1_000)).toMatchObject({ ok: false, retryUs: 100_000 });
    expect(ask(1_000 + 99_000).ok).toBe(false);
    expect(ask(1_000 + 100_000).ok).toBe(true);
    expect(ask(1_000 + 100_000).ok).toBe(false);
    expect(ask(1_000 + 10 * secondUs).remaining).toBe(4);
  });

  test('in any interval at most the burst and what the rate gives in it', () => {
    fc.assert(
      fc.property(
        fc.integer({ min: 1, max: 1_000 }),
        fc.integer({ min: 1, max: 50 }),
        fc.array(fc.nat(200_000), { minLength: 1, maxLength: 200 }),
        (perSecond, burst, gaps) => {
          const pace = paceOf(perSecond, secondUs, burst);
          let arrival = 0;
          let nowUs = secondUs;
          const allowedAt: number[] = [];
          for (const gap of gaps) {
            nowUs += gap;
            const verdict = takeTurn(pace, arrival, nowUs);
            arrival = Math.ceil(verdict.arrivalUs);
            if (verdict.ok) allowedAt.push(nowUs);
            expect(verdict.remaining).toBeLessThanOrEqual(burst);
          }
          for (let from = 0; from < allowedAt.length; from += 1) {
            const spanUs = (allowedAt.at(-1) as number) - (allowedAt[from] as number);
            expect(allowedAt.length - from).toBeLessThanOrEqual(burst + (spanUs * perSecond) / secondUs + 1e-2);
          }
        },
      ),
    );
  });

  test('a time far ahead, left by a slower rate, blocks for no longer than a burst', () => {
    const pace = paceOf(10, secondUs, 1);
    const refused = takeTurn(pace, 10_000 * secondUs, secondUs);
    expect(refused).toMatchObject({ ok: false, remaining: 0 });
    expect(refused.retryUs).toBeLessThanOrEqual(200_000);
    expect(takeTurn(pace, refused.arrivalUs, secondUs + refused.retryUs).ok).toBe(true);
  });

  test('a refusal changes no other state', () => {
    const pace = paceOf(10, secondUs, 5);
    const arrivalUs = secondUs + 450_000;
    expect(takeTurn(pace, arrivalUs, secondUs)).toMatchObject({ ok: false, arrivalUs });
  });
});

describe('the table', () => {
  test('keeps names apart; when it is full those without a place share one small rate', () => {
    const table = new RateTable(newRateMemory(17));
    const pace = paceOf(1, secondUs, 1);
    const { overflowPerSecond } = limits.access;
    const names = Array.from({ length: 16 + overflowPerSecond + 10 }, (_, at) => `name ${at}`);
    const verdicts = names.map((name) => table.take(name, pace, secondUs));
    expect(verdicts.filter((verdict) => verdict?.ok).length).toBe(16 + overflowPerSecond);
    expect(verdicts.slice(0, 16).every((verdict) => verdict?.ok)).toBe(true);
    expect(verdicts.slice(16 + overflowPerSecond).every((verdict) => verdict?.ok === false)).toBe(true);
    // Those that have a place are still limited by their own rate.
    expect(table.take('name 0', pace, secondUs)?.ok).toBe(false);
  });

  test.each(['take', 'look'] as const)('a limit that is raised after it was spent is in effect at once: %s', (ask) => {
    const table = new RateTable(newRateMemory(17));
    const [slow, fast] = [paceOf(7_200, 3_600 * secondUs, 7_200), paceOf(20_000, 600 * secondUs, 20_000)];
    table.spend('account', slow, secondUs, 7_200);
    expect(table[ask]('account', slow, secondUs)?.ok).toBe(false);
    const refused = table[ask]('account', fast, secondUs);
    expect(refused?.ok).toBe(false);
    const { retryUs = Number.NaN } = refused ?? {};
    expect(retryUs).toBeLessThanOrEqual(fast.intervalUs + 1);
    expect(table[ask]('account', fast, secondUs + retryUs + 1)?.ok).toBe(true);
  });

  test('a place is free again when its rate has recovered: names of revoked keys do not fill it', () => {
    const memory = newRateMemory(17);
    const [table, other] = [new RateTable(memory), new RateTable(memory)];
    const pace = paceOf(1, secondUs, 1);
    let nowUs = secondUs;
    for (let round = 0; round < 50; round += 1) {
      for (let at = 0; at < 16; at += 1) {
        const [one, two] = at % 2 === 0 ? [table, other] : [other, table];
        expect(one.take(`key ${round} ${at}`, pace, nowUs)?.ok).toBe(true);
        expect(two.take(`key ${round} ${at}`, pace, nowUs)?.ok).toBe(false);
      }
      nowUs += secondUs;
    }
    // A name that lost its place meanwhile gets another one with a full burst.
    expect(table.take('key 0 0', pace, nowUs)?.ok).toBe(true);
    expect(other.take('key 0 0', pace, nowUs)?.ok).toBe(false);
  });

  test.each([limits.access.placesRemembered, limits.otp.ratePlacesRemembered])(
    'a name has its rate still after more names than the %i a thread remembers',
    (places) => {
      const table = new RateTable(newRateMemory(1 + 4 * places), places);
      const pace = paceOf(1, secondUs, 1);
      const names = Array.from({ length: 2 * places }, (_, at) => `name ${at}`);
      const taken = () => names.filter((name) => table.take(name, pace, secondUs)?.ok).length;
      expect([taken(), taken()]).toEqual([names.length, 0]);
    },
  );

  test('says once within a time that a name is the first, to one of several threads', () => {
    const memory = newRateMemory(17);
    const tables = [new RateTable(memory), new RateTable(memory)];
    const isFirst = (name: string, nowUs: number) => tables.map((table) => table.isFirst(name, secondUs, nowUs));
    expect(isFirst('one', secondUs)).toEqual([true, false]);
    expect(isFirst('two', secondUs)).toEqual([true, false]);
    expect(isFirst('one', 2 * secondUs - 1)).toEqual([false, false]);
    expect(isFirst('one', 2 * secondUs)).toEqual([true, false]);
    // Names that are over give up their places; a full table knows no further ones.
    for (let at = 0; at < 16; at += 1) expect(isFirst(`later ${at}`, 4 * secondUs)).toEqual([true, false]);
    expect(isFirst('beyond', 4 * secondUs)).toEqual([true, true]);
    expect(isFirst('later 0', 5 * secondUs - 1)).toEqual([false, false]);
  });

  test('counts over threads: four of them together are allowed the burst and no more', async () => {
    const memory = newRateMemory(64);
    const workers = Array.from(
      { length: 4 },
      () => new Worker(new URL('./asking-thread.ts', import.meta.url), { workerData: memory }),
    );
    const allowed = await Promise.all(workers.map(async (worker) => Number((await once(worker, 'message'))[0])));
    expect(allowed.reduce((sum, each) => sum + each, 0)).toBe(500);
  });
});

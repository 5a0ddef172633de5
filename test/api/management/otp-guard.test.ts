// The guard against fraud over the real API: an account's lists, and the blocks that a person orders.
import { afterAll, beforeAll, describe, expect, test } from 'vitest';
import { openBucket } from '../../../cluster/bus/ensure.ts';
import { type StoredBlock, blocksOf, putBlock, releaseProbed } from '../../../cluster/bus/otp-guard-bucket.ts';
import { streamOfBucket } from '../../../cluster/bus/streams.ts';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { until } from '../../support/until.ts';
import { type RunningApi, refusal, runApi } from './support/running-api.ts';

let running: RunningApi;
beforeAll(async () => {
  running = await runApi();
});
afterAll(async () => running.stop());

describe('lists', () => {
  const change = (json: unknown) => running.call('PATCH', '/v1/otp-guard', { json });

  test('name each destination in which no number can be reached, and change nothing then', async () => {
    const wanted = ['+8', '+880', '+88017'];
    expect(await change({ destinations: wanted })).toMatchObject({ status: 200, body: { destinations: wanted } });
    const answer = await change({ destinations: ['+88018', '+39', '+881'], safe_list: ['+8801712345678', '+1202'] });
    expect(answer).toMatchObject({
      status: 422,
      body: {
        code: 'invalid_field',
        errors: [
          { field: 'destinations[1]' },
          { field: 'destinations[2]', detail: expect.stringContaining('+880') },
          { field: 'safe_list[1]' },
        ],
      },
    });
    expect((await running.call('GET', '/v1/otp-guard')).body).toMatchObject({ destinations: wanted, safe_list: [] });
    expect(await change({ destinations: null })).toMatchObject({ status: 200, body: { destinations: null } });
  });

  test('have an entry once, and each change says in the audit log what was added and removed', async () => {
    const account = await running.newAccount();
    const key = await running.newKey(account, true);
    const change = (json: unknown) => running.call('PATCH', '/v1/otp-guard', { json, key });
    const numbers = Array.from({ length: 52 }, (_, at) => `+8801712${at + 100_000}`);
    const wanted = ['+88017000', '+8801712345678'];
    expect((await change({ safe_list: [...wanted, '+88017000'] })).body).toMatchObject({ safe_list: wanted });
    await change({ safe_list: ['+880', '+8801712345678'], destinations: ['+880', '+880'] });
    // Nothing changes: an empty change, the same lists, and another order.
    for (const same of [{}, { destinations: ['+880'] }, { safe_list: ['+8801712345678', '+880'] }]) await change(same);
    await change({ safe_list: numbers, destinations: null });
    await change({ safe_list: [] });
    const found = await until('the last record', async () => {
      const query = `action=otp_guard.changed&target=${account}&limit=100`;
      const records: { detail: any }[] = (await running.call('GET', `/v1/audit?${query}`)).body.data;
      return records[0]?.detail.safe_list?.to === 0 && records.map(({ detail }) => detail).reverse();
    });
    expect(found).toEqual([
      { safe_list: { from: 0, to: 2, added: ['+88017000', '+880171234****'], removed: [], more: 0 } },
      {
        destinations: { from: null, to: 1, added: ['+880'], removed: [], more: 0 },
        safe_list: { from: 2, to: 2, added: ['+880'], removed: ['+88017000'], more: 0 },
      },
      {
        destinations: { from: 1, to: null, added: [], removed: ['+880'], more: 0 },
        safe_list: {
          ...{ from: 2, to: 52, removed: ['+880171234****', '+880'], more: 2 },
          added: numbers.slice(0, 50).map((number) => `${number.slice(0, 10)}****`),
        },
      },
      { safe_list: expect.objectContaining({ from: 52, to: 0, added: [], more: 2 }) },
    ]);
  });
});

describe('blocks', () => {
  const { blocksShare, ruleBlocksShare, forgottenAtOnce } = limits.otpGuard;
  const order = (prefix: string, key = running.live) =>
    running.call('POST', '/v1/otp-guard/blocks', { json: { prefix, minutes: 60 }, key });
  const prefixOf = (nth: number) => `+88017${String(nth).padStart(4, '0')}`;
  const blockOf = (nth: number, rule: StoredBlock['rule'], lastsMs = 600_000): StoredBlock => ({
    ...{ accountId: running.accountId, prefix: prefixOf(nth), rule, statistic: 12, threshold: 11.5, times: 1 },
    ...{ shadow: false, fromMs: systemClock.nowMs(), untilMs: systemClock.nowMs() + lastsMs, released: null, note: '' },
  });

  test('that a person orders take the place of those in effect, whichever is longer, with the note and the later end', async () => {
    const bucket = await openBucket(running.bus, 'otp_guard');
    const [prefix, fromMs] = ['+880188', systemClock.nowMs()];
    const ordered = async (minutes: number, note?: string) =>
      (await running.call('POST', '/v1/otp-guard/blocks', { json: { prefix, minutes, ...(note && { note }) } })).body;
    const untilMs = fromMs + 2 * 3_600_000;
    await putBlock(running.bus, bucket, { ...blockOf(0, 'conversion'), prefix, times: 3, fromMs, untilMs });
    const long = { prefix, rule: 'operator', statistic: 0, times: 3, until: new Date(untilMs).toISOString() };
    expect(await ordered(60, 'ticket 7')).toMatchObject({ ...long, note: 'ticket 7' });
    expect(await releaseProbed(bucket, { accountId: running.accountId, prefix }, fromMs + 1, fromMs + 1)).toBeNull();
    // A rule finds it again, and another order is without a note.
    expect(await putBlock(running.bus, bucket, { ...blockOf(0, 'conversion'), prefix })).toBe('unchanged');
    expect(await ordered(30)).toMatchObject({ ...long, note: 'ticket 7' });
    const longer = await ordered(180, 'ticket 8');
    expect(longer).toMatchObject({ ...long, until: expect.any(String), note: 'ticket 8' });
    expect(Date.parse(String(longer.until))).toBeGreaterThanOrEqual(fromMs + 180 * 60_000);
    const [listed] = (await running.call('GET', '/v1/otp-guard/blocks')).body.data;
    expect(listed).toEqual(longer);
    await running.call('POST', `/v1/otp-guard/blocks/${encodeURIComponent(prefix)}/release`);
    await running.bus.manager.streams.purge(streamOfBucket('otp_guard'));
  });

  test('are of the country that is served', async () => {
    const answer = await order('+1202');
    expect(refusal(answer)).toMatchObject({ status: 422, code: 'invalid_field' });
    expect(answer.body.errors).toEqual([
      { field: 'prefix', code: 'invalid_field', detail: expect.stringContaining('only numbers that begin with +880') },
    ]);
  });

  test('are listed in pages, newest first, each one once while others are added', async () => {
    const bucket = await openBucket(running.bus, 'otp_guard');
    const nowMs = systemClock.nowMs();
    const list = async (query: string) => (await running.call('GET', `/v1/otp-guard/blocks${query}`)).body;
    // Two of each prefix, a real one and one in shadow mode, four blocks in each millisecond.
    for (let at = 0; at < 24; at += 1) {
      const [shadow, nth] = [at % 2 === 1, Math.floor(at / 2)];
      const fromMs = nowMs - 60_000 - Math.floor(at / 4);
      await putBlock(running.bus, bucket, { ...blockOf(nth, 'conversion'), statistic: 14.120785495, shadow, fromMs });
    }
    const first = await list('?limit=7');
    expect(first.data[0]).toMatchObject({ prefix: prefixOf(0), statistic: 14.1, threshold: 11.5 });
    await putBlock(running.bus, bucket, blockOf(100, 'conversion'));
    const seen = [...first.data];
    for (let page = first; page.next_cursor !== null; seen.push(...page.data)) {
      page = await list(`?limit=7&cursor=${page.next_cursor}`);
      expect(page.data.length).toBeLessThanOrEqual(7);
    }
    const nameOf = ({ prefix, shadow }: { prefix: string; shadow: boolean }) => `${prefix} ${shadow}`;
    const expected = Array.from({ length: 24 }, (_, at) =>
      nameOf({ prefix: prefixOf(Math.floor(at / 2)), shadow: at % 2 === 1 }),
    );
    expect(seen.map(nameOf)).toEqual(expected);
    const usual = await list('');
    expect([usual.data.length, nameOf(usual.data[0])]).toEqual([20, `${prefixOf(100)} false`]);
    for (const query of ['?limit=0', '?limit=101', '?cursor=bm90aGluZw', '?page=2']) {
      expect(await running.call('GET', `/v1/otp-guard/blocks${query}`)).toMatchObject({ status: 422 });
    }
    await running.bus.manager.streams.purge(streamOfBucket('otp_guard'));
  });

  test('of one account take no more than its share, of which rules leave a part to people', async () => {
    const bucket = await openBucket(running.bus, 'otp_guard');
    const fill = (from: number, to: number, lastsMs?: (nth: number) => number) =>
      Promise.all(
        Array.from({ length: to - from }, (_, at) => {
          const block = blockOf(from + at, 'conversion', lastsMs?.(from + at));
          return bucket.put(`block.${block.accountId}.${block.prefix.slice(1)}`, JSON.stringify({ v: 1, ...block }));
        }),
      );
    await fill(0, ruleBlocksShare - 1);
    const put = (nth: number) => putBlock(running.bus, bucket, blockOf(nth, 'conversion'));
    expect(await put(ruleBlocksShare - 1)).toMatchObject({ prefix: prefixOf(ruleBlocksShare - 1) });
    expect(await put(ruleBlocksShare)).toBe('full');
    expect(await put(0)).toBe('unchanged');
    await fill(ruleBlocksShare, blocksShare - 1);
    expect((await order(prefixOf(blocksShare - 1))).status).toBe(201);
    const refused = await order(prefixOf(blocksShare));
    expect(refusal(refused)).toMatchObject({ status: 409, code: 'conflict' });
    expect(refused.body.detail).toContain(String(blocksShare));
    expect(await blocksOf(running.bus, running.accountId, systemClock.nowMs())).toHaveLength(blocksShare);
    // What it has can be changed, and another account has its own share.
    expect((await order(prefixOf(1))).body).toMatchObject({ prefix: prefixOf(1), rule: 'operator' });
    expect((await order(prefixOf(1), running.other)).status).toBe(201);
    // Those that have ended make room, the first ones first, for people and for rules.
    await fill(10, 10 + forgottenAtOnce + 2, (nth) => nth - 100_000);
    expect((await order(prefixOf(blocksShare))).status).toBe(201);
    const left = new Set(
      (await blocksOf(running.bus, running.accountId, systemClock.nowMs())).map(({ prefix }) => prefix),
    );
    expect(left.size).toBe(blocksShare - forgottenAtOnce + 1);
    const ended = Array.from({ length: forgottenAtOnce + 2 }, (_, at) => prefixOf(10 + at));
    expect(ended.filter((prefix) => left.has(prefix))).toEqual(ended.slice(forgottenAtOnce));
    expect(await put(blocksShare + 1)).toMatchObject({ prefix: prefixOf(blocksShare + 1) });
    expect(await put(blocksShare + 2)).toBe('full');
  });
});

// `heliograph erase` before anything is erased, and its receipt. What it removes: test/control/erasure.test.ts.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { receiptJson, receiptLines } from '../../cli/erase-receipt.ts';
import { erasureJobs, newErasure } from '../../cluster/bus/erasures.ts';
import { newAccountId } from '../../model/ids.ts';
import { type TestBus, startBus } from '../support/bus.ts';
import { runCliHere } from '../support/cli-here.ts';

let on: TestBus;
beforeAll(async () => {
  on = await startBus();
});
afterAll(() => on?.stop());

test('an account that does not exist is refused, and no erasure of it is kept', async () => {
  const nobody = newAccountId(1);
  const words = ['erase', '--number', '+8801712345678', '--account', nobody, '--yes'];
  const { code, stdout, stderr } = await runCliHere(words, { NATS_URL: on.nats.url });
  expect([code, stdout, stderr]).toEqual([1, '', `account_not_found: there is no account ${nobody}\n`]);
  expect(await erasureJobs(on.bus)).toEqual([]);
});

test('the receipt says what was looked at, removed and left', () => {
  const by = { name: 'operator', from: 'test' };
  const erasure = newErasure(0, { hash: '1', listKey: 2, place: 3, accountId: null, atMs: 0, by });
  const counts = { lookedAt: { SCHEDULED: 12, HOLDS: 0 }, removed: { SCHEDULED: 1, HOLDS: 0 }, left: { in_flight: 2 } };
  const linesOf = (removed: Record<string, number>) =>
    receiptLines(receiptJson(erasure, { finishedAtMs: 1, ...counts, removed }, null));
  expect(linesOf(counts.removed)).toEqual([
    `Erased  ${erasure.id}  of every account  what was accepted until 1970-01-01T00:00:00.000Z, done 1970-01-01T00:00:00.001Z`,
    'Looked at, beside the tables of ClickHouse and PostgreSQL:',
    '  SCHEDULED              12',
    'Removed:',
    '  SCHEDULED              1',
    'Left: in flight, it ends by itself and is looked for again; unreadable, see heliograph dead list',
    '  in_flight              2',
    'File of WEBHOOK_LOG: not rewritten',
    'Files of PostgreSQL: rewritten',
    expect.stringContaining('Keep the file "erasures"'),
  ]);
  expect(linesOf({ SCHEDULED: 0 })).toContain('  nothing was there');
});

// `otp-guard` as an operator runs it, against a real nats-server and no database.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { type StoredBlock, putBlock, readLists, releaseProbed } from '../../cluster/bus/otp-guard-bucket.ts';
import { auditNoteSubject } from '../../cluster/bus/subjects.ts';
import { streamNames } from '../../cluster/bus/streams.ts';
import { newAccountId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { type TestBus, recordsOf, startBus } from '../support/bus.ts';
import { runCliHere } from '../support/cli-here.ts';
import { runCli } from '../support/cli.ts';
import { putAccount } from '../support/webhooks.ts';

let on: TestBus;
beforeAll(async () => {
  on = await startBus();
});
afterAll(() => on?.stop());

const freshAccount = () => putAccount(on.bus);
const env = () => ({ NATS_URL: on.nats.url, DATABASE_URL: undefined });
const asProcess = (...words: string[]) => runCli(['otp-guard', ...words], env());
const cli = (...words: string[]) => runCliHere(['otp-guard', ...words], env());
const json = async (...words: string[]) => JSON.parse((await cli(...words, '--json')).stdout);

async function block(accountId: string, more: Partial<StoredBlock>): Promise<StoredBlock> {
  const fromMs = systemClock.nowMs();
  const about: StoredBlock = {
    ...{ accountId, prefix: '+880171234', rule: 'conversion', statistic: 11.8310785495, threshold: 11.5, times: 2 },
    ...{ shadow: false, fromMs, untilMs: fromMs + 600_000, released: null, note: '', ...more },
  };
  await putBlock(on.bus, await openBucket(on.bus, 'otp_guard'), about);
  return about;
}

test('blocks are a table and --json: those in effect, and on demand those that ended', async () => {
  const accountId = await freshAccount();
  expect((await cli('blocks', '--account', accountId)).stdout).toBe('no numbers are blocked\n');
  const now = systemClock.nowMs();
  await block(accountId, { prefix: '+88018', rule: 'operator', times: 0, fromMs: now - 3_000, note: 'ticket "7"' });
  await block(accountId, { prefix: '+880171299', shadow: true, fromMs: now - 2_000 });
  await block(accountId, { prefix: '+880171235', fromMs: now - 4_000 });
  const bucket = await openBucket(on.bus, 'otp_guard');
  await releaseProbed(bucket, { accountId, prefix: '+880171235' }, now, now);
  const { fromMs, untilMs } = await block(accountId, {});
  const second = (ms: number) => `${new Date(ms).toISOString().slice(0, 19)}Z`;
  const shown = (await asProcess('blocks', '--account', accountId)).stdout.split('\n');
  expect(shown).toEqual([
    expect.stringMatching(/^prefix {6}rule {8}figure {8}times {2}since .*state$/),
    `+880171234  conversion  11.8 of 11.5  2      ${second(fromMs)}  ${second(untilMs)}  in effect`,
    expect.stringMatching(/^\+880171299 {2}conversion {2}11.8 of 11.5 .* in effect, shadow$/),
    expect.stringMatching(/^\+88018 {6}operator {4}- {13}0 .* in effect {10}"ticket \\"7\\""$/),
    '1 that ended within a day: --ended',
    '',
  ]);
  const all = await json('blocks', '--account', accountId, '--ended');
  expect(all.data).toMatchObject([
    {
      object: 'otp_block',
      prefix: '+880171234',
      statistic: 11.8,
      times: 2,
      in_effect: true,
      until: new Date(untilMs).toISOString(),
    },
    { prefix: '+880171299', shadow: true },
    { prefix: '+88018', rule: 'operator', note: 'ticket "7"' },
    { prefix: '+880171235', in_effect: false, released: 'probe' },
  ]);
  expect((await json('blocks', '--account', accountId)).data).toHaveLength(3);
  expect((await cli('blocks', '--account', accountId, '--ended')).stdout).toMatch(
    /^\+880171235 .* released by probe$/m,
  );
});

test('a block is released, and no other prefix', async () => {
  const accountId = await freshAccount();
  await block(accountId, {});
  expect((await cli('release', '+8801712', '--account', accountId)).stderr).toContain('otp_block_not_found');
  const { stdout } = await cli('release', '+880171234', '--account', accountId);
  expect(stdout).toMatch(/^Released {2}\+880171234 {2}conversion {2}blocked since 20/);
  expect((await cli('release', '+880171234', '--account', accountId)).code).toBe(1);
  await block(accountId, {});
  expect(await json('release', '+880171234', '--account', accountId)).toMatchObject({
    ...{ object: 'otp_block', prefix: '+880171234', released: 'operator', in_effect: false },
  });
  expect((await json('blocks', '--account', accountId, '--ended')).data).toMatchObject([
    { released: 'operator' },
    { released: 'operator' },
  ]);
});

test('the safe list is shown, added to and removed from; what is wrong changes nothing', async () => {
  const accountId = await freshAccount();
  const safeList = (...words: string[]) => cli('safe-list', '--account', accountId, ...words);
  expect((await safeList()).stdout).toBe('the list is empty\n');
  expect((await safeList('--add', '+8801712345678, +88018,+88018')).stdout).toBe('+8801712345678\n+88018\n');
  const wanted = { object: 'otp_guard', destinations: null, safe_list: ['+88018', '+88019'] };
  expect(await json('safe-list', '--account', accountId, '--add', '+88019', '--remove', '+8801712345678')).toEqual(
    wanted,
  );
  for (const [words, sentence] of [
    [['--add', '88017'], 'found "88017", expected the first digits of numbers with the plus sign'],
    [['--add', '+88016,+1202'], 'no number of +1202 can be reached: only numbers that begin with +880 are served here'],
    [['--add', '+88016', '--remove', '+88017'], `--remove: +88017 is not on the safe list of ${accountId}`],
    [
      ['--add', Array.from({ length: limits.otpGuard.listMax }, (_, at) => `+88017${10_000 + at}`).join(',')],
      `--add: a safe list has at most ${limits.otpGuard.listMax} entries`,
    ],
  ] as const) {
    const { code, stderr } = await safeList(...words);
    expect({ code, stderr }).toEqual({ code: 1, stderr: expect.stringContaining(sentence) });
  }
  expect(await json('safe-list', '--account', accountId)).toEqual(wanted);
  expect(await readLists(await openBucket(on.bus, 'otp_guard'), accountId)).toMatchObject({
    safeList: wanted.safe_list,
  });
  expect((await cli('safe-list', '--account', 'nobody')).stderr).toContain('--account: found "nobody"');
});

test('an account that does not exist is named, and nothing is stored of it', async () => {
  const nobody = newAccountId(1_700_000_000_000);
  const found = `account_not_found: there is no account ${nobody}\n`;
  for (const words of [['blocks'], ['release', '+880171234'], ['safe-list'], ['safe-list', '--add', '+88017']]) {
    const { code, stdout, stderr } = await cli(...words, '--account', nobody);
    expect({ words, code, stdout, stderr }).toEqual({ words, code: 1, stdout: '', stderr: found });
  }
  expect((await readLists(await openBucket(on.bus, 'otp_guard'), nobody)).safeList).toEqual([]);
});

test('the audit log has what was added and removed, and nothing where nothing changes', async () => {
  const accountId = await freshAccount();
  const notes = async () =>
    (await recordsOf(on.bus, streamNames.orders, auditNoteSubject))
      .map(({ data }) => JSON.parse(Buffer.from(data).toString()))
      .filter(({ target }) => target === accountId)
      .map(({ detail }) => detail);
  const safeList = (...words: string[]) => cli('safe-list', '--account', accountId, ...words);
  await safeList('--add', '+88017000');
  await safeList('--add', '+88018', '--remove', '+88017000');
  await safeList('--add', '+88018');
  await safeList();
  expect(await notes()).toEqual([
    { safe_list: { from: 0, to: 1, added: ['+88017000'], removed: [], more: 0 } },
    { safe_list: { from: 1, to: 1, added: ['+88018'], removed: ['+88017000'], more: 0 } },
  ]);
});

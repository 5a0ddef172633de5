// `otp unlock` as an operator runs it, against a real nats-server and no database.
import { afterAll, beforeAll, expect, test } from 'vitest';
import { placingSecret } from '../../acceptance/idempotency/key-place.ts';
import { OtpStore } from '../../acceptance/otp/store.ts';
import { openBucket } from '../../cluster/bus/ensure.ts';
import { Publisher } from '../../cluster/bus/publisher.ts';
import { auditNoteSubject } from '../../cluster/bus/subjects.ts';
import { newAccountId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { type TestBus, recordsOf, startBus } from '../support/bus.ts';
import { runCliHere } from '../support/cli-here.ts';
import { runCli } from '../support/cli.ts';

const accountId = newAccountId(1_700_000_000_000);
const to = '+8801712345678';
let on: TestBus;
let publisher: Publisher;
let otps: OtpStore;
beforeAll(async () => {
  on = await startBus();
  publisher = new Publisher(on.bus, limits.otp.writes);
  await Promise.all([openBucket(on.bus, 'otp'), openBucket(on.bus, 'otp_failures')]);
  await (await openBucket(on.bus, 'directory')).put(`account.${accountId}`, '{}');
  otps = new OtpStore(on.bus, publisher, await placingSecret(on.bus));
});
afterAll(async () => {
  publisher?.close();
  await on?.stop();
});

const env = () => ({ NATS_URL: on.nats.url, DATABASE_URL: undefined });
const words = ['otp', 'unlock', to, '--account', accountId];
const cli = (...more: string[]) => runCliHere([...words, ...more], env());
const failedOf = async (livemode: boolean) => {
  const owner = { accountId, livemode };
  return (await otps.read(owner, otps.placeOf(owner, to)))?.failuresMs.length;
};

test('forgets the wrong guesses of one mode, says how many, and is an audit record with the number masked', async () => {
  const failuresMs = Array.from({ length: 20 }, (_, at) => systemClock.nowMs() - at);
  for (const livemode of [true, false]) {
    const owner = { accountId, livemode };
    await otps.keepFailures(owner, otps.placeOf(owner, to), failuresMs);
  }
  expect((await runCli(words, env())).stdout).toBe(`Unlocked  ${to}  wrong guesses forgotten: 20\n`);
  expect([await failedOf(true), await failedOf(false)]).toEqual([0, 20]);
  expect((await cli('--json', '--test')).stdout).toContain('"failed_guesses":20');
  expect(await failedOf(false)).toBe(0);
  expect((await cli()).stdout).toContain('forgotten: 0');
  const notes = (await recordsOf(on.bus, 'ORDERS', auditNoteSubject)).map(({ data }) =>
    JSON.parse(String(Buffer.from(data))),
  );
  expect(notes).toMatchObject([
    { action: 'otp.unlocked', target: `${accountId} +880171234****`, detail: { failed_guesses: 20, livemode: true } },
    { detail: { failed_guesses: 20, livemode: false } },
    { detail: { failed_guesses: 0, livemode: true } },
  ]);
  expect(JSON.stringify(notes)).not.toContain(to);
});

test('says what is wrong: an account that is not there, or no number', async () => {
  const other = newAccountId(1_700_000_000_001);
  const unknown = await runCliHere(['otp', 'unlock', to, '--account', other], env());
  expect([unknown.code, unknown.stderr]).toEqual([
    1,
    expect.stringContaining(`account_not_found: there is no account ${other}`),
  ]);
  const noNumber = await runCliHere(['otp', 'unlock', '01712', '--account', accountId], env());
  expect(noNumber.stderr).toContain('found "01712", expected a number in E.164 form');
});

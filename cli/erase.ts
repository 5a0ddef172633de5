// `erase --number +…`: has everything about a subscriber's number removed, waits for it, and prints the receipt. The
// control role does the work (control/erasure) and goes on when this command is ended. At the end the tables of
// PostgreSQL are written again as a whole, as their owner, because old versions of rows stay in their files otherwise.
import { sql } from 'kysely';
import { numberKey } from '../cluster/bus/installation-secret.ts';
import { type Erasure, erasureJobs, newErasure, orderErasure, readErasure } from '../cluster/bus/erasures.ts';
import { isE164 } from '../model/e164.ts';
import { NumberHashes } from '../model/number-hash.ts';
import { systemClock } from '../platform/clock.ts';
import { DeadlineExceeded, until } from '../platform/deadline.ts';
import { SetupError, messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { receiptJson, receiptLines } from './erase-receipt.ts';
import { assertKnown } from './known-accounts.ts';
import { operatorName } from './operator-name.ts';
import { accountIdOf } from './options.ts';
import type { Result } from './print.ts';
import { withStore } from './tenants.ts';
import { withBus } from './with-bus.ts';

type EraseOptions = { number: string; account?: string; yes?: boolean };

const askEveryMs = 500;

export async function eraseCommand({ number, account, yes = false }: EraseOptions): Promise<Result> {
  if (!isE164(number)) throw new SetupError('--number: expected a number in E.164 form, such as +8801712345678');
  const accountId = account === undefined ? null : accountIdOf(account, '--account');
  if (!yes) {
    const where = accountId === null ? 'every account has' : 'this account has';
    throw new SetupError(`erase removes what ${where} about the number for good: confirm with --yes`);
  }
  const { erasure, receipt } = await withBus(async (bus) => {
    if (accountId !== null) await assertKnown(bus, accountId);
    const jobs = await erasureJobs(bus);
    const running = jobs.find((job) => job.receipt === null);
    if (running !== undefined) throw new SetupError(`An erasure is at work (${running.id}): wait until it is done`);
    if (jobs.length >= limits.erasure.keptMax)
      throw new SetupError(`${jobs.length} erasures are kept, and no more fit`);
    const numbers = new NumberHashes(await numberKey(bus));
    const nowMs = systemClock.nowMs();
    const mark = numbers.markOf(number);
    const ordered = newErasure(nowMs, { ...mark, accountId, atMs: nowMs, by: operatorName() });
    await orderErasure(bus, ordered);
    const done = async () => (await readErasure(bus, ordered.id))?.receipt ?? null;
    const options = { limitMs: limits.erasure.deadlineMs, everyMs: askEveryMs };
    return { erasure: ordered, receipt: await until('the erasure', done, options).catch(goesOn(ordered)) };
  });
  const left = await rewriteTables();
  const json = receiptJson(erasure, receipt, left);
  return { json, lines: receiptLines(json) };
}

const goesOn =
  ({ id }: Erasure) =>
  (error: unknown): never => {
    if (!(error instanceof DeadlineExceeded)) throw error;
    throw new SetupError(`${id} is not done yet and goes on: heliograph audit --target ${id} shows its receipt then`);
  };

/** What is in the way; null: nothing. */
async function rewriteTables(): Promise<string | null> {
  try {
    const withinMs = limits.retention.mutationMs;
    await withStore((store) => sql`vacuum full suppressions`.execute(store.db), { withinMs, asOwner: true });
    await withStore((store) => sql`vacuum full subscriber_decisions`.execute(store.db), { withinMs, asOwner: true });
    return null;
  } catch (error) {
    return messageOf(error);
  }
}

// `erase --number +…`: has everything about a subscriber's number removed, waits for it, and prints the receipt. The
// control role does the work (control/erasure) and goes on when this command is ended. At the end the tables of
// PostgreSQL are written again as a whole, as their owner, because old versions of rows stay in their files otherwise.
import { sql } from 'kysely';
import { numberKey } from '../cluster/bus/installation-secret.ts';
import {
  type Erasure,
  type Receipt,
  erasureJobs,
  newErasure,
  orderErasure,
  readErasure,
} from '../cluster/bus/erasures.ts';
import { isE164 } from '../model/e164.ts';
import { isAccountId } from '../model/ids.ts';
import { NumberHashes } from '../model/number-hash.ts';
import { systemClock } from '../platform/clock.ts';
import { DeadlineExceeded, until } from '../platform/deadline.ts';
import { SetupError, messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import { operatorName } from './operator-name.ts';
import type { Result } from './print.ts';
import { withStore } from './tenants.ts';
import { withBus } from './with-bus.ts';

type EraseOptions = { number: string; account?: string; yes?: boolean };

const askEveryMs = 500;

export async function eraseCommand({ number, account, yes = false }: EraseOptions): Promise<Result> {
  if (!isE164(number)) throw new SetupError('--number: expected a number in E.164 form, such as +8801712345678');
  if (account !== undefined && !isAccountId(account)) {
    throw new SetupError(`--account: found "${account}", expected the id of an account: acc_…`);
  }
  if (!yes) {
    const where = account === undefined ? 'every account has' : 'this account has';
    throw new SetupError(`erase removes what ${where} about the number for good: confirm with --yes`);
  }
  const { erasure, receipt } = await withBus(async (bus) => {
    const jobs = await erasureJobs(bus);
    const running = jobs.find((job) => job.receipt === null);
    if (running !== undefined) throw new SetupError(`An erasure is at work (${running.id}): wait until it is done`);
    if (jobs.length >= limits.erasure.keptMax)
      throw new SetupError(`${jobs.length} erasures are kept, and no more fit`);
    const numbers = new NumberHashes(await numberKey(bus));
    const nowMs = systemClock.nowMs();
    const mark = numbers.markOf(number);
    const ordered = newErasure(nowMs, { ...mark, accountId: account ?? null, atMs: nowMs, by: operatorName() });
    await orderErasure(bus, ordered);
    const done = async () => (await readErasure(bus, ordered.id))?.receipt ?? null;
    const options = { limitMs: limits.erasure.deadlineMs, everyMs: askEveryMs };
    return { erasure: ordered, receipt: await until('the erasure', done, options).catch(goesOn(ordered)) };
  });
  const left = await rewriteTables();
  const json = receiptJson(erasure, receipt, left);
  return { json, lines: linesOf(json) };
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

function receiptJson({ id, accountId, atMs }: Erasure, receipt: Receipt, databaseLeft: string | null) {
  const { finishedAtMs, lookedAt, removed, left, webhookFile } = receipt;
  return {
    object: 'erasure',
    id,
    account: accountId,
    at: new Date(atMs).toISOString(),
    finished_at: new Date(finishedAtMs).toISOString(),
    looked_at: lookedAt,
    removed,
    left,
    webhook_file: webhookFile === undefined ? 'not rewritten' : webhookFileText(webhookFile),
    database_files: databaseLeft === null ? 'rewritten' : `not rewritten: ${databaseLeft}`,
  };
}

/** What is left of delivered events in the file of WEBHOOK_LOG. */
function webhookFileText({ result, restUntilMs }: NonNullable<Receipt['webhookFile']>): string {
  const done = result === 'rewritten' ? result : 'not rewritten: the stream is full';
  if (restUntilMs === null) return done;
  return `${done}; what was delivered beside very many waiting events is gone by ${new Date(restUntilMs).toISOString()}`;
}

function linesOf(json: ReturnType<typeof receiptJson>): string[] {
  const { id, account, at, finished_at: end, removed, left, webhook_file: webhookFile, database_files: files } = json;
  const counts = (of: Readonly<Record<string, number>>) => Object.entries(of).filter(([, count]) => count > 0);
  const list = (of: Readonly<Record<string, number>>) =>
    counts(of).map(([what, count]) => `  ${what.padEnd(22)} ${count}`);
  return [
    `Erased  ${id}  ${account ?? 'of every account'}  what was accepted until ${at}, done ${end}`,
    ...(counts(removed).length === 0 ? ['  nothing was there'] : list(removed)),
    ...(counts(left).length === 0
      ? []
      : [
          'Left: in flight, it ends by itself and is looked for again; unreadable, see heliograph dead list',
          ...list(left),
        ]),
    `File of WEBHOOK_LOG: ${webhookFile}`,
    `Files of PostgreSQL: ${files}`,
    'Keep the file "erasures" of the data folder when you restore a backup: what is in it is erased again at the start.',
  ];
}

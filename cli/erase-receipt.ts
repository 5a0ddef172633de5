// The receipt of an erasure, as an object and as lines. It names nothing by which the person could be found.
import type { Erasure, Receipt } from '../cluster/bus/erasures.ts';

export function receiptJson({ id, accountId, atMs }: Erasure, receipt: Receipt, databaseLeft: string | null) {
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

export function receiptLines(json: ReturnType<typeof receiptJson>): string[] {
  const { id, account, at, finished_at: end, webhook_file: webhookFile, database_files: files } = json;
  const { looked_at: lookedAt, removed, left } = json;
  const list = (of: Readonly<Record<string, number>>) =>
    Object.entries(of)
      .filter(([, count]) => count > 0)
      .map(([what, count]) => `  ${what.padEnd(22)} ${count}`);
  const [looked, gone, stays] = [list(lookedAt), list(removed), list(left)];
  return [
    `Erased  ${id}  ${account ?? 'of every account'}  what was accepted until ${at}, done ${end}`,
    'Looked at, beside the tables of ClickHouse and PostgreSQL:',
    ...(looked.length === 0 ? ['  no record was there'] : looked),
    'Removed:',
    ...(gone.length === 0 ? ['  nothing was there'] : gone),
    ...(stays.length === 0
      ? []
      : ['Left: in flight, it ends by itself and is looked for again; unreadable, see heliograph dead list', ...stays]),
    `File of WEBHOOK_LOG: ${webhookFile}`,
    `Files of PostgreSQL: ${files}`,
    'Keep the file "erasures" of the data folder when you restore a backup: what is in it is erased again at the start.',
  ];
}

/** What is left of delivered events in the file of WEBHOOK_LOG. */
function webhookFileText({ result, restUntilMs }: NonNullable<Receipt['webhookFile']>): string {
  const done = result === 'rewritten' ? result : 'not rewritten: the stream is full';
  if (restUntilMs === null) return done;
  return `${done}; what was delivered beside very many waiting events is gone by ${new Date(restUntilMs).toISOString()}`;
}

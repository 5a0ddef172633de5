// `audit`, `audit verify|partitions|detach`: the audit log in the database of the running system, newest first, and its
// hash chain.
import { SetupError, messageOf } from '../platform/errors.ts';
import { snakeFields } from '../platform/letter-case.ts';
import { auditActions } from '../control/store/audit-actions.ts';
import { type AuditRecord, auditRecordJson, listAuditRecords } from '../control/store/audit-log.ts';
import { type AuditPartition, auditPartitions, detachAuditPartition } from '../control/store/audit-partitions.ts';
import { type AuditHead, verifyAudit } from '../control/store/audit-verify.ts';
import { hasSqlState } from '../control/store/connection.ts';
import type { Store } from '../control/store/store.ts';
import { limitOf } from './options.ts';
import type { Result } from './print.ts';
import { withStore } from './tenants.ts';

type Options = { target?: string; action?: string; limit?: string };

export async function auditCommand({ target, action, limit: text }: Options): Promise<Result> {
  const limit = limitOf(text, 50, 1_000);
  const { items } = await withStore((store) => listAuditRecords(store, { limit, after: null, target, action }));
  const data = items.map(auditRecordJson);
  // Actions of other versions can be searched too.
  if (items.length === 0 && action !== undefined && !isAction(action)) {
    throw new SetupError(`--action: there is no action "${action}"; there are: ${auditActions.join(', ')}`);
  }
  return { json: { data }, lines: items.length === 0 ? ['nothing yet'] : items.map(recordLine) };
}

const isAction = (name: string) => auditActions.some((action) => action === name);

function recordLine({ atMs, actor, origin, action, target, detail }: AuditRecord): string {
  const from = origin === '' ? '' : ` (${origin})`;
  const { values, ...about } = detail;
  // Of a reload: each setting that changed is one of the details.
  const more = Object.entries({ ...about, ...(isObject(values) ? values : { values }) })
    .filter(([, value]) => value !== '' && value !== undefined)
    .map(([name, value]) => `${name}: ${detailText(value)}`);
  return [new Date(atMs).toISOString(), `${actor}${from}`, action, target, more.join(', ')].join('  ').trimEnd();
}

/** `from → to` of what was changed. */
function detailText(value: unknown): string {
  if (!isObject(value) || !('from' in value) || !('to' in value)) return shortText(value);
  const { from, to, ...others } = value;
  const more = Object.entries(others).map(([name, each]) => `, ${name} ${shortText(each)}`);
  return `${shortText(from)} → ${shortText(to)}${more.join('')}`;
}

const shortText = (value: unknown) => (typeof value === 'string' ? value : JSON.stringify(value));
const isObject = (value: unknown): value is Record<string, unknown> => typeof value === 'object' && value !== null;

/** At some 50,000 rows a second, 100 million take half an hour. */
const verifiedWithinMs = 3_600_000;

/** Exit code 1 when the chain is broken. */
export async function verifyCommand(options: { expect?: string }): Promise<Result> {
  const expected = headsOf(options.expect);
  const verdict = await withStore((store) => verifyAudit(store, expected), { withinMs: verifiedWithinMs });
  if (!verdict.ok) {
    const { brokenAt, why } = verdict;
    return {
      json: { object: 'audit_verification', ok: false, broken_at: brokenAt, why },
      lines: [`Broken  at row ${brokenAt}: ${why}`],
      exitCode: 1,
    };
  }
  const { rows, first, head } = verdict;
  return {
    json: { object: 'audit_verification', ok: true, rows, first_row: first, head: `${head.seq}:${head.hash}` },
    lines: [
      `Sound  ${rows} rows${first === null ? '' : `, from row ${first}`}`,
      `Head   ${head.seq}:${head.hash}`,
      'Keep the head on another machine: audit verify --expect detects a rewritten chain.',
    ],
  };
}

export async function partitionsCommand(): Promise<Result> {
  const partitions = await withStore(auditPartitions);
  return { json: { data: partitions.map(partitionJson) }, lines: partitions.map(partitionLine) };
}

export async function detachCommand(month: string): Promise<Result> {
  const detach = async (store: Store) => {
    try {
      return await detachAuditPartition(store, month);
    } catch (error) {
      if (!hasSqlState(error, 'insufficientPrivilege')) throw error;
      throw new SetupError(
        `Only the owner of the tables may do this: set DATABASE_OWNER_URL to that role (${messageOf(error)})`,
      );
    }
  };
  const done = await withStore(detach, { asOwner: true });
  if (!done.ok) throw new SetupError(`${done.code}: ${whyNot[done.code]}`);
  const { table } = done.partition;
  return {
    json: { ...partitionJson(done.partition), detached: true },
    lines: [
      `Detached  ${partitionLine(done.partition)}`,
      `Keep it, then drop it: pg_dump --table ${table} …; drop table ${table}`,
    ],
  };
}

const whyNot = {
  no_such_month: 'see audit partitions',
  not_the_oldest:
    'only the oldest month can be detached, so that the remaining chain is unbroken: see audit partitions',
  still_written: 'records of this month are still being written',
} as const;

function headsOf(text: string | undefined): AuditHead[] {
  return (text ?? '').split(',').flatMap((each) => {
    if (each.trim() === '') return [];
    const found = /^([1-9]\d{0,14}):([0-9a-f]{64})$/.exec(each.trim());
    if (found === null)
      throw new SetupError(
        `--expect: found "${each}", expected row:hash as audit verify prints its head, with all 64 digits of the hash`,
      );
    return { seq: Number(found[1]), hash: found[2] ?? '' };
  });
}

const partitionJson = (partition: AuditPartition) => ({ object: 'audit_partition', ...snakeFields(partition) });

const partitionLine = ({ month, table, rows, firstRow, lastRow, bytes }: AuditPartition) =>
  `${month}  ${table}  ${rows} rows${firstRow === null ? '' : ` (${firstRow} to ${lastRow})`}  ${Math.ceil(bytes / 1_024)} KiB`;

// `audit`: the audit log of the running system's database, newest first.
import { SetupError } from '../platform/errors.ts';
import { auditActions } from '../control/store/audit-actions.ts';
import { type AuditRecord, listAuditRecords } from '../control/store/audit-log.ts';
import { wholeNumber } from './options.ts';
import type { Result } from './print.ts';
import { withStore } from './tenants.ts';

const limitDefault = 50;
const limitMax = 1_000;

type Options = { target?: string; action?: string; limit?: string };

export async function auditCommand({ target, action, limit: text }: Options): Promise<Result> {
  const limit = text === undefined ? limitDefault : wholeNumber('--limit', text, 1, limitMax);
  const { items } = await withStore((store) => listAuditRecords(store, { limit, after: null, target, action }));
  const data = items.map(({ atMs, accountId, actor, origin, action: what, target: of, detail }) => ({
    at: new Date(atMs).toISOString(),
    object: 'audit_record',
    actor,
    from: origin,
    action: what,
    target: of,
    account: accountId,
    detail,
  }));
  // Actions of another version are found too.
  if (items.length === 0 && action !== undefined && !isAction(action)) {
    throw new SetupError(`--action: there is no action "${action}"; there are: ${auditActions.join(', ')}`);
  }
  return { json: { data }, lines: items.length === 0 ? ['nothing yet'] : items.map(lineOf) };
}

const isAction = (name: string) => auditActions.some((action) => action === name);

function lineOf({ atMs, actor, origin, action, target, detail }: AuditRecord): string {
  const from = origin === '' ? '' : ` (${origin})`;
  const more = Object.entries(detail)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return [new Date(atMs).toISOString(), `${actor}${from}`, action, target, more.join(', ')].join('  ').trimEnd();
}

// `audit`: the audit log of the running system's database, newest first.
import { SetupError } from '../platform/errors.ts';
import { auditActions } from '../control/store/audit-actions.ts';
import { type AuditRecord, listAuditRecords } from '../control/store/audit-log.ts';
import { print } from './print.ts';
import { withStore } from './tenants.ts';

export type AuditOptions = {
  readonly target?: string;
  readonly action?: string;
  readonly limit?: string;
  readonly json?: boolean;
};

const limitDefault = 50;
const limitMax = 1_000;

export async function auditCommand(options: AuditOptions): Promise<void> {
  const limit =
    options.limit === undefined ? limitDefault : /^\d{1,4}$/.test(options.limit) ? Number(options.limit) : 0;
  if (limit < 1 || limit > limitMax) {
    throw new SetupError(`--limit: found "${options.limit}", expected a whole number from 1 to ${limitMax}`);
  }
  const { target, action } = options;
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
  print(options, { data }, items.length === 0 ? ['nothing yet'] : items.map(lineOf));
}

const isAction = (name: string) => auditActions.some((action) => action === name);

function lineOf({ atMs, actor, origin, action, target, detail }: AuditRecord): string {
  const from = origin === '' ? '' : ` (${origin})`;
  const more = Object.entries(detail)
    .filter(([, value]) => value !== '')
    .map(([name, value]) => `${name}: ${typeof value === 'string' ? value : JSON.stringify(value)}`);
  return [new Date(atMs).toISOString(), `${actor}${from}`, action, target, more.join(', ')].join('  ').trimEnd();
}

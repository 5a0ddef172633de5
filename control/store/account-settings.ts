// Settings of an account, set by itself or the operator: networks, rates, texts. The caller validates values; here they
// are stored, audited and written to the outbox.
import type { Selectable } from 'kysely';
import type { AccountId } from '../../model/ids.ts';
import { snakeFields, camelFields } from '../../platform/letter-case.ts';
import { changeOfAccount } from './accounts.ts';
import { listChange } from './list-change.ts';
import { rateColumns, rateOf, type AccountsTable } from './schema.ts';
import { type Actor, type Store, changesOf, given, record, transaction } from './store.ts';

export type AccountSettings = ReturnType<typeof settingsOf>;

const columns = [
  ...(['ip_allowlist', 'require_template', 'content_words', 'links_denied', 'links_allowed'] as const),
  ...(['rate_per_second', 'rate_burst', 'idempotency_keys_per_hour', 'weight', 'otp_short_codes'] as const),
  ...(['resend_unknown', 'keep_inbound_text', 'help_text'] as const),
];

export async function readAccountSettings(store: Store, id: AccountId): Promise<AccountSettings | null> {
  const row = await store.db.selectFrom('accounts').select(columns).where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : settingsOf(row);
}

/** Changes the given settings only; undefined ones stay as they are. Null when there is no such account. */
export async function changeAccountSettings(
  store: Store,
  id: AccountId,
  change: Partial<AccountSettings>,
  actor: Actor = store.actor,
): Promise<AccountSettings | null> {
  const { rate, ...others } = change;
  const changed = given({ ...snakeFields(others), ...(rate === undefined ? {} : rateColumns(rate)) });
  if (Object.keys(changed).length === 0) return readAccountSettings(store, id);
  return transaction(store, async (tx) => {
    const before = await tx.selectFrom('accounts').select(columns).where('id', '=', id).forUpdate().executeTakeFirst();
    if (before === undefined) return null;
    const row = await tx
      .updateTable('accounts')
      .set(changed)
      .where('id', '=', id)
      .returning(columns)
      .executeTakeFirstOrThrow();
    const detail = auditedChanges(settingsOf(before), settingsOf(row));
    await record(store, tx, { ...changeOfAccount(id, actor, 'account.changed'), detail });
    return settingsOf(row);
  });
}

/** Content rules may be long lists: of the added and removed entries the first ones are recorded. */
function auditedChanges(before: AccountSettings, after: AccountSettings): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(changesOf(before, after)).map(([name, { from, to }]) =>
      contentLists.includes(name)
        ? [name, listChange(from as readonly string[], to as readonly string[])]
        : [name, { from, to }],
    ),
  );
}

const contentLists: readonly string[] = [
  'contentWords',
  'linksDenied',
  'linksAllowed',
] satisfies (keyof AccountSettings)[];

function settingsOf(row: Pick<Selectable<AccountsTable>, (typeof columns)[number]>) {
  const { ratePerSecond: _, rateBurst: __, ...settings } = camelFields(row);
  return { ...settings, rate: rateOf(row) };
}

// Settings of an account, set by itself or the operator: networks, rates, texts. The caller validates values; here they
// are stored, audited and written to the outbox.
import type { Selectable } from 'kysely';
import type { AccountId } from '../../model/ids.ts';
import type { Category } from '../../model/message.ts';
import { limits } from '../../platform/limits.ts';
import type { Rate } from '../../directory/contract.ts';
import { rateColumns, rateOf, type AccountsTable } from './schema.ts';
import { type Actor, type Store, changesOf, given, record, transaction } from './store.ts';

export type AccountSettings = {
  readonly ipAllowlist: readonly string[];
  readonly requireTemplate: readonly Category[];
  readonly contentWords: readonly string[];
  readonly linksDenied: readonly string[];
  readonly linksAllowed: readonly string[];
  /** Null: no limit. */
  readonly rate: Rate | null;
  /** Null: the default of the installation. */
  readonly idempotencyKeysPerHour: number | null;
  /** Categories whose messages are resent when it is unknown whether the carrier took them. */
  readonly resendUnknown: readonly Category[];
  /** Whether the event store keeps the sealed texts of subscribers. */
  readonly keepInboundText: boolean;
  /** Whether its one-time passwords may have four or five digits: the operator decides. */
  readonly otpShortCodes: boolean;
  /** The account's own reply to HELP; null: the country's. */
  readonly helpText: string | null;
  /** Its weight in a carrier's lane beside other waiting accounts, 1 to 100. */
  readonly weight: number;
};

export async function readAccountSettings(store: Store, id: AccountId): Promise<AccountSettings | null> {
  const row = await store.db.selectFrom('accounts').selectAll().where('id', '=', id).executeTakeFirst();
  return row === undefined ? null : settingsOf(row);
}

/** Changes the given settings only. Null when there is no such account. */
export async function changeAccountSettings(
  store: Store,
  id: AccountId,
  change: Partial<AccountSettings>,
  actor: Actor = store.actor,
): Promise<AccountSettings | null> {
  const columns = given({
    ip_allowlist: change.ipAllowlist?.slice(),
    require_template: change.requireTemplate?.slice(),
    content_words: change.contentWords?.slice(),
    links_denied: change.linksDenied?.slice(),
    links_allowed: change.linksAllowed?.slice(),
    ...(change.rate === undefined ? {} : rateColumns(change.rate)),
    idempotency_keys_per_hour: change.idempotencyKeysPerHour,
    resend_unknown: change.resendUnknown?.slice(),
    keep_inbound_text: change.keepInboundText,
    otp_short_codes: change.otpShortCodes,
    help_text: change.helpText,
    weight: change.weight,
  });
  if (Object.keys(columns).length === 0) return readAccountSettings(store, id);
  return transaction(store, async (tx) => {
    const before = await tx.selectFrom('accounts').selectAll().where('id', '=', id).forUpdate().executeTakeFirst();
    if (before === undefined) return null;
    const row = await tx
      .updateTable('accounts')
      .set(columns)
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    await record(store, tx, {
      accountId: id,
      actor,
      action: 'account.changed',
      target: id,
      detail: auditedChanges(settingsOf(before), settingsOf(row)),
      outbox: { entity: 'account', entityId: id },
    });
    return settingsOf(row);
  });
}

/** Content rules may be long lists: of the added and removed entries the first ones are recorded. */
function auditedChanges(before: AccountSettings, after: AccountSettings): Record<string, unknown> {
  return Object.fromEntries(
    Object.entries(changesOf(before, after)).map(([name, { from, to }]) =>
      isContentList(name)
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
const isContentList = (name: string) => contentLists.includes(name);

function listChange(from: readonly string[], to: readonly string[]) {
  const [was, is] = [new Set(from), new Set(to)];
  const added = to.filter((each) => !was.has(each));
  const removed = from.filter((each) => !is.has(each));
  const { listedMax } = limits.auditLog;
  return {
    from: from.length,
    to: to.length,
    added: added.slice(0, listedMax),
    removed: removed.slice(0, listedMax),
    more: Math.max(0, added.length - listedMax) + Math.max(0, removed.length - listedMax),
  };
}

function settingsOf(row: Selectable<AccountsTable>): AccountSettings {
  return {
    ipAllowlist: row.ip_allowlist,
    requireTemplate: row.require_template,
    contentWords: row.content_words,
    linksDenied: row.links_denied,
    linksAllowed: row.links_allowed,
    rate: rateOf(row),
    idempotencyKeysPerHour: row.idempotency_keys_per_hour,
    resendUnknown: row.resend_unknown,
    keepInboundText: row.keep_inbound_text,
    otpShortCodes: row.otp_short_codes,
    helpText: row.help_text,
    weight: row.weight,
  };
}

// Where the entries of the directory come from: for each kind of entity the rows of the database, as they are now. How
// an entry is written is in directory/tenant-entities.ts.
import { type Kysely, sql } from 'kysely';
import type { AccountId, TemplateId, WebhookEndpointId } from '../../model/ids.ts';
import type { Category } from '../../model/message.ts';
import type { TemplateVariableEntry } from '../../directory/contract.ts';
import { type EntityKind, type TenantEntities, entityKinds, tenantEntities } from '../../directory/tenant-entities.ts';
import { camelFields } from '../../platform/letter-case.ts';
import { rateOf, type Tables } from '../store/schema.ts';
import type { Store } from '../store/store.ts';
import { endpointOf } from '../store/webhook-endpoints.ts';

/** `ids`: as the outbox has them, or null for all. An entity that is not in the answer does not exist. */
type Source<Entry> = (reader: Kysely<Tables>, ids: readonly string[] | null) => Promise<readonly Entry[]>;

const sources: { readonly [Kind in EntityKind]: Source<TenantEntities[Kind]> } = {
  account: readAccounts,
  key: readKeys,
  template: readTemplates,
  webhook: readWebhooks,
};

/** The entries of these entities (null: all), by name, in the order in which they are to be written. */
export async function readEntries(
  reader: Kysely<Tables>,
  idsOf: (kind: EntityKind) => readonly string[] | null,
): Promise<Map<string, string>> {
  const desired = new Map<string, string>();
  for (const kind of entityKinds) {
    const ids = idsOf(kind);
    if (ids?.length !== 0) await readKind(kind, reader, ids, desired);
  }
  return desired;
}

/** Every entry, in one snapshot. */
export function readAllEntries({ db }: Store): Promise<Map<string, string>> {
  const snapshot = db.transaction().setIsolationLevel('repeatable read');
  return snapshot.execute((tx) => readEntries(tx, () => null));
}

async function readKind<Kind extends EntityKind>(
  kind: Kind,
  reader: Kysely<Tables>,
  ids: readonly string[] | null,
  desired: Map<string, string>,
): Promise<void> {
  const { nameOf, idOf, encode } = tenantEntities[kind];
  for (const entry of await sources[kind](reader, ids)) desired.set(nameOf(idOf(entry)), encode(entry));
}

async function readAccounts(
  reader: Kysely<Tables>,
  ids: readonly string[] | null,
): Promise<TenantEntities['account'][]> {
  let query = reader
    .selectFrom('accounts')
    .leftJoin('senders', (join) =>
      join.onRef('senders.account_id', '=', 'accounts.id').on('senders.status', '=', 'approved'),
    )
    .groupBy('accounts.id')
    .selectAll('accounts')
    .select([
      sql<string[]>`coalesce(array_agg(senders.name) filter (where senders.name is not null), '{}')`.as('senders'),
      sql<Record<string, Category[]> | null>`jsonb_object_agg(senders.name, to_jsonb(senders.categories))
        filter (where senders.categories is not null)`.as('sender_categories'),
    ]);
  if (ids !== null) query = query.where('accounts.id', 'in', ids as AccountId[]);
  return (await query.execute()).map((row) => {
    const content = { words: row.content_words, linksDenied: row.links_denied, linksAllowed: row.links_allowed };
    return {
      ...camelFields(row),
      v: 1,
      accountId: row.id,
      senderCategories: row.sender_categories ?? {},
      networks: row.ip_allowlist,
      rate: rateOf(row),
      content: Object.values(content).every((list) => list.length === 0) ? null : content,
    };
  });
}

/** Keys that are not revoked. Expired ones are included: the reader of the directory checks the time. */
async function readKeys(reader: Kysely<Tables>, publicIds: readonly string[] | null): Promise<TenantEntities['key'][]> {
  let query = reader
    .selectFrom('api_keys')
    .select(['id', 'account_id', 'public_id', 'secret_hash', 'livemode', 'scopes', 'expires_at'])
    .select(['ip_allowlist', 'rate_per_second', 'rate_burst'])
    .where('revoked_at', 'is', null);
  if (publicIds !== null) query = query.where('public_id', 'in', [...publicIds]);
  return (await query.execute()).map((row) => ({
    ...camelFields(row),
    v: 1,
    keyId: row.id,
    secretHash: row.secret_hash.toString('base64url'),
    networks: row.ip_allowlist,
    rate: rateOf(row),
  }));
}

/** Approved templates. The outbox has their ids behind that of their account. */
async function readTemplates(
  reader: Kysely<Tables>,
  ids: readonly string[] | null,
): Promise<TenantEntities['template'][]> {
  let query = reader
    .selectFrom('templates')
    .select(['id', 'account_id', 'category', 'body', 'variables'])
    .where('status', '=', 'approved');
  if (ids !== null) query = query.where('id', 'in', ids.map((of) => of.slice(of.indexOf('.') + 1)) as TemplateId[]);
  return (await query.execute()).map((row) => ({
    ...camelFields(row),
    v: 1,
    templateId: row.id,
    // Their types were checked when the template was made.
    variables: row.variables as readonly TemplateVariableEntry[],
  }));
}

/** Every endpoint, disabled ones too. The outbox has their ids behind that of their account. */
async function readWebhooks(
  reader: Kysely<Tables>,
  ids: readonly string[] | null,
): Promise<TenantEntities['webhook'][]> {
  let query = reader.selectFrom('webhook_endpoints').selectAll();
  if (ids !== null) {
    query = query.where('id', 'in', ids.map((of) => of.slice(of.indexOf('.') + 1)) as WebhookEndpointId[]);
  }
  return (await query.execute()).map((row) => ({ v: 1, ...endpointOf(row) }));
}

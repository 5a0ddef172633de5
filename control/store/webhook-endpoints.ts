// Webhook endpoints of accounts. Their secrets are sealed before they are stored. A disabled endpoint keeps its place
// in the directory: what happens meanwhile is kept for it, to be sent when it is enabled again.
import type { Kysely, Selectable } from 'kysely';
import { type AccountId, type WebhookEndpointId, newWebhookEndpointId } from '../../model/ids.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { WebhookDisabledReason, WebhookEndpoint } from '../../model/webhook-endpoint.ts';
import {
  type WebhookSecret,
  newWebhookSecret,
  openWebhookSecrets,
  sealWebhookSecrets,
  signingSecrets,
} from '../../model/webhook-secrets.ts';
import { ignoring } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import type { AuditAction } from './audit-actions.ts';
import { type Page, type PageRequest, readPage } from './page.ts';
import { snakeFields, camelFields } from '../../platform/letter-case.ts';
import type { Tables, WebhookEndpointsTable } from './schema.ts';
import { type Actor, type Store, changesOf, lockAccount, record, transaction } from './store.ts';

export type StoredWebhook = WebhookEndpoint & { readonly disabledAtMs: number | null };

type Asked = { readonly accountId: AccountId; readonly livemode: boolean; readonly actor: Actor };

export type WebhookSettings = Pick<WebhookEndpoint, 'url' | 'events' | 'ordering' | 'batch' | 'description'>;

/** An endpoint with its newest secret, which nothing shows again. */
type Shown = { readonly ok: true; readonly webhook: StoredWebhook; readonly secret: string };
type Refused<Code> = { readonly ok: false; readonly code: Code };

export async function createWebhook(
  store: Store,
  cipher: BodyCipher,
  { accountId, livemode, actor }: Asked,
  settings: WebhookSettings,
): Promise<Shown | Refused<'account_not_found' | 'too_many_webhooks'>> {
  return transaction(store, async (tx) => {
    if (!(await lockAccount(tx, accountId))) return { ok: false, code: 'account_not_found' };
    const existing = await tx
      .selectFrom('webhook_endpoints')
      .select(({ fn }) => fn.countAll<string>().as('count'))
      .where('account_id', '=', accountId)
      .executeTakeFirstOrThrow();
    if (Number(existing.count) >= limits.webhooks.perAccountMax) return { ok: false, code: 'too_many_webhooks' };
    const nowMs = store.clock.nowMs();
    const id = newWebhookEndpointId(nowMs);
    const secret = newWebhookSecret();
    const row = await tx
      .insertInto('webhook_endpoints')
      .values({
        ...snakeFields({ id, accountId, livemode, createdAtMs: nowMs }),
        ...settingColumns(settings),
        sealed_secrets: sealWebhookSecrets([{ secret, untilMs: null }], id, cipher),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await record(store, tx, { ...changeOf(row, actor, 'webhook.created'), detail: { livemode, ...settings } });
    return { ok: true, webhook: endpointOf(row), secret };
  });
}

/** A change of settings, of the status, or both; what is not given stays. Null when the account has no such endpoint. */
export async function changeWebhook(
  store: Store,
  id: WebhookEndpointId,
  asked: Asked,
  change: Partial<WebhookSettings> & { readonly status?: WebhookEndpoint['status'] },
): Promise<StoredWebhook | null> {
  return transaction(store, async (tx) => {
    const before = await ownEndpoint(tx, id, asked).forUpdate().executeTakeFirst();
    if (before === undefined) return null;
    const { status, ...settings } = change;
    const wasEnabled = before.disabled_reason === null;
    const isEnabled = status === undefined ? wasEnabled : status === 'enabled';
    const row = await changedEndpoint(tx, id)
      .set(settingColumns({ ...endpointOf(before), ...settings }))
      .$if(wasEnabled !== isEnabled, (query) => query.set(disabledColumns(isEnabled ? null : 'client', store)))
      .executeTakeFirstOrThrow();
    const detail = changesOf(settingsOf(before), settingsOf(row));
    if (Object.keys(detail).length > 0)
      await record(store, tx, { ...changeOf(row, asked.actor, 'webhook.changed'), detail });
    if (wasEnabled !== isEnabled) {
      const action = isEnabled ? 'webhook.enabled' : 'webhook.disabled';
      await record(store, tx, { ...changeOf(row, asked.actor, action), detail: { reason: row.disabled_reason } });
    }
    return endpointOf(row);
  });
}

/**
 * The data plane disables what failed too long. False when it is disabled already, was enabled again since (`enabledAtMs`,
 * as the data plane knows it), or does not exist any more.
 */
export async function disableWebhook(
  store: Store,
  id: WebhookEndpointId,
  reason: Exclude<WebhookDisabledReason, 'client'>,
  enabledAtMs: number | null,
): Promise<boolean> {
  return transaction(store, async (tx) => {
    const row = await changedEndpoint(tx, id)
      .set(disabledColumns(reason, store))
      .where('disabled_reason', 'is', null)
      .where('enabled_at', 'is not distinct from', enabledAtMs === null ? null : new Date(enabledAtMs))
      .executeTakeFirst();
    if (row === undefined) return false;
    await record(store, tx, { ...changeOf(row, store.actor, 'webhook.disabled'), detail: { reason } });
    return true;
  });
}

/**
 * A new secret; those before it sign for `overlapMs` more, beside it. Refused while `secretsMax` secrets would sign then,
 * because a receiver would have to try them all.
 */
export async function rotateWebhookSecret(
  store: Store,
  cipher: BodyCipher,
  id: WebhookEndpointId,
  { overlapMs, ...asked }: Asked & { readonly overlapMs: number },
): Promise<(Shown & { readonly previousEndAtMs: number }) | Refused<'not_found' | 'too_many_secrets'>> {
  return transaction(store, async (tx) => {
    const before = await ownEndpoint(tx, id, asked).forUpdate().executeTakeFirst();
    if (before === undefined) return { ok: false, code: 'not_found' };
    const nowMs = store.clock.nowMs();
    const secret = newWebhookSecret();
    const secrets = rotated(secretsOf(endpointOf(before), cipher), secret, { nowMs, overlapMs });
    if (secrets.length > limits.webhooks.secretsMax) return { ok: false, code: 'too_many_secrets' };
    const sealed = { sealed_secrets: sealWebhookSecrets(secrets, id, cipher) };
    const row = await changedEndpoint(tx, id).set(sealed).executeTakeFirstOrThrow();
    const detail = { overlap_seconds: overlapMs / 1_000 };
    await record(store, tx, { ...changeOf(row, asked.actor, 'webhook.secret_rotated'), detail });
    return { ok: true, webhook: endpointOf(row), secret, previousEndAtMs: nowMs + overlapMs };
  });
}

/** None when the body key that sealed them is gone: rotating is what helps then. */
function secretsOf(endpoint: WebhookEndpoint, cipher: BodyCipher): readonly WebhookSecret[] {
  try {
    return openWebhookSecrets(endpoint, cipher);
  } catch (error) {
    ignoring(error, 'the secrets of a webhook endpoint cannot be opened: only the new one will sign');
    return [];
  }
}

/** The new secret first, then those that still sign, none of them longer than the overlap. */
export function rotated(
  secrets: readonly WebhookSecret[],
  secret: string,
  { nowMs, overlapMs }: { readonly nowMs: number; readonly overlapMs: number },
): readonly WebhookSecret[] {
  const endMs = nowMs + overlapMs;
  const ending = secrets.map((each) => ({ ...each, untilMs: Math.min(each.untilMs ?? endMs, endMs) }));
  return [{ secret, untilMs: null }, ...signingSecrets(ending, nowMs)];
}

/** False when the account has no such endpoint of this mode. */
export async function deleteWebhook(
  store: Store,
  id: WebhookEndpointId,
  { accountId, livemode, actor }: Asked,
): Promise<boolean> {
  return transaction(store, async (tx) => {
    const row = await tx
      .deleteFrom('webhook_endpoints')
      .where((eb) => eb.and({ id, account_id: accountId, livemode }))
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return false;
    await record(store, tx, { ...changeOf(row, actor, 'webhook.deleted'), detail: { url: row.url } });
    return true;
  });
}

export async function findWebhook(
  store: Store,
  id: WebhookEndpointId,
  asked: Omit<Asked, 'actor'>,
): Promise<StoredWebhook | null> {
  const row = await ownEndpoint(store.db, id, asked).executeTakeFirst();
  return row === undefined ? null : endpointOf(row);
}

/** The endpoint with this id, if it is of the account and the mode. */
function ownEndpoint(db: Kysely<Tables>, id: WebhookEndpointId, { accountId, livemode }: Omit<Asked, 'actor'>) {
  return endpointsOf(db, accountId, livemode).where('id', '=', id);
}

function endpointsOf(db: Kysely<Tables>, accountId: AccountId, livemode: boolean) {
  const own = { account_id: accountId, livemode };
  return db
    .selectFrom('webhook_endpoints')
    .selectAll()
    .where((eb) => eb.and(own));
}

/** The change of one endpoint, without what is set. */
const changedEndpoint = (tx: Kysely<Tables>, id: WebhookEndpointId) =>
  tx.updateTable('webhook_endpoints').where('id', '=', id).returningAll();

export async function listWebhooks(
  store: Store,
  { accountId, livemode }: Omit<Asked, 'actor'>,
  page: PageRequest,
): Promise<Page<StoredWebhook>> {
  return readPage(endpointsOf(store.db, accountId, livemode), page, endpointOf);
}

/** An endpoint as the directory has it. */
export function endpointOf(row: Selectable<WebhookEndpointsTable>): StoredWebhook {
  const { batchMax: _, batchWaitMs: __, ...rest } = camelFields(row);
  return { ...rest, ...settingsOf(row), status: row.disabled_reason === null ? 'enabled' : 'disabled' };
}

function settingsOf(row: Selectable<WebhookEndpointsTable>): WebhookSettings {
  const { url, events, ordering, batch_max: max, batch_wait_ms: waitMs, description } = row;
  return { url, events, ordering, batch: max === null || waitMs === null ? null : { max, waitMs }, description };
}

const settingColumns = ({ url, events, ordering, batch, description }: WebhookSettings) =>
  snakeFields({ url, events, ordering, description, batchMax: batch?.max ?? null, batchWaitMs: batch?.waitMs ?? null });

function disabledColumns(reason: WebhookDisabledReason | null, { clock }: Store) {
  const now = new Date(clock.nowMs());
  if (reason === null) return { disabled_reason: null, disabled_at: null, enabled_at: now };
  return { disabled_reason: reason, disabled_at: now };
}

const changeOf = ({ id, account_id: accountId }: WebhookEndpointsTable, actor: Actor, action: AuditAction) => ({
  accountId,
  actor,
  action,
  target: id,
  outbox: { entity: 'webhook', entityId: `${accountId}.${id}` } as const,
});

// Templates of accounts. A new one is `pending` until the operator approves it; only approved ones reach the
// directory. A template never changes: a new text is a new template.
import type { Selectable } from 'kysely';
import { type AccountId, type TemplateId, newTemplateId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import type { AuditAction } from './audit-actions.ts';
import { type Page, type PageRequest, readPage } from './page.ts';
import { type CamelFields, snakeFields, camelFields } from '../../platform/letter-case.ts';
import type { TemplateStatus, TemplatesTable } from './schema.ts';
import { type Actor, type Store, changeOfRow, changesOf, lockAccount, record, transaction } from './store.ts';

/** A variable's name, type and size, as policy reads them. The store does not interpret them. */
type StoredVariable = { readonly name: string; readonly type: string; readonly size?: number | null };

export type StoredTemplate = CamelFields<Selectable<TemplatesTable>> & {
  readonly variables: readonly StoredVariable[];
};

type NewTemplate = Omit<StoredTemplate, 'id' | 'note' | 'createdAtMs'> & { readonly actor?: Actor };

type TemplateRefusal = {
  readonly ok: false;
  readonly code: 'account_not_found' | 'template_exists' | 'too_many_templates';
};

export async function createTemplate(
  store: Store,
  desired: NewTemplate,
): Promise<{ readonly ok: true; readonly template: StoredTemplate } | TemplateRefusal> {
  const { accountId, name, category, body, variables, status, actor = store.actor } = desired;
  return transaction(store, async (tx) => {
    if (!(await lockAccount(tx, accountId))) return { ok: false, code: 'account_not_found' };
    const existing = await tx.selectFrom('templates').select('name').where('account_id', '=', accountId).execute();
    if (existing.some((template) => template.name === name)) return { ok: false, code: 'template_exists' };
    if (existing.length >= limits.templates.perAccountMax) return { ok: false, code: 'too_many_templates' };
    const nowMs = store.clock.nowMs();
    const row = await tx
      .insertInto('templates')
      .values({
        ...snakeFields({ id: newTemplateId(nowMs), accountId, name, category, body, status, createdAtMs: nowMs }),
        variables: JSON.stringify(variables),
      })
      .returningAll()
      .executeTakeFirstOrThrow();
    await record(store, tx, { ...changeOf(row, actor, 'template.created'), detail: { name, category, status } });
    return { ok: true, template: storedTemplate(row) };
  });
}

/** The operator's decision about a template. Null when there is no such template. */
export async function setTemplateStatus(
  store: Store,
  id: TemplateId,
  status: TemplateStatus,
  { note = '', actor = store.actor }: { note?: string; actor?: Actor } = {},
): Promise<StoredTemplate | null> {
  return transaction(store, async (tx) => {
    const before = await tx
      .selectFrom('templates')
      .select(['status', 'note'])
      .where('id', '=', id)
      .forUpdate()
      .executeTakeFirst();
    if (before === undefined) return null;
    const row = await tx
      .updateTable('templates')
      .set({ status, note })
      .where('id', '=', id)
      .returningAll()
      .executeTakeFirstOrThrow();
    const detail = { name: row.name, ...changesOf(before, { status, note }) };
    await record(store, tx, { ...changeOf(row, actor, `template.${status}`), detail });
    return storedTemplate(row);
  });
}

/** False when the account has no such template. */
export async function deleteTemplate(
  store: Store,
  id: TemplateId,
  { accountId, actor = store.actor }: { accountId: AccountId; actor?: Actor },
): Promise<boolean> {
  return transaction(store, async (tx) => {
    const row = await tx
      .deleteFrom('templates')
      .where('id', '=', id)
      .where('account_id', '=', accountId)
      .returningAll()
      .executeTakeFirst();
    if (row === undefined) return false;
    await record(store, tx, { ...changeOf(row, actor, 'template.deleted'), detail: { name: row.name } });
    return true;
  });
}

export async function findTemplate(store: Store, id: TemplateId, accountId: AccountId): Promise<StoredTemplate | null> {
  const row = await store.db
    .selectFrom('templates')
    .selectAll()
    .where('id', '=', id)
    .where('account_id', '=', accountId)
    .executeTakeFirst();
  return row === undefined ? null : storedTemplate(row);
}

/** `of` 'all': of every account, for the operator. */
export async function listTemplates(
  store: Store,
  of: AccountId | 'all',
  page: PageRequest,
  status?: TemplateStatus,
): Promise<Page<StoredTemplate>> {
  let query = store.db.selectFrom('templates').selectAll();
  if (of !== 'all') query = query.where('account_id', '=', of);
  if (status !== undefined) query = query.where('status', '=', status);
  return readPage(query, page, storedTemplate);
}

const changeOf = (row: Selectable<TemplatesTable>, actor: Actor, action: AuditAction) =>
  changeOfRow(row, actor, action, { entity: 'template', entityId: `${row.account_id}.${row.id}` });

const storedTemplate = (row: Selectable<TemplatesTable>) => camelFields(row) as StoredTemplate;

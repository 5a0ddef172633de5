// Templates of accounts. A new one is `pending` until the operator approves it; only approved ones reach the
// directory. A template never changes: a new text is a new template.
import type { Selectable } from 'kysely';
import { type AccountId, type TemplateId, newTemplateId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import type { PageRequest } from './page.ts';
import { type CamelFields, snakeFields, camelFields } from '../../platform/letter-case.ts';
import type { TemplateStatus, TemplatesTable } from './schema.ts';
import { reviewed } from './reviewed.ts';
import type { Actor, Store } from './store.ts';

/** A variable's name, type and size, as policy reads them. The store does not interpret them. */
type StoredVariable = { readonly name: string; readonly type: string; readonly size?: number | null };

export type StoredTemplate = CamelFields<Selectable<TemplatesTable>> & {
  readonly variables: readonly StoredVariable[];
};

const templates = reviewed('templates', limits.templates.perAccountMax, (row) => ({
  entity: 'template',
  entityId: `${row.account_id}.${row.id}`,
}));

type NewTemplate = Omit<StoredTemplate, 'id' | 'note' | 'createdAtMs'> & { readonly actor?: Actor };

export async function createTemplate(store: Store, desired: NewTemplate) {
  const { accountId, name, category, body, variables, status } = desired;
  const made = await templates.create(
    store,
    desired,
    (nowMs) => ({
      ...snakeFields({ id: newTemplateId(nowMs), accountId, name, category, body, status, createdAtMs: nowMs }),
      variables: JSON.stringify(variables),
    }),
    { name, category, status },
  );
  return made.ok ? ({ ok: true, template: storedTemplate(made.row) } as const) : made;
}

/** The operator's decision about a template. Null when there is no such template. */
export async function setTemplateStatus(
  store: Store,
  id: TemplateId,
  status: TemplateStatus,
  { note = '', actor }: { note?: string; actor?: Actor } = {},
): Promise<StoredTemplate | null> {
  const row = await templates.decide(store, id, { status, note }, actor);
  return row === null ? null : storedTemplate(row);
}

export const deleteTemplate = templates.delete;

export async function findTemplate(store: Store, id: TemplateId, accountId: AccountId): Promise<StoredTemplate | null> {
  const row = await store.db
    .selectFrom('templates')
    .selectAll()
    .where((eb) => eb.and({ id, account_id: accountId }))
    .executeTakeFirst();
  return row === undefined ? null : storedTemplate(row);
}

export const listTemplates = (store: Store, of: AccountId | 'all', page: PageRequest, status?: TemplateStatus) =>
  templates.list(store, of, page, storedTemplate, status);

const storedTemplate = (row: Selectable<TemplatesTable>) => camelFields(row) as StoredTemplate;

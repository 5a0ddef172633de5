// What accounts register and the operator reviews, senders and templates: made under a name of its own, decided about,
// deleted and listed in the same way. The callers know their columns, and what the directory has of them.
import type { Insertable, Selectable } from 'kysely';
import type { AccountId } from '../../model/ids.ts';
import type { AuditAction } from './audit-actions.ts';
import { type PageRequest, readPage } from './page.ts';
import type { SenderStatus, SendersTable, Tables, TemplatesTable } from './schema.ts';
import { type Actor, type OutboxEntry, type Store, changesOf, lockAccount, record, transaction } from './store.ts';

type Rows = { senders: Selectable<SendersTable>; templates: Selectable<TemplatesTable> };
type One<Name> = Name extends `${infer Word}s` ? Word : never;
type New = { readonly accountId: AccountId; readonly name: string; readonly actor?: Actor };
type Made<Name extends keyof Rows> =
  | { readonly ok: true; readonly row: Rows[Name] }
  | { readonly ok: false; readonly code: 'account_not_found' | `${One<Name>}_exists` | `too_many_${Name}` };

/** `max`: of one account. `outboxOf`: the entry of the directory that a row changes. */
export function reviewed<Name extends keyof Rows>(name: Name, max: number, outboxOf: (row: Rows[Name]) => OutboxEntry) {
  type Row = Rows[Name];
  // Both tables have the columns that are used here, so the queries are typed as those of one of them.
  const table = name as 'senders';
  const one = name.slice(0, -1) as One<Name>;
  const rowOf = (row: Rows['senders']) => row as unknown as Row;
  const changeOf = (row: Row, actor: Actor, what: 'created' | 'deleted' | SenderStatus) => {
    const action = `${one}.${what}` as AuditAction;
    return { accountId: row.account_id, actor, action, target: row.id, outbox: outboxOf(row) };
  };

  return {
    create(
      store: Store,
      { accountId, name: wanted, actor = store.actor }: New,
      columnsOf: (nowMs: number) => Insertable<Tables[Name]>,
      detail: Record<string, unknown>,
    ): Promise<Made<Name>> {
      return transaction(store, async (tx) => {
        if (!(await lockAccount(tx, accountId))) return { ok: false, code: 'account_not_found' };
        const existing = await tx.selectFrom(table).select('name').where('account_id', '=', accountId).execute();
        if (existing.some((each) => each.name === wanted)) return { ok: false, code: `${one}_exists` };
        if (existing.length >= max) return { ok: false, code: `too_many_${name}` };
        const columns = columnsOf(store.clock.nowMs()) as unknown as Insertable<SendersTable>;
        const row = rowOf(await tx.insertInto(table).values(columns).returningAll().executeTakeFirstOrThrow());
        await record(store, tx, { ...changeOf(row, actor, 'created'), detail });
        return { ok: true, row };
      });
    },

    /** The operator's decision. Null when there is no such thing. */
    decide(store: Store, id: Row['id'], decision: Partial<Row> & { status: SenderStatus }, actor = store.actor) {
      return transaction(store, async (tx) => {
        const own = tx
          .selectFrom(table)
          .selectAll()
          .where('id', '=', id as never);
        const before = await own.forUpdate().executeTakeFirst();
        if (before === undefined) return null;
        const changed = tx.updateTable(table).set(decision as { status: SenderStatus });
        const row = rowOf(await changed.where('id', '=', before.id).returningAll().executeTakeFirstOrThrow());
        const detail = { name: row.name, ...changesOf<object>(before, decision) };
        await record(store, tx, { ...changeOf(row, actor, decision.status), detail });
        return row;
      });
    },

    /** False when the account has no such thing. */
    delete(store: Store, id: Row['id'], { accountId, actor = store.actor }: Omit<New, 'name'>): Promise<boolean> {
      return transaction(store, async (tx) => {
        const own = tx.deleteFrom(table).where((eb) => eb.and({ id: id as never, account_id: accountId }));
        const row = await own.returningAll().executeTakeFirst();
        if (row === undefined) return false;
        await record(store, tx, { ...changeOf(rowOf(row), actor, 'deleted'), detail: { name: row.name } });
        return true;
      });
    },

    /** `of` 'all': of every account, for the operator. */
    list<T>(store: Store, of: AccountId | 'all', page: PageRequest, read: (row: Row) => T, status?: SenderStatus) {
      let query = store.db.selectFrom(table).selectAll();
      if (of !== 'all') query = query.where('account_id', '=', of);
      if (status !== undefined) query = query.where('status', '=', status);
      return readPage(query, page, (row) => read(rowOf(row)));
    },
  };
}

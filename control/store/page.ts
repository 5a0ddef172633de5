// Pages of a list, newest first. Ids sort by creation time, so the last id of a page is the cursor of the next:
// nothing is skipped or shown twice when rows are added.
import { type SelectQueryBuilder, sql } from 'kysely';
import type { Tables } from './schema.ts';

export type PageRequest = {
  /** 1..limits.http.pageMax; checked by the caller. */
  readonly limit: number;
  /** The id after which the page starts; null for the first page. */
  readonly after: string | null;
};

export type Page<T> = { readonly items: readonly T[]; readonly next: string | null };

/** `query` selects from one table with an `id`. One row more than fits is read: it means that there is a next page. */
export async function readPage<Table extends keyof Tables, Row extends { readonly id: string }, T>(
  query: SelectQueryBuilder<Tables, Table, Row>,
  { limit, after }: PageRequest,
  read: (row: Row) => T,
): Promise<Page<T>> {
  const newestFirst = query.orderBy(sql`id`, 'desc').limit(limit + 1);
  const behind = after === null ? newestFirst : newestFirst.where(sql<boolean>`id < ${after}`);
  const rows: readonly Row[] = await behind.execute();
  const shown = rows.slice(0, limit);
  return { items: shown.map(read), next: rows.length > limit ? (shown.at(-1)?.id ?? null) : null };
}

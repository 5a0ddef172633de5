// Pages of a list, newest first. Ids sort by the time they were made, so the last id of a page is the cursor of the
// next: nothing is skipped or shown twice when rows come in between.

export type PageRequest = {
  /** 1..limits.http.pageMax; checked by the caller. */
  readonly limit: number;
  /** The id after which the page begins; null for the first page. */
  readonly after: string | null;
};

export type Page<T> = { readonly items: readonly T[]; readonly next: string | null };

/** `rows` were read with limit + 1: one more than asked for says that there is a next page. */
export function pageOf<T extends { readonly id: string }>(rows: readonly T[], limit: number): Page<T> {
  if (rows.length <= limit) return { items: rows, next: null };
  const items = rows.slice(0, limit);
  return { items, next: items.at(-1)?.id ?? null };
}

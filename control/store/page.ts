// Pages of a list, newest first. Ids sort by creation time, so the last id of a page is the cursor of the next:
// nothing is skipped or shown twice when rows are added.

export type PageRequest = {
  /** 1..limits.http.pageMax; checked by the caller. */
  readonly limit: number;
  /** The id after which the page starts; null for the first page. */
  readonly after: string | null;
};

export type Page<T> = { readonly items: readonly T[]; readonly next: string | null };

/** `rows` were read with limit + 1: the additional one means that there is a next page. */
export function pageOf<Row extends { readonly id: string }, T>(
  rows: readonly Row[],
  limit: number,
  read: (row: Row) => T,
): Page<T> {
  const shown = rows.slice(0, limit);
  return { items: shown.map(read), next: rows.length > limit ? (shown.at(-1)?.id ?? null) : null };
}

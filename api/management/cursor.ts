// One page of a list as an answer. The cursor is opaque for clients; it holds the last id of the page.
import type { Page, PageRequest } from '../../control/store/page.ts';
import { limits } from '../../platform/limits.ts';
import { type Problem, wrongField } from '../problem.ts';

const idForm = /^[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}$/;

/** `form`: what a valid cursor of this list looks like. */
export async function answerPage<T>(
  { limit = limits.management.pageDefault, cursor }: { limit?: number | undefined; cursor?: string | undefined },
  read: (asked: PageRequest) => Promise<Page<T>>,
  shape: (item: T) => object,
  form = idForm,
): Promise<{ readonly body: object } | { readonly problem: Problem }> {
  const after = cursor === undefined ? null : Buffer.from(cursor, 'base64url').toString('latin1');
  if (after !== null && !form.test(after)) {
    return { problem: wrongField('cursor', 'expected the next_cursor of the previous page') };
  }
  const { items, next } = await read({ limit, after });
  const nextCursor = next === null ? null : Buffer.from(next, 'latin1').toString('base64url');
  return { body: { data: items.map(shape), next_cursor: nextCursor } };
}

// The cursor of a list: opaque for clients, the last id of the page for us. Pure.
import { limits } from '../../platform/limits.ts';
import type { Page, PageRequest } from '../../control/store/page.ts';
import { type Problem, problemOfFields } from '../problem.ts';

const idPattern = /^[a-z]{3}_[0-9A-HJKMNP-TV-Z]{26}$/;

export function pageRequestOf(query: {
  limit?: number | undefined;
  cursor?: string | undefined;
}): { ok: true; page: PageRequest } | { ok: false; problem: Problem } {
  const limit = query.limit ?? limits.management.pageDefault;
  if (query.cursor === undefined) return { ok: true, page: { limit, after: null } };
  const after = Buffer.from(query.cursor, 'base64url').toString('latin1');
  if (idPattern.test(after)) return { ok: true, page: { limit, after } };
  const detail = 'expected the next_cursor of the page before';
  return { ok: false, problem: problemOfFields(422, [{ field: 'cursor', code: 'invalid_field', detail }]) };
}

export function listBody<T>(page: Page<T>, shape: (item: T) => object): object {
  const cursor = page.next === null ? null : Buffer.from(page.next, 'latin1').toString('base64url');
  return { data: page.items.map(shape), next_cursor: cursor };
}

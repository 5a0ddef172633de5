// The audit log, for the operator of the installation: who changed or commanded what, newest first.
import type { z } from '@hono/zod-openapi';
import { type AuditRecord, auditRecordJson, listAuditRecords } from '../../../control/store/audit-log.ts';
import type { Page, PageRequest } from '../../../control/store/page.ts';
import type { Store } from '../../../control/store/store.ts';
import { answerPage } from '../cursor.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { listOf } from '../schemas/common.ts';
import { auditQuery, auditRecord } from '../schemas/operations.ts';

export const auditEndpoints: readonly Endpoint[] = [
  endpoint({
    tag: 'Audit',
    method: 'get',
    path: '/v1/audit',
    summary: 'Who changed what, newest first',
    description:
      'Of the whole installation. Carrier commands given while the database was away appear shortly after it is back.',
    scope: 'audit:read',
    query: auditQuery,
    answer: { status: 200, description: 'A page of records.', schema: listOf('AuditList', auditRecord) },
    handle: ({ parts: { store }, query }) =>
      answerPage(query, (page) => readPage(store, page, query), auditRecordJson, cursorForm),
  }),
];

/** Rows have no ids of their own: a cursor names a row. */
const cursorForm = /^row [1-9]\d{0,14}$/;

async function readPage(
  store: Store,
  { limit, after }: PageRequest,
  { target, action }: z.infer<typeof auditQuery>,
): Promise<Page<AuditRecord>> {
  const row = after === null ? null : Number(after.slice('row '.length));
  const { items, next } = await listAuditRecords(store, { limit, after: row, target, action });
  return { items, next: next === null ? null : `row ${next}` };
}

// The audit log, for whoever runs the installation: who changed or ordered what, newest first.
import { type AuditRecord, listAuditRecords } from '../../../control/store/audit-log.ts';
import { limits } from '../../../platform/limits.ts';
import { problemOfFields } from '../../problem.ts';
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
      'Of the whole installation. Orders about carriers that were given while the database was away come a moment after it is back.',
    scope: 'audit:read',
    query: auditQuery,
    answer: { status: 200, description: 'A page of records.', schema: listOf('AuditList', auditRecord) },
    problems: ['invalid_field', 'unknown_field', 'control_plane_unavailable'],
    async handle({ parts: { store }, query }) {
      const after = query.cursor === undefined ? null : rowOf(query.cursor);
      if (after === undefined) {
        const detail = 'expected the next_cursor of the page before';
        return { problem: problemOfFields(422, [{ field: 'cursor', code: 'invalid_field', detail }]) };
      }
      const { target, action, limit = limits.management.pageDefault } = query;
      const { items, next } = await listAuditRecords(store, { limit, after, target, action });
      const cursor = next === null ? null : Buffer.from(`row ${next}`, 'latin1').toString('base64url');
      return { body: { data: items.map(recordJson), next_cursor: cursor } };
    },
  }),
];

/** Undefined for what is no cursor of ours. */
function rowOf(cursor: string): number | undefined {
  const text = /^row ([1-9]\d{0,14})$/.exec(Buffer.from(cursor, 'base64url').toString('latin1'))?.[1];
  return text === undefined ? undefined : Number(text);
}

function recordJson({ atMs, actor, origin, action, target, accountId, detail }: AuditRecord): object {
  return {
    object: 'audit_record',
    at: new Date(atMs).toISOString(),
    actor,
    from: origin,
    action,
    target,
    account: accountId,
    detail,
  };
}

// Numbers that the account must not send to: listed, added one by one or thousands at once, and removed. A change takes
// effect at every entry point, and for waiting messages, within one second.
import {
  type StoredSuppression,
  addSuppressions,
  listSuppressions,
  removeSuppression,
} from '../../../control/store/suppressions.ts';
import type { SuppressionId } from '../../../model/ids.ts';
import { snakeFields } from '../../../platform/letter-case.ts';
import { limits } from '../../../platform/limits.ts';
import { problem } from '../../problem.ts';
import { answerPage } from '../cursor.ts';
import { type Endpoint, deletion, endpoint } from '../endpoint.ts';
import { listOf } from '../schemas/common.ts';
import {
  addSuppressionBody,
  importSuppressionsBody,
  importedSuppressions,
  suppression,
  suppressionQuery,
} from '../schemas/gates.ts';

const shared = { tag: 'Suppressions', scope: 'suppressions:manage' } as const;

export const suppressionEndpoints: readonly Endpoint[] = [
  endpoint({
    ...shared,
    method: 'get',
    path: '/v1/suppressions',
    liveOnly: true,
    summary: 'List suppressed numbers, newest first',
    query: suppressionQuery,
    answer: {
      status: 200,
      description: 'A page of suppressed numbers.',
      schema: listOf('SuppressionList', suppression),
    },
    handle: ({ parts: { store }, account: { accountId }, query }) =>
      answerPage(query, (page) => listSuppressions(store, accountId, page, query.number), suppressionShape),
  }),
  endpoint({
    ...shared,
    method: 'post',
    path: '/v1/suppressions',
    liveOnly: true,
    summary: 'Suppress a number',
    description:
      'For every message, or only for a sender or a category. A number that is already listed is a conflict.',
    body: addSuppressionBody,
    answer: { status: 201, description: 'The entry.', schema: suppression },
    problems: ['conflict'],
    async handle({ parts: { store }, by, account, body }) {
      const { number, sender = null, category = null, reason } = body;
      const wanted = { accountId: account.accountId, numbers: [number], sender, category, reason, actor: by };
      const added = await addSuppressions(store, wanted);
      if (!added.ok) return { problem: problem(409, 'conflict', whyNot[added.code]) };
      const [entry] = added.added;
      return entry === undefined
        ? { problem: problem(409, 'conflict', `${number} is already listed for the same sender and category`) }
        : { body: suppressionShape(entry) };
    },
  }),
  endpoint({
    ...shared,
    method: 'post',
    path: '/v1/suppressions/import',
    isImport: true,
    liveOnly: true,
    summary: 'Suppress many numbers',
    description: `At most ${limits.suppression.importMax} in one request; numbers already listed stay. Safe to repeat.`,
    body: importSuppressionsBody,
    answer: { status: 200, description: 'How many were new.', schema: importedSuppressions },
    problems: ['conflict'],
    async handle({ parts: { store }, by, account, body }) {
      const { numbers, sender = null, category = null } = body;
      const wanted = { accountId: account.accountId, numbers, sender, category, reason: 'import', actor: by } as const;
      const added = await addSuppressions(store, wanted);
      if (!added.ok) return { problem: problem(409, 'conflict', whyNot[added.code]) };
      const fresh = added.added.length;
      return { body: { object: 'suppression_import', added: fresh, already_listed: new Set(numbers).size - fresh } };
    },
  }),
  deletion(
    { ...shared, kind: 'suppression', called: 'suppressed number', summary: 'Remove a number from the list' },
    async (store, id, asked) => (await removeSuppression(store, id as SuppressionId, asked)) !== null,
  ),
];

const whyNot = {
  account_not_found: 'the account no longer exists',
  too_many_suppressions: `an account has at most ${limits.suppression.perAccountMax} suppressed numbers`,
};

function suppressionShape({ id, number, sender, category, reason, createdAtMs }: StoredSuppression): object {
  return { id, object: 'suppression', ...snakeFields({ number, sender, category, reason, createdAtMs }) };
}

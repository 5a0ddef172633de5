// Senders of the account. A client requests one and it waits as `pending`: the operator answers for senders to the
// carriers, so only the operator approves them.
import { type StoredSender, createSender, deleteSender, listSenders } from '../../../control/store/senders.ts';
import type { SenderId } from '../../../model/ids.ts';
import { snakeFields } from '../../../platform/letter-case.ts';
import { limits } from '../../../platform/limits.ts';
import { problem, wrongField } from '../../problem.ts';
import { answerPage } from '../cursor.ts';
import { type Endpoint, deletion, endpoint } from '../endpoint.ts';
import { listOf, pageQuery } from '../schemas/common.ts';
import { createSenderBody, sender } from '../schemas/tenants.ts';
import { senderShape } from '../../../model/sender.ts';

const shared = { tag: 'Senders', scope: 'senders:manage' } as const;

export const senderEndpoints: readonly Endpoint[] = [
  endpoint({
    ...shared,
    method: 'get',
    path: '/v1/senders',
    summary: 'List the senders, newest first',
    query: pageQuery,
    answer: { status: 200, description: 'A page of senders.', schema: listOf('SenderList', sender) },
    handle: ({ parts: { store }, account: { accountId }, query }) =>
      answerPage(query, (page) => listSenders(store, accountId, page), senderShapeOf),
  }),
  endpoint({
    ...shared,
    method: 'post',
    path: '/v1/senders',
    liveOnly: true,
    summary: 'Request a sender',
    description: 'It is `pending` until the operator approves it. Test keys may use any well-formed sender at once.',
    body: createSenderBody,
    answer: { status: 201, description: 'The sender.', schema: sender },
    problems: ['conflict'],
    async handle({ parts: { store }, by, account, body }) {
      const { accountId } = account;
      const created = await createSender(store, { accountId, name: body.name, status: 'pending', actor: by });
      if (created.ok) return { body: senderShapeOf(created.sender) };
      if (created.code === 'invalid_sender') return { problem: wrongField('name', `expected ${senderShape}`) };
      const why = {
        sender_exists: `the account already has the sender "${body.name}"`,
        too_many_senders: `an account has at most ${limits.store.sendersPerAccountMax} senders`,
        account_not_found: 'the account no longer exists',
      };
      return { problem: problem(409, 'conflict', why[created.code]) };
    },
  }),
  deletion({ ...shared, kind: 'sender', summary: 'Delete a sender' }, (store, id, asked) =>
    deleteSender(store, id as SenderId, asked),
  ),
];

function senderShapeOf({ id, name, kind, status, categories, createdAtMs }: StoredSender): object {
  return { id, object: 'sender', ...snakeFields({ name, kind, status, categories, createdAtMs }) };
}

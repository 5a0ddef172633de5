// The account of the key that asks.
import { findAccount } from '../../../control/store/accounts.ts';
import { problem } from '../../problem.ts';
import { type Endpoint, endpoint } from '../endpoint.ts';
import { account } from '../schemas/tenants.ts';

export const accountEndpoints: readonly Endpoint[] = [
  endpoint({
    method: 'get',
    path: '/v1/account',
    tag: 'Account',
    summary: 'The account of this key',
    scope: 'account:read',
    answer: { status: 200, description: 'The account.', schema: account },
    async handle({ parts: { store }, account: { accountId } }) {
      const found = await findAccount(store, accountId);
      if (found === null) return { problem: problem(404, 'not_found', 'the account does not exist any more') };
      const { id, name, status, createdAtMs } = found;
      return { body: { id, object: 'account', name, status, created_at: new Date(createdAtMs).toISOString() } };
    },
  }),
];

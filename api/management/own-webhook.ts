// A webhook endpoint as the routes about it name it: one of the calling account, in the mode of the key.
import type { WebhookEndpointId } from '../../model/ids.ts';
import { problem } from '../problem.ts';
import type { HandlerContext } from './endpoint.ts';

export const aboutWebhooks = { tag: 'Webhooks', scope: 'webhooks:manage' } as const;

type Asked = Pick<HandlerContext<unknown, unknown, unknown>, 'principal' | 'account' | 'by'>;

/** A key sees the endpoints of its own mode. */
export const askedBy = ({ principal: { livemode }, account: { accountId }, by: actor }: Asked) => ({
  accountId,
  livemode,
  actor,
});

/** One of another form is simply not found. */
export const idOf = ({ params }: { readonly params: { readonly id: string } }) => params.id as WebhookEndpointId;

export const noSuchWebhook = {
  problem: problem(404, 'not_found', 'no webhook endpoint of this account has this id in the mode of this key'),
};

// The gate of callback_url: events of a message go only to an origin that the account registered as a webhook endpoint,
// because that was checked once, has a secret, and is what its owner sees and can switch off.
import type { MessageCallback } from '../../model/message.ts';
import type { Principal, Refusal } from '../contract.ts';

/** One look-up in memory, in the principal's mode. */
export function callbackGate(
  { account, livemode }: Principal,
  callbackUrl: string,
): { readonly ok: true; readonly callback: MessageCallback } | Refusal {
  if (!URL.canParse(callbackUrl)) return refused('must be a URL such as https://example.com/sms-events');
  const { origin, username, password, hash, href } = new URL(callbackUrl);
  if (username !== '' || password !== '') return refused('must not contain a user name or password');
  if (hash !== '') return refused('must not contain a fragment (#…): it would not be sent');
  // The URL inside of blob:https://… gives its origin to the whole.
  if (!href.startsWith(`${origin}/`)) return refused('must begin with https:// or http://');
  const endpoint = account.webhooks?.ofOrigin(origin, livemode);
  if (endpoint !== undefined) return { ok: true, callback: { endpointId: endpoint.id, url: href } };
  const mode = livemode ? 'live' : 'test';
  return refused(
    `must have the origin of one of the account's ${mode} webhook endpoints, found ${origin.slice(0, 100)}: see GET /v1/webhooks, or register one with POST /v1/webhooks`,
  );
}

function refused(detail: string): Refusal {
  return { ok: false, code: 'invalid_field', field: 'callback_url', detail };
}

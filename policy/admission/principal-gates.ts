// The gates about the principal: the key's scope, the account's status (a suspended account may still read), and what the
// account must have registered before a message names it: the sender, and the webhook endpoint of a callback_url. Mobile
// networks define a sender's shape (3GPP TS 23.040, 9.1.2.5: 11 septets of text, or a number); regulators require its
// approval, which applies in live mode only, because a test message never leaves the sandbox. A sender is never rewritten.
import type { Principal, Refusal, SmsRequest } from '../contract.ts';
import type { Category, MessageCallback } from '../../model/message.ts';
import { senderKindOf, senderShape } from '../../model/sender.ts';
import { controls, withControls } from '../../model/webhook-target.ts';
import { webhookLimits } from '../../platform/limits-webhooks.ts';

const scopeNeeded = 'sms:send';

export function scopeGate(principal: Principal): Refusal | null {
  if (principal.scopes.includes(scopeNeeded)) return null;
  return { ok: false, code: 'scope_missing', field: null, detail: `the API key lacks the scope ${scopeNeeded}` };
}

export function accountGate(principal: Principal): Refusal | null {
  if (principal.account.status === 'active') return null;
  const detail = 'the account is suspended: nothing is sent until it is active again';
  return { ok: false, code: 'account_suspended', field: null, detail };
}

export function senderGate(principal: Principal, request: SmsRequest): Refusal | null {
  const { from, category } = request;
  const { senders, senderCategories } = principal.account;
  // An approved sender's shape was checked when it was registered.
  if (senders.has(from)) {
    const allowed = senderCategories?.get(from);
    if (allowed === undefined || allowed.includes(category) || !principal.livemode) return null;
    return notApproved(`"${from}" is approved for ${allowed.join(', ')} messages only, and this one is ${category}`);
  }
  if (senderKindOf(from) === null) {
    return { ok: false, code: 'invalid_field', field: 'from', detail: `must be ${senderShape}` };
  }
  return principal.livemode
    ? notApproved(
        `"${from}" is not an approved sender of this account: see GET /v1/senders, or ask for it with POST /v1/senders`,
      )
    : null;
}

/** For messages that waited: whether the account may still use the sender for this category. */
export function isApproved(
  account: Pick<Principal['account'], 'senders' | 'senderCategories'>,
  from: string,
  category: Category,
): boolean {
  return account.senders.has(from) && (account.senderCategories?.get(from)?.includes(category) ?? true);
}

function notApproved(detail: string): Refusal {
  return { ok: false, code: 'sender_not_registered', field: 'from', detail };
}

/**
 * Events of a message go only to an origin that the account registered as a webhook endpoint: that was checked once, has
 * a secret, and is what its owner sees and can switch off. One look-up in memory, in the principal's mode.
 */
export function callbackGate(
  { account, livemode }: Principal,
  callbackUrl: string,
): { readonly ok: true; readonly callback: MessageCallback } | Refusal {
  if (controls.test(callbackUrl)) return wrongCallback(withControls);
  if (!URL.canParse(callbackUrl)) return wrongCallback('must be a URL such as https://example.com/sms-events');
  const { origin, username, password, hash, href } = new URL(callbackUrl);
  if (username !== '' || password !== '') return wrongCallback('must not contain a user name or password');
  if (hash !== '') return wrongCallback('must not contain a fragment (#…): it would not be sent');
  if (href.length > webhookLimits.urlCharsMax)
    return wrongCallback(`must have at most ${webhookLimits.urlCharsMax} characters, percent-encoded`);
  // The URL inside of blob:https://… gives its origin to the whole.
  if (!href.startsWith(`${origin}/`)) return wrongCallback('must begin with https:// or http://');
  const endpoint = account.webhooks?.ofOrigin(origin, livemode);
  if (endpoint !== undefined) return { ok: true, callback: { endpointId: endpoint.id, url: href } };
  const mode = livemode ? 'live' : 'test';
  return wrongCallback(
    `must have the origin of one of the account's ${mode} webhook endpoints, found ${origin.slice(0, 100)}: see GET /v1/webhooks, or register one with POST /v1/webhooks`,
  );
}

function wrongCallback(detail: string): Refusal {
  return { ok: false, code: 'invalid_field', field: 'callback_url', detail };
}

// The API keys of the account: a key with the scope `keys:manage` lists, creates, changes and revokes them.
// key-bounds.ts decides what one key may do to another, about the key as read in the transaction of the change.
import type { z } from '@hono/zod-openapi';
import type { Principal } from '../../../acceptance/principal.ts';
import type { Directory } from '../../../directory/contract.ts';
import {
  type KeyChange,
  type StoredApiKey,
  changeKey,
  createKey,
  findKey,
  listKeys,
  revokeKey,
} from '../../../control/store/api-keys.ts';
import type { ApiKeyId } from '../../../model/ids.ts';
import { until } from '../../../platform/deadline.ts';
import { ignoring } from '../../../platform/errors.ts';
import { snakeFields } from '../../../platform/letter-case.ts';
import { limits } from '../../../platform/limits.ts';
import { type Problem, problem, problemOfFields } from '../../problem.ts';
import { answerPage } from '../cursor.ts';
import { type Endpoint, type HandlerResult, endpoint } from '../endpoint.ts';
import { idParams, listOf, pageQuery } from '../schemas/common.ts';
import { rateOf, rateShape } from '../schemas/gates.ts';
import { apiKey, changeApiKeyBody, createApiKeyBody, newApiKey } from '../schemas/tenants.ts';
import {
  type KeyPowers,
  locksOut,
  powersOf,
  refuseKeyChange,
  refuseKeyRevocation,
  refuseNewKey,
} from './key-bounds.ts';

const shared = { tag: 'API keys', scope: 'keys:manage' } as const;

export const apiKeyEndpoints: readonly Endpoint[] = [
  endpoint({
    ...shared,
    method: 'get',
    path: '/v1/api-keys',
    summary: 'List the API keys, newest first',
    query: pageQuery,
    answer: { status: 200, description: 'A page of keys.', schema: listOf('ApiKeyList', apiKey) },
    handle: ({ parts: { store }, account: { accountId }, query }) =>
      answerPage(query, (page) => listKeys(store, accountId, page), keyShape),
  }),
  endpoint({
    ...shared,
    method: 'post',
    path: '/v1/api-keys',
    summary: 'Create an API key',
    description:
      'Only this answer contains the whole key: a repeat under the same `Idempotency-Key` creates no second one and has ' +
      'null for `key`. If the answer was lost, revoke that key and create another.',
    shownOnce: ['key'],
    body: createApiKeyBody,
    answer: { status: 201, description: 'The key.', schema: newApiKey },
    problems: ['conflict'],
    async handle({ parts: { store, directory, keyDaysDefault }, principal, by, account, body }) {
      const days = keyDaysDefault();
      const endsAtMs = days === null ? null : store.clock.nowMs() + days * 86_400_000;
      const wanted = wantedOf(principal, body, endsAtMs);
      const refusal = refuseNewKey(powersOf(principal), wanted, store.clock.nowMs());
      if (refusal !== null) return { problem: refusal };
      const created = await createKey(store, {
        ...wanted,
        accountId: account.accountId,
        ipAllowlist: wanted.networks,
        description: body.description ?? '',
        actor: by,
      });
      if (!created.ok) return { problem: problem(409, 'conflict', whyNot[created.code]) };
      await untilUsable(directory, created.token);
      return { body: { ...keyShape(created.key), key: created.token } };
    },
  }),
  endpoint({
    ...shared,
    method: 'get',
    path: '/v1/api-keys/{id}',
    summary: 'One API key',
    params: idParams,
    answer: { status: 200, description: 'The key, without its secret.', schema: apiKey },
    async handle({ parts: { store }, account, params }) {
      const found = await findKey(store, params.id as ApiKeyId, account.accountId);
      return found === null ? notFound : { body: keyShape(found) };
    },
  }),
  endpoint({
    ...shared,
    method: 'patch',
    path: '/v1/api-keys/{id}',
    summary: 'Change the networks, rate and lifetime of an API key',
    description:
      'Omitted fields stay as they are; in effect everywhere within one second. What a key may do (`scopes`, ' +
      '`livemode`) cannot be changed: create another one. A key can change only keys that may do no more than itself, and ' +
      'give none more than it has; an expired key stays expired.',
    params: idParams,
    body: changeApiKeyBody,
    answer: { status: 200, description: 'The changed key.', schema: apiKey },
    problems: ['conflict', 'key_exceeds_own_permissions'],
    async handle({ parts: { store }, principal, by, account, params, body, from }) {
      const { description, expires_at: expires, ip_allowlist: ipAllowlist, rate_limit: rate } = body;
      const change: KeyChange = {
        ...(description === undefined ? {} : { description }),
        ...(expires === undefined ? {} : { expiresAtMs: expires === null ? null : Date.parse(expires) }),
        ...(ipAllowlist === undefined ? {} : { ipAllowlist }),
        ...(rate === undefined ? {} : { rate: rateOf(rate) }),
      };
      const refuse = (current: StoredApiKey) =>
        refuseKeyChange(powersOf(principal), current, change, store.clock.nowMs()) ??
        (current.id === principal.id ? problemOfFields(locksOut(from, ipAllowlist)) : null);
      const asked = { accountId: account.accountId, actor: by, refuse };
      return answerOf(await changeKey(store, params.id as ApiKeyId, change, asked));
    },
  }),
  endpoint({
    ...shared,
    method: 'delete',
    path: '/v1/api-keys/{id}',
    summary: 'Revoke an API key',
    description:
      'In effect everywhere within one second. Revoking twice changes nothing. A key can revoke only keys that may do no ' +
      'more than itself; a suspended account may revoke keys too.',
    whileSuspended: true,
    params: idParams,
    answer: { status: 200, description: 'The revoked key.', schema: apiKey },
    problems: ['key_exceeds_own_permissions'],
    async handle({ parts: { store }, principal, by, account, params }) {
      const refuse = (current: StoredApiKey) => refuseKeyRevocation(powersOf(principal), current);
      const asked = { accountId: account.accountId, actor: by, refuse };
      return answerOf(await revokeKey(store, params.id as ApiKeyId, asked));
    },
  }),
];

const whyNot = {
  too_many_keys: `an account has at most ${limits.store.keysPerAccountMax} keys: revoke one first`,
  account_not_found: 'the account no longer exists',
};

const notFound = { problem: problem(404, 'not_found', 'no key of this account has this id') };

function answerOf(changed: StoredApiKey | { readonly refused: Problem } | null): HandlerResult {
  if (changed === null) return notFound;
  return 'refused' in changed ? { problem: changed.refused } : { body: keyShape(changed) };
}

/** A new key has the bounds of the calling key, unless the request asks for narrower ones. */
function wantedOf(principal: Principal, body: z.infer<typeof createApiKeyBody>, endsAtMs: number | null): KeyPowers {
  const own = powersOf(principal);
  const { ip_allowlist: networks = [], rate_limit: rate, expires_at: expires } = body;
  return {
    livemode: body.livemode ?? own.livemode,
    scopes: body.scopes,
    networks: networks.length === 0 ? own.networks : networks,
    rate: rate === undefined ? own.rate : rateOf(rate),
    expiresAtMs:
      expires === undefined ? sooner(own.expiresAtMs, endsAtMs) : expires === null ? null : Date.parse(expires),
  };
}

const sooner = (one: number | null, other: number | null) =>
  one === null || other === null ? (one ?? other) : Math.min(one, other);

/** Clients use a new key at once: waits up to a second until the directory has it. */
async function untilUsable(directory: Directory, token: string): Promise<void> {
  try {
    const isKnown = () => directory.authenticate(token).ok;
    await until('the new key is in the directory', isKnown, { limitMs: 1_000, everyMs: 5 });
  } catch (error) {
    ignoring(error, 'the directory does not have a new key yet: it will be usable a little later');
  }
}

function keyShape(key: StoredApiKey): object {
  const { id, livemode, scopes, description, createdAtMs, expiresAtMs, revokedAtMs, lastUsedOn, ipAllowlist } = key;
  return {
    id,
    object: 'api_key',
    hint: `hk_${livemode ? 'live' : 'test'}_${key.publicId}_…`,
    ...snakeFields({ livemode, scopes, description, createdAtMs, expiresAtMs, revokedAtMs, lastUsedOn, ipAllowlist }),
    rate_limit: rateShape(key.rate),
  };
}

// API keys of the account: listed, made and revoked by a key with the scope `keys:manage`. A key can never make one
// that may do more than itself.
import type { z } from '@hono/zod-openapi';
import type { Directory, KeyEntry } from '../../../cluster/directory/contract.ts';
import { type StoredApiKey, createKey, listKeys, revokeKey } from '../../../cluster/store/api-keys.ts';
import type { Store } from '../../../cluster/store/store.ts';
import { isWithinAny, parseNetwork } from '../../../model/ip-address.ts';
import type { ApiKeyId } from '../../../model/ids.ts';
import { until } from '../../../platform/deadline.ts';
import { ignoring } from '../../../platform/errors.ts';
import { limits } from '../../../platform/limits.ts';
import { type FieldProblem, problem, problemOfFields } from '../../problem.ts';
import { listBody, pageRequestOf } from '../cursor.ts';
import type { Answer, Endpoint } from '../endpoint.ts';
import { listOf, pageQuery } from '../schemas/common.ts';
import { apiKey, createApiKeyBody, idParams, newApiKey } from '../schemas/tenants.ts';
import type { Asked } from '../serve.ts';

const shared = { tag: 'API keys', scope: 'keys:manage' } as const;

export const getApiKeys = {
  ...shared,
  method: 'get',
  path: '/v1/api-keys',
  summary: 'List the API keys, newest first',
  query: pageQuery,
  answer: { status: 200, description: 'A page of keys.', schema: listOf('ApiKeyList', apiKey) },
  problems: ['invalid_field', 'unknown_field', 'control_plane_unavailable'],
} as const satisfies Endpoint;

export const postApiKey = {
  ...shared,
  method: 'post',
  path: '/v1/api-keys',
  summary: 'Make an API key',
  description: 'The whole key is in this answer and nowhere else.',
  body: createApiKeyBody,
  answer: { status: 201, description: 'The key.', schema: newApiKey },
  problems: ['conflict', 'control_plane_unavailable'],
} as const satisfies Endpoint;

export const deleteApiKey = {
  ...shared,
  method: 'delete',
  path: '/v1/api-keys/{id}',
  summary: 'Revoke an API key',
  description: 'In force everywhere within one second. Revoking twice changes nothing.',
  params: idParams,
  answer: { status: 200, description: 'The revoked key.', schema: apiKey },
  problems: ['not_found', 'unknown_field', 'control_plane_unavailable'],
} as const satisfies Endpoint;

export const apiKeyHandlers = (store: Store, directory: Directory) => ({
  async list({ account, query }: Asked<unknown, z.infer<typeof pageQuery>, unknown>): Promise<Answer> {
    const asked = pageRequestOf(query);
    if (!asked.ok) return asked;
    return { body: listBody(await listKeys(store, account.accountId, asked.page), keyShape) };
  },

  async create({ key, account, body }: Asked<z.infer<typeof createApiKeyBody>, unknown, unknown>): Promise<Answer> {
    const livemode = body.livemode ?? key.livemode;
    const expiresAtMs = body.expires_at == null ? null : Date.parse(body.expires_at);
    const errors: FieldProblem[] = [];
    const wrong = (field: string, detail: string) => errors.push({ field, code: 'invalid_field', detail });
    if (livemode && !key.livemode) wrong('livemode', 'a test key can only make test keys');
    for (const [at, scope] of body.scopes.entries()) {
      if (!key.scopes.includes(scope)) wrong(`scopes[${at}]`, `the asking key does not have ${scope} itself`);
    }
    if (expiresAtMs !== null && expiresAtMs <= store.clock.nowMs())
      wrong('expires_at', 'expected a time in the future');
    const bounds = boundsOf(key, body);
    for (const [at, network] of bounds.ipAllowlist.entries()) {
      if (!mayUse(key, network)) wrong(`ip_allowlist[${at}]`, 'the asking key may not be used from there itself');
    }
    if (key.rate != null && (bounds.rate === null || bounds.rate.perSecond > key.rate.perSecond)) {
      wrong('rate_limit', `the asking key has ${key.rate.perSecond} a second itself`);
    }
    const [first, ...more] = errors;
    if (first !== undefined) return { problem: problemOfFields(422, [first, ...more]) };

    const created = await createKey(store, {
      accountId: account.accountId,
      livemode,
      scopes: body.scopes,
      description: body.description ?? '',
      expiresAtMs,
      ...bounds,
      actor: key.keyId,
    });
    if (!created.ok) {
      const detail =
        created.code === 'too_many_keys'
          ? `an account has at most ${limits.store.keysPerAccountMax} keys: revoke one first`
          : 'the account does not exist any more';
      return { problem: problem(409, 'conflict', detail) };
    }
    await untilUsable(directory, created.token);
    return { body: { ...keyShape(created.key), key: created.token } };
  },

  async revoke({ key, account, params }: Asked<unknown, unknown, z.infer<typeof idParams>>): Promise<Answer> {
    const revoked = await revokeKey(store, params.id as ApiKeyId, { accountId: account.accountId, actor: key.keyId });
    return revoked === null
      ? { problem: problem(404, 'not_found', 'no key of this account has this id') }
      : { body: keyShape(revoked) };
  },
});

/** A key's own bounds hold for what it makes, unless narrower ones are asked for. */
function boundsOf(key: KeyEntry, body: z.infer<typeof createApiKeyBody>) {
  const { ip_allowlist: given, rate_limit: rate } = body;
  const asked = rate == null ? rate : { perSecond: rate.per_second, burst: rate.burst };
  return {
    ipAllowlist: given === undefined || given.length === 0 ? (key.networks ?? []) : given,
    rate: asked === undefined ? (key.rate ?? null) : asked,
  };
}

function mayUse(key: KeyEntry, network: string): boolean {
  if (key.networks === undefined || key.networks.length === 0) return true;
  const wanted = parseNetwork(network);
  const own = key.networks.map(parseNetwork).filter((each) => each !== null);
  return wanted !== null && isWithinAny(wanted, own);
}

/** Clients use a new key at once: the answer waits the moment until the directory has it, and goes out anyway. */
async function untilUsable(directory: Directory, token: string): Promise<void> {
  try {
    await until('the new key is in the directory', () => directory.authenticate(token).ok, {
      limitMs: 1_000,
      everyMs: 5,
    });
  } catch (error) {
    ignoring(error, 'a new key will be usable a little later');
  }
}

function keyShape(key: StoredApiKey): object {
  const time = (ms: number | null) => (ms === null ? null : new Date(ms).toISOString());
  return {
    id: key.id,
    object: 'api_key',
    hint: `hk_${key.livemode ? 'live' : 'test'}_${key.publicId}_…`,
    livemode: key.livemode,
    scopes: key.scopes,
    description: key.description,
    created_at: time(key.createdAtMs),
    expires_at: time(key.expiresAtMs),
    revoked_at: time(key.revokedAtMs),
    ip_allowlist: key.ipAllowlist,
    rate_limit: key.rate === null ? null : { per_second: key.rate.perSecond, burst: key.rate.burst },
  };
}

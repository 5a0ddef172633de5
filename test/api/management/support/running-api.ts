// A running management API on real PostgreSQL and NATS, with two accounts, and calls to it over real HTTP.
import { expect } from 'vitest';
import { TestEvents } from '../../../../actors/webhook/listen/test-events.ts';
import { endpoints } from '../../../../api/management/app.ts';
import { type ManagementApi, startManagementApi } from '../../../../api/management/server.ts';
import { problemCatalogue } from '../../../../api/problem-catalogue.ts';
import { bodyPrinter, keyPlaces, placingSecret } from '../../../../acceptance/idempotency/key-place.ts';
import { RateLimits } from '../../../../acceptance/principal-limits.ts';
import { newRateMemory } from '../../../../platform/rate-table.ts';
import { IdempotentRequests } from '../../../../acceptance/idempotency/requests.ts';
import { idempotencyStore } from '../../../../acceptance/idempotency/store.ts';
import { createIdempotentWrite } from '../../../../api/management/idempotent-write.ts';
import { openLinks } from '../../../../directory/links.ts';
import { type BodyCipher, bodyCipher } from '../../../../model/records/body-cipher.ts';
import { openBucket } from '../../../../cluster/bus/ensure.ts';
import { Publisher } from '../../../../cluster/bus/publisher.ts';
import type { CarrierConfig } from '../../../../config/configuration.ts';
import { auditCommands } from '../../../../control/audit-commands.ts';
import { type Scope, scopes } from '../../../../model/api-key.ts';
import type { AccountId } from '../../../../model/ids.ts';
import { type Shares, defaultShares } from '../../../../platform/limits-shares.ts';
import { until } from '../../../support/until.ts';
import { type DirectoryHarness, openDirectoryHarness } from '../../../support/directory-harness.ts';
import { newAccount, newKey } from '../../../support/tenants.ts';

export type Reply = { status: number; headers: Headers; body: any };

export type CallOptions = {
  /** null: without a key; left out: the live key. */
  key?: string | null;
  json?: unknown;
  raw?: string | Uint8Array<ArrayBuffer>;
  headers?: Record<string, string>;
};

export type RunningApi = DirectoryHarness & {
  /** Of the running API. */
  readonly cipher: BodyCipher;
  readonly api: ManagementApi;
  readonly accountId: AccountId;
  /** Keys with every scope: two of the account, one of another. */
  readonly live: string;
  readonly testKey: string;
  readonly other: string;
  newAccount(): Promise<AccountId>;
  newKey(of: AccountId, livemode: boolean, allowed?: readonly Scope[]): Promise<string>;
  call(method: string, path: string, options?: CallOptions): Promise<Reply>;
};

/** Other tests may make as many requests at once as they like. */
const lowPriority: Shares = {
  ...defaultShares,
  management_requests: { total: 64, perAccount: 64, reserve: 0 },
  management_writes: { total: 1_000_000, perAccount: 1_000_000, reserve: 0 },
};

/** `carriers`: what is configured; no node serves them. */
export async function runApi(
  carriers: readonly CarrierConfig[] = [],
  shares: Shares = lowPriority,
  keyDaysDefault: () => number | null = () => null,
): Promise<RunningApi> {
  const harness = await openDirectoryHarness();
  const { bus, store, directory } = harness;
  harness.project();
  const keys = new Publisher(bus);
  await openBucket(bus, 'idempotency');
  const bodyKey = Buffer.alloc(32, 7);
  const cipher = bodyCipher(bodyKey);
  const idempotentWrite = createIdempotentWrite({
    requests: new IdempotentRequests(idempotencyStore(bus, keys)),
    cipher,
    keyPlaces: keyPlaces(await placingSecret(bus)),
    bodyPrints: bodyPrinter([bodyKey]),
    rates: new RateLimits(newRateMemory()),
  });
  const audit = auditCommands(bus, store);
  const links = openLinks(bus);
  const testEvents = new TestEvents(bus, cipher);
  const api = await startManagementApi({
    store,
    directory,
    links,
    idempotentWrite,
    bus,
    carriers: () => carriers,
    shares,
    keyDaysDefault,
    cipher,
    testEvents,
    content: () => undefined,
    webhooks: () => ({ allowNetworks: [], allowHttp: false }),
    callingCode: () => '+880',
    port: 0,
    secret: '',
  });

  async function knownKey(of: AccountId, livemode: boolean, allowed: readonly Scope[] = scopes): Promise<string> {
    const { token } = await newKey(store, of, { livemode, scopes: allowed });
    await until('the key is known', () => directory.authenticate(token).ok);
    return token;
  }
  const accountId = await newAccount(store);
  const live = await knownKey(accountId, true);

  return {
    ...harness,
    cipher,
    api,
    accountId,
    live,
    testKey: await knownKey(accountId, false),
    other: await knownKey(await newAccount(store), true),
    newAccount: () => newAccount(store),
    newKey: knownKey,
    async call(method, path, { key = live, json, raw, headers } = {}) {
      const body = raw ?? (json === undefined ? undefined : JSON.stringify(json));
      const send = () =>
        fetch(`http://127.0.0.1:${api.port}${path}`, {
          method,
          ...(body === undefined ? {} : { body }),
          headers: {
            ...(key === null ? {} : { authorization: `Bearer ${key}` }),
            ...(body === undefined ? {} : { 'content-type': 'application/json' }),
            ...headers,
          },
        });
      const response = await send().catch((error: unknown) => {
        // After a refused body the server closes the connection, which fetch may have begun to use again (RFC 9110 section 9.2.2).
        const isClosed = (error as { cause?: { code?: string } }).cause?.code === 'UND_ERR_SOCKET';
        if (method !== 'GET' || !isClosed) throw error;
        return send();
      });
      const text = await response.text();
      const isJson = /json/.test(response.headers.get('content-type') ?? '');
      const reply = { status: response.status, headers: response.headers, body: isJson ? JSON.parse(text) : text };
      expectAsDocumented(method, path, reply);
      return reply;
    },
    async stop() {
      testEvents.stop();
      await api.close(1_000);
      await audit.close();
      await links.close();
      keys.close();
      await harness.stop();
    },
  };
}

/** An answer contains what its schema in the document says, and nothing else. */
function expectAsDocumented(method: string, path: string, reply: Reply): void {
  const [route = ''] = path.split('?');
  const endpoint = endpoints.find(
    (one) =>
      one.method === method.toLowerCase() && new RegExp(`^${one.path.replaceAll(/\{\w+\}/g, '[^/]+')}$`).test(route),
  );
  if (endpoint === undefined || reply.status >= 400) return;
  expect(reply.status).toBe(endpoint.answer.status);
  expect(endpoint.answer.schema.parse(reply.body)).toEqual(reply.body);
}

/** Checks the shape every refusal has, and returns what differs. */
export function refusal(reply: Reply): { status: number; code: string; fields: string[] } {
  expect(reply.headers.get('content-type')).toBe('application/problem+json');
  const { body } = reply;
  expect(Object.keys(body)).toEqual(['type', 'title', 'status', 'code', 'detail', 'errors', 'request_id']);
  expect(body).toMatchObject({ status: reply.status, request_id: reply.headers.get('x-request-id') });
  expect(problemCatalogue[body.code as 'not_found'].status).toBe(reply.status);
  return { status: reply.status, code: body.code, fields: body.errors.map((e: any) => `${e.field} ${e.code}`) };
}

/** As `call`, for an answer of the event store: a statement has 1.5 s, and a busy machine is asked again. */
export function callStore(api: RunningApi, ...of: Parameters<RunningApi['call']>): ReturnType<RunningApi['call']> {
  return until('the event store answers in time', async () => {
    const reply = await api.call(...of);
    return !/^(report|export)_unavailable$/.test(reply.body?.code ?? '') && reply;
  });
}

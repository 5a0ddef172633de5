// One route of the API as data: its request, its answers, its scope. The OpenAPI document, the validation, the table of
// known paths and the types of its handler are made from it.
import { type OpenAPIHono, z } from '@hono/zod-openapi';
import type { TestEvents } from '../../actors/webhook/listen/test-events.ts';
import type { Principal } from '../../acceptance/principal.ts';
import type { Bus } from '../../cluster/bus/connect.ts';
import type { CarrierConfig, Configuration } from '../../config/configuration.ts';
import type { Actor, Store } from '../../control/store/store.ts';
import type { Account, Directory } from '../../directory/contract.ts';
import type { LinkDirectory } from '../../directory/links.ts';
import type { Scope } from '../../model/api-key.ts';
import type { AccountId } from '../../model/ids.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { ContentRules } from '../../policy/admission/content-rules.ts';
import { type Problem, type ProblemCode, problem, problemContentType } from '../problem.ts';
import { problemCatalogue } from '../problem-catalogue.ts';
import { deletedOf, idParams, problemSchema } from './schemas/common.ts';

export type Method = 'get' | 'post' | 'patch' | 'delete';

export type Endpoint<
  Body extends z.ZodType = z.ZodType,
  Query extends z.ZodType = z.ZodType,
  Params extends z.ZodType = z.ZodType,
> = {
  readonly method: Method;
  /** Parameters in braces, as in OpenAPI. */
  readonly path: string;
  readonly tag: string;
  readonly summary: string;
  readonly description?: string;
  readonly scope: Scope;
  /** It changes what live messages depend on: test keys are refused. */
  readonly liveOnly?: true;
  /** A long write: only a few run at a time. */
  readonly isImport?: true;
  /**
   * Its answer comes from another process or from NATS: it takes a place of `management_waits` in place of one of
   * `management_requests`, and no turn of the account’s writes in the database.
   */
  readonly waitsForOthers?: true;
  /** Its answer may take an hour, and takes a place of `exports_running`. */
  readonly isExport?: true;
  /** A write that a suspended account may still make. */
  readonly whileSuspended?: true;
  /** Secret fields of its answer: null in a repeat under the same Idempotency-Key. */
  readonly shownOnce?: readonly string[];
  /** Missing: a POST takes no body, or one without fields. */
  readonly body?: Body;
  readonly query?: Query;
  readonly params?: Params;
  /** The successful answer. */
  readonly answer: {
    readonly status: 200 | 201 | 202;
    readonly description: string;
    readonly schema: z.ZodType;
    /** Content types of files that it may be instead, by a parameter of the request. */
    readonly files?: readonly string[];
  };
  /** A second kind of success, selected by a field of the request. */
  readonly otherAnswer?: { readonly status: 200; readonly description: string; readonly schema: z.ZodType };
  /** Its own refusals, beside those of all routes of its kind (describeEndpoint). */
  readonly problems?: readonly ProblemCode[];
  /** Missing: the route is served by api/http. */
  handle?(context: HandlerContext<z.infer<Body>, z.infer<Query>, z.infer<Params>>): Promise<HandlerResult>;
};

/** Gives the handler the types of its schemas. */
export const endpoint = <Body extends z.ZodType, Query extends z.ZodType, Params extends z.ZodType>(
  served: Endpoint<Body, Query, Params>,
): Endpoint => served;

type Removal = (store: Store, id: string, asked: { accountId: AccountId; actor: Actor }) => Promise<boolean>;

/** The route that deletes something of the account; `remove` returns false when there is none of this id. */
export const deletion = (
  { kind, called = kind, ...about }: Pick<Endpoint, 'tag' | 'scope' | 'summary'> & { kind: string; called?: string },
  remove: Removal,
): Endpoint =>
  endpoint({
    ...about,
    method: 'delete',
    path: `/v1/${kind}s/{id}`,
    liveOnly: true,
    params: idParams,
    answer: { status: 200, description: `The ${called} is deleted.`, schema: deletedOf(kind) },
    async handle({ parts: { store }, by, account: { accountId }, params: { id } }) {
      if (await remove(store, id, { accountId, actor: by })) return { body: { id, object: kind, deleted: true } };
      return { problem: problem(404, 'not_found', `no ${called} of this account has this id`) };
    },
  });

/** The dependencies of handlers. */
export type HandlerParts = {
  readonly store: Store;
  readonly directory: Directory;
  readonly links: LinkDirectory;
  readonly bus: Bus;
  /** From the current configuration. */
  readonly carriers: () => readonly CarrierConfig[];
  /** The content rules of the installation, from the current configuration. */
  readonly content: () => ContentRules | undefined;
  /** Seals the secrets of webhook endpoints. */
  readonly cipher: BodyCipher;
  /** Where webhooks may be sent, from the current configuration. */
  readonly webhooks: () => Configuration['webhooks'];
  readonly testEvents: Pick<TestEvents, 'poll'>;
  /** Of the country that is served, with the plus sign, from the current configuration. */
  readonly callingCode: () => string;
  /** The default lifetime of API keys in days; null: unlimited. */
  readonly keyDaysDefault: () => number | null;
};

export type HandlerContext<Body, Query, Params> = {
  readonly parts: HandlerParts;
  readonly principal: Principal;
  /** The principal's account. */
  readonly account: Account;
  /** The client's address, determined by the ingress. */
  readonly from: string;
  /** The principal and the address, for the audit log. */
  readonly by: Actor;
  readonly body: Body;
  readonly query: Query;
  readonly params: Params;
};

/** What a handler returns: the body of an answer, or a refusal. */
export type HandlerResult = { readonly body: unknown } | StreamedAnswer | { readonly problem: Problem };

/** An answer in parts: the next one is made when the client has taken the last. Only of reads. */
export type StreamedAnswer = {
  readonly stream: AsyncIterable<Uint8Array>;
  readonly contentType: string;
  /** Not null: a file to save. */
  readonly fileName: string | null;
};

/** Refusals of every authenticated route. */
const everywhere: readonly ProblemCode[] = [
  'account_busy',
  'overloaded',
  'missing_api_key',
  'invalid_api_key',
  'scope_missing',
  'ip_not_allowed',
  'rate_limited',
  'internal_error',
];
const withOctets = ['invalid_json', 'unsupported_media_type', 'body_too_large'] as const;
/** Refusals of every write: all take `Idempotency-Key`. */
const withKey = ['idempotency_key_reused', 'idempotency_in_progress', 'idempotency_quota_exceeded'] as const;

function problemsOf({ method, body, query, params, handle, whileSuspended, problems }: Endpoint): Set<ProblemCode> {
  const all = new Set(everywhere);
  const add = (is: boolean, ...codes: readonly ProblemCode[]) => is && codes.forEach((code) => all.add(code));
  const isWrite = method !== 'get';
  add(body !== undefined || method === 'post', ...withOctets);
  add(body !== undefined, 'missing_field', 'invalid_field');
  add(isWrite, 'invalid_field', ...withKey);
  add(isWrite && whileSuspended !== true, 'account_suspended');
  add(query !== undefined, 'invalid_field');
  add(params !== undefined, 'not_found');
  add(true, ...(problems ?? []), 'unknown_field');
  add(handle !== undefined, 'control_plane_unavailable');
  return all;
}

const inJson = (schema: z.ZodType) => ({ content: { 'application/json': { schema } } });

function contentOf(schema: z.ZodType, files: readonly string[] = []) {
  const file = { schema: z.string().openapi({ format: 'binary' }) };
  return { content: { 'application/json': { schema }, ...Object.fromEntries(files.map((type) => [type, file])) } };
}

/** Adds a route to the OpenAPI document. */
export function describeEndpoint(app: OpenAPIHono, endpoint: Endpoint): void {
  const { method, path, tag, summary, answer, otherAnswer, params, query, body } = endpoint;
  const answers: Endpoint['answer'][] = otherAnswer === undefined ? [answer] : [answer, otherAnswer];
  app.openAPIRegistry.registerPath({
    method,
    path,
    tags: [tag],
    summary,
    description:
      `${endpoint.description ?? ''}\n\nNeeds the scope \`${endpoint.scope}\`${endpoint.liveOnly ? ' and a live key' : ''}.`.trim(),
    operationId: operationIdOf(method, path),
    security: [{ apiKey: [] }],
    request: {
      ...(params === undefined ? {} : { params: params as z.ZodObject }),
      ...(query === undefined ? {} : { query: query as z.ZodObject }),
      ...(method === 'get' ? {} : { headers: [idempotencyHeader] }),
      ...(body === undefined ? {} : { body: { required: !body.safeParse({}).success, ...inJson(body) } }),
    },
    responses: {
      ...Object.fromEntries(
        answers.map(({ status, description, schema, files }) => [status, { description, ...contentOf(schema, files) }]),
      ),
      ...problemResponses(problemsOf(endpoint)),
    },
  });
}

const idempotencyHeader = z
  .string()
  .min(1)
  .max(255)
  .optional()
  .openapi({
    param: { name: 'Idempotency-Key', in: 'header' },
    description:
      'A key of your choice in printable ASCII; for messages, `auto_<ms>_<random>` is an automatic key. Within 24 hours the same key and body get the stored answer with ' +
      '`idempotent-replayed: true`; another body is refused.',
  });

function problemResponses(codes: Iterable<ProblemCode>) {
  const byStatus = new Map<number, ProblemCode[]>();
  for (const code of codes) {
    const { status } = problemCatalogue[code];
    byStatus.set(status, [...(byStatus.get(status) ?? []), code]);
  }
  return Object.fromEntries(
    [...byStatus].map(([status, list]) => [
      status,
      {
        description: list.map((code) => `\`${code}\`: ${problemCatalogue[code].title}`).join('\n\n'),
        content: { [problemContentType]: { schema: problemSchema } },
      },
    ]),
  );
}

/** `get /v1/api-keys/{id}` → `get_v1_api_keys_id`: stable, because client generators name methods after it. */
function operationIdOf(method: string, path: string): string {
  return `${method}_${path.replaceAll(/[^A-Za-z0-9]+/g, '_').replaceAll(/^_|_$/g, '')}`;
}

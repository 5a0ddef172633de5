// Serves a management request: authentication, scope, validation, then the handler. A handler gets only validated
// values and returns a value; what it throws becomes a 503 or a 500 here.
import { z } from '@hono/zod-openapi';
import type { Context, Hono } from 'hono';
import type { Principal } from '../../acceptance/principal.ts';
import type { Account, Directory } from '../../directory/contract.ts';
import { isStoreUnavailable } from '../../control/store/connection.ts';
import { parseIp } from '../../platform/ip-address.ts';
import { DeadlineExceeded, withDeadline } from '../../platform/deadline.ts';
import { messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { octetsWithin } from '../../platform/octets-within.ts';
import { authenticate, missingScope } from '../http/access.ts';
import { networkGate } from '../../acceptance/principal-limits.ts';
import { type Problem, problem, problemOfRefusal } from '../problem.ts';
import type { Endpoint, HandlerContext, HandlerParts, StreamedAnswer } from './endpoint.ts';
import type { IdempotentWrite } from './idempotent-write.ts';
import { parseObject } from '../json-object.ts';
import { refuseIdempotencyKey, refuseMediaType } from '../request-headers.ts';
import { answerProblem, type Variables } from './refuse.ts';
import type { SharedWork } from './shared-work.ts';
import { check, rawQuery } from '../validation.ts';

type ServeParts = {
  readonly handlers: HandlerParts;
  readonly idempotentWrite: IdempotentWrite;
  readonly work: SharedWork;
};

/** Adds a route and its handler to the app. */
export function serveEndpoint(app: Hono<Variables>, parts: ServeParts, endpoint: Endpoint): void {
  const { handle } = endpoint;
  // Served by api/http.
  if (handle === undefined) return;
  const path = endpoint.path.replaceAll(/\{(\w+)\}/g, ':$1');
  app.on(endpoint.method.toUpperCase(), path, async (c) => {
    let leave = () => {};
    let working: Promise<unknown> = Promise.resolve();
    try {
      const admitted = admit(c, parts.handlers.directory, endpoint);
      if ('problem' in admitted) return answerProblem(c, admitted.problem);
      const { accountId } = admitted.account;
      const place = parts.work.enter(accountId, endpoint);
      if (!place.ok) return answerProblem(c, place.problem);
      leave = place.leave;
      const read = await readRequest(c, admitted, endpoint);
      if ('problem' in read) return answerProblem(c, read.problem);
      // A report is not made for nobody: what its head says of the content may be left out (RFC 9110, 9.3.2).
      if (c.req.method === 'HEAD' && endpoint.answer.files !== undefined) return c.body(null, 200);
      const { octets } = read;
      const context = { ...read.context, parts: parts.handlers };
      const work = () => {
        const isInDatabase = endpoint.method !== 'get' && endpoint.waitsForOthers !== true;
        const handling = isInDatabase ? parts.work.write(accountId, () => handle(context)) : handle(context);
        working = handling;
        return withDeadline('the request', limits.management.requestDeadlineMs, handling);
      };
      const sentKey = endpoint.method === 'get' ? undefined : c.req.header('idempotency-key');
      const idempotencyKey = sentKey ?? '';
      const wrongKey = refuseIdempotencyKey(idempotencyKey, sentKey === undefined ? 0 : 1);
      if (wrongKey !== null) return answerProblem(c, wrongKey);
      const { shownOnce = [] } = endpoint;
      const operation = `${c.req.method} ${c.req.path}`;
      const keyed = { principal: context.principal, operation, idempotencyKey, body: octets, shownOnce };
      const answer =
        idempotencyKey === '' ? { ...(await work()), replayed: false } : await parts.idempotentWrite(keyed, work);
      if ('stream' in answer) {
        const { stream, ended } = withEnd(answer.stream);
        working = ended;
        return streamed(c, { ...answer, stream });
      }
      if ('problem' in answer) return answerProblem(c, answer.problem);
      if (answer.replayed === true) c.header('idempotent-replayed', 'true');
      return c.json(answer.body as object, endpoint.answer.status);
    } catch (error) {
      return answerProblem(c, problemOfError(error, c.get('requestId'), endpoint));
    } finally {
      // After a timeout the work may still run in the database: the slot is kept until it ends, and until an answer in parts has left.
      void working.then(leave, leave);
    }
  });
}

/** `ended` when the stream has ended, has failed, or its reader has gone away, also before the first part. */
function withEnd(parts: AsyncIterable<Uint8Array>): { stream: AsyncIterable<Uint8Array>; ended: Promise<void> } {
  const { promise: ended, resolve } = Promise.withResolvers<void>();
  const source = parts[Symbol.asyncIterator]();
  const iterator: AsyncIterator<Uint8Array> = {
    async next() {
      try {
        const next = await source.next();
        if (next.done === true) resolve();
        return next;
      } catch (error) {
        resolve();
        throw error;
      }
    },
    async return() {
      resolve();
      await source.return?.();
      return { done: true, value: undefined };
    },
  };
  return { stream: { [Symbol.asyncIterator]: () => iterator }, ended };
}

/** With the backpressure of the connection: a part is asked for when the one before it is written. */
function streamed(c: Context<Variables>, { stream, contentType, fileName }: StreamedAnswer): Response {
  c.header('content-type', contentType);
  if (fileName !== null) c.header('content-disposition', `attachment; filename="${fileName}"`);
  return c.body(ReadableStream.from(stream) as ReadableStream<Uint8Array<ArrayBuffer>>);
}

/**
 * A database that is away is not a bug: sending goes on without it. Its own deadlines end in errors of its own; a request that
 * took too long as a whole waited for what its endpoint waits for.
 */
export function problemOfError(
  error: unknown,
  requestId: string,
  { waitsForOthers }: Pick<Endpoint, 'waitsForOthers'> = {},
): Problem {
  if (isStoreUnavailable(error)) {
    log.warn({ requestId, error: messageOf(error) }, 'the database is away');
    return problem(503, 'control_plane_unavailable', 'the database of the management API is away', 2);
  }
  if (error instanceof DeadlineExceeded) {
    const slow = waitsForOthers === true ? 'another process, or NATS, did not answer' : 'the database is slow';
    log.warn({ requestId, error: messageOf(error) }, `a management request took too long: ${slow}`);
    return problem(503, 'control_plane_unavailable', `the request took too long: ${slow}`, 2);
  }
  const stack = error instanceof Error ? error.stack : undefined;
  log.error({ requestId, error: messageOf(error), stack }, 'a management request failed');
  return problem(500, 'internal_error', 'an error inside Heliograph; its log has the cause');
}

type Admitted = { readonly principal: Principal; readonly account: Account; readonly from: string };

/** Every check that does not need the body. */
function admit(c: Context<Variables>, directory: Directory, endpoint: Endpoint): Admitted | { problem: Problem } {
  // Parsed exactly as the ingress does: a key that only one of the two recognised would bypass the ingress's gates.
  const authenticated = authenticate(directory, c.req.header('authorization') ?? '');
  if (!authenticated.ok) return authenticated;
  const { principal } = authenticated;
  const forwardedFor = c.req.header('x-forwarded-for');
  // The ingress has checked the networks of the keys it knows; this checks those it does not know yet.
  const elsewhere = forwardedFor === undefined ? null : networkGate(principal, parseIp(forwardedFor));
  if (elsewhere !== null) return { problem: problemOfRefusal(elsewhere) };
  const noScope = missingScope(principal, endpoint.scope);
  if (noScope !== null) return { problem: noScope };
  if (endpoint.liveOnly === true && !principal.livemode) {
    return { problem: problem(403, 'scope_missing', 'live messages depend on it: use a live key') };
  }
  // An attacker who took over an account that was suspended must not prepare its return; revoking keys only takes away.
  const isWrite = endpoint.method !== 'get' && endpoint.whileSuspended !== true;
  if (isWrite && principal.account.status === 'suspended') {
    return { problem: problem(403, 'account_suspended', 'the account is suspended: it may read, and revoke API keys') };
  }
  return { principal, account: principal.account, from: forwardedFor ?? 'loopback' };
}

type ReadRequest = {
  readonly context: Omit<HandlerContext<unknown, unknown, unknown>, 'parts'>;
  readonly octets: Uint8Array;
};

async function readRequest(
  c: Context<Variables>,
  admitted: Admitted,
  endpoint: Endpoint,
): Promise<ReadRequest | { problem: Problem }> {
  const { body: schema = endpoint.method === 'post' ? noFields : undefined } = endpoint;
  const header = schema === undefined ? null : refuseHeaders(c, schema);
  if (header !== null) return { problem: header };

  const given = c.req.param();
  if (Object.values(given).some(isNoText)) {
    return { problem: problem(404, 'not_found', 'nothing of this account has such an id') };
  }
  const params = check(endpoint.params, given, 'invalid_field');
  if (!params.ok) return { problem: params.problem };
  const query = check(endpoint.query, rawQuery(c.req.url), 'unknown_field', 'query parameter');
  if (!query.ok) return { problem: query.problem };
  const by = { name: admitted.principal.id, from: admitted.from };
  const context = { ...admitted, by, query: query.value, params: params.value };
  if (schema === undefined) return { context: { ...context, body: undefined }, octets: noOctets };
  const json = await readJson(c, schema);
  if ('problem' in json) return json;
  const body = check(schema, json.value, 'unknown_field');
  if (!body.ok) return { problem: body.problem };
  return { context: { ...context, body: body.value }, octets: json.octets };
}

/** Text that PostgreSQL cannot store, so no row can match it. */
const isNoText = (value: string) => value.includes('\u0000') || !value.isWellFormed();

const noOctets = new Uint8Array(0);

/** Of a POST that takes nothing: what a caller sends all the same would be ignored, and may be a mistake. */
const noFields = z.strictObject({});

/** Refuses media types and encodings that the server does not support. */
function refuseHeaders(c: Context<Variables>, body: z.ZodType): Problem | null {
  if (hasNoBody(c) && mayBeLeftOut(body)) return null;
  return refuseMediaType(c.req.header('content-type') ?? '', c.req.header('content-encoding') ?? '');
}

/** A body whose fields are all optional may be missing. */
const mayBeLeftOut = (body: z.ZodType) => body.safeParse({}).success;
const hasNoBody = (c: Context<Variables>) =>
  (c.req.header('content-length') ?? '0') === '0' && c.req.header('transfer-encoding') === undefined;

async function readJson(
  c: Context<Variables>,
  body: z.ZodType,
): Promise<{ value: Record<string, unknown>; octets: Uint8Array } | { problem: Problem }> {
  const octets = await readOctets(c.req.raw);
  if (octets === null) {
    return { problem: problem(413, 'body_too_large', `the body may have at most ${limits.http.bodyBytesMax} bytes`) };
  }
  if (octets.length === 0 && mayBeLeftOut(body)) return { value: {}, octets };
  const parsed = parseObject(octets);
  return parsed.ok ? { value: parsed.fields, octets } : parsed;
}

/** Null when the body exceeds the limit; the rest is not read. */
async function readOctets({ headers, body }: Request): Promise<Buffer | null> {
  if (Number(headers.get('content-length') ?? 0) > limits.http.bodyBytesMax) return null;
  return body === null ? Buffer.alloc(0) : octetsWithin(body, limits.http.bodyBytesMax);
}

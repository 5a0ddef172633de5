// SQL over HTTP for the operator of an installation with the embedded engine: POST /sql with the statement as its body, on a
// loopback port of its own. Off unless heliograph.yaml says otherwise (docs/schema.md).
import { createHash, timingSafeEqual } from 'node:crypto';
import { once } from 'node:events';
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { type SqlFormat, contentTypes, sqlFormats } from '../../analytics/sql/public-tables.ts';
import type { OperatorReader } from '../../analytics/sql/operator-reader.ts';
import { isLoopback } from '../../config/loopback.ts';
import { SetupError, ignoring, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { octetsWithin } from '../../platform/octets-within.ts';
import { secretBytes } from '../../platform/random.ts';
import { type Problem, problem, problemBody, problemContentType, problemHeaders, problemOf } from '../problem.ts';

type Options = {
  /** 0: any free port. */
  readonly port: number;
  /** At least 32 characters. */
  readonly token: string;
  readonly reader: Pick<OperatorReader, 'run'>;
};

const { operatorSql: bounds } = limits;

/** Throws SetupError when the port is taken. */
export async function startSqlEndpoint({ port, token, reader }: Options) {
  const server = createServer((request, response) => {
    const requestId = `req_${secretBytes(12).toString('hex')}`;
    answer(request, digestOf(token), reader)
      .then((answered) => send(response, requestId, answered))
      .catch((error: unknown) => {
        log.warn({ error: messageOf(error) }, 'a statement of the operator could not be answered');
        request.destroy();
      });
  });
  server.requestTimeout = bounds.requestMs;
  server.headersTimeout = bounds.requestMs;
  server.maxConnections = bounds.connectionsMax;
  return {
    port: await listen(server, port),
    close: () =>
      new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      }),
  };
}

type Answered = Problem | { readonly octets: Buffer; readonly format: SqlFormat };

async function answer(request: IncomingMessage, token: Buffer, reader: Pick<OperatorReader, 'run'>): Promise<Answered> {
  // A page in a browser on this machine must not reach it under a name of its own (DNS rebinding).
  if (!isLoopback((request.headers.host ?? 'localhost').replace(/:\d*$/, '')))
    return problem(404, 'not_found', 'ask as http://127.0.0.1');
  const given = /^Bearer (\S+)$/.exec(request.headers.authorization ?? '')?.[1] ?? '';
  if (given === '') return problem(401, 'missing_api_key', 'send the token of HELIOGRAPH_SQL_TOKEN as a Bearer');
  if (!timingSafeEqual(digestOf(given), token)) {
    return problem(401, 'invalid_api_key', 'not the token of HELIOGRAPH_SQL_TOKEN');
  }
  const url = new URL(request.url ?? '/', 'http://127.0.0.1');
  if (url.pathname !== '/sql') return problem(404, 'not_found', 'POST /sql');
  if (request.method !== 'POST') return problem(405, 'method_not_allowed', 'POST /sql');
  const strange = [...url.searchParams.keys()].find((name) => name !== 'format');
  if (strange !== undefined) return problem(422, 'unknown_field', `${strange}: there is only \`format\``);
  const wanted = url.searchParams.get('format') ?? 'json';
  const format = sqlFormats.find((each) => each === wanted);
  if (format === undefined) return problem(422, 'invalid_field', `format: must be one of ${sqlFormats.join(', ')}`);
  const body = await octetsWithin(request, bounds.statementOctetsMax);
  if (body === null)
    return problem(413, 'body_too_large', `a statement has at most ${bounds.statementOctetsMax} octets`);
  const sql = body.toString();
  if (sql.trim() === '') return problem(422, 'invalid_field', 'the body must be a SELECT');
  const found = await reader.run(sql, format);
  if (found.result === 'found') return { octets: found.octets, format };
  const { result, detail } = found;
  if (result === 'busy') return problem(503, 'overloaded', detail, 1);
  if (result === 'unavailable') return problem(503, 'sql_unavailable', detail, 5);
  return problemOf({ code: `sql_${result}`, detail, retryAfterS: null });
}

function send(response: ServerResponse, requestId: string, answered: Answered): void {
  const shared = { 'x-request-id': requestId, 'cache-control': 'no-store' };
  if ('octets' in answered) {
    response.writeHead(200, { ...shared, 'content-type': contentTypes[answered.format] });
    response.end(answered.octets);
    return;
  }
  response.writeHead(answered.status, {
    ...shared,
    ...Object.fromEntries(problemHeaders(answered)),
    ...(answered.status === 413 ? { connection: 'close' } : {}),
    'content-type': problemContentType,
  });
  response.end(problemBody(answered, requestId));
}

const digestOf = (text: string) => createHash('sha256').update(text).digest();

async function listen(server: Server, port: number): Promise<number> {
  try {
    await once(server.listen(port, '127.0.0.1'), 'listening');
  } catch (error) {
    const { code } = error as NodeJS.ErrnoException;
    throw new SetupError(`analytics.sql_endpoint: port ${port} cannot be used (${code})`, error);
  }
  server.on('error', (error) => ignoring(error, 'the SQL endpoint'));
  return (server.address() as AddressInfo).port;
}

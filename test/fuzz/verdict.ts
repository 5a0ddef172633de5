// Whether the document allows an answer for its request. Pure.
import { problemCatalogue } from '../../api/problem-catalogue.ts';
import { limits } from '../../platform/limits.ts';
import type { Fits, Operation } from './document.ts';
import type { FuzzRequest } from './request.ts';
import { type FuzzReply, type NoReply, type Sent, jsonOf } from './wire.ts';

/** `kind` distinguishes findings by cause; null: nothing is wrong. */
export type Finding = { readonly kind: string; readonly why: string } | null;

export type Judge = (request: FuzzRequest, sent: Sent, reply: FuzzReply | NoReply) => Finding;

const plainRequestId = /^[A-Za-z0-9._:/+=-]{1,128}$/;

export function judgeOf(operations: readonly Operation[], isProblem: Fits, isMessage: Fits): Judge {
  const byName = new Map(operations.map((operation) => [operation.name, operation]));
  return (request, sent, reply) => {
    const operation = byName.get(request.operation ?? '') ?? null;
    if ('broken' in reply) {
      // When the server closes in the middle of a body, the client may lose the answer: RFC 9112, section 9.6.
      if (sent.body.length > limits.http.bodyBytesMax) return null;
      return { kind: 'no answer', why: reply.broken };
    }
    return (
      requestIdFinding(sent, reply) ??
      (reply.status >= 400
        ? refusalFinding(sent, reply, isProblem)
        : successFinding(request, sent, reply, operation, isMessage)) ??
      (operation === null || operation.answers.has(reply.status)
        ? null
        : {
            kind: `undocumented ${reply.status} of ${operation.name}`,
            why: `the document has no ${reply.status} here`,
          })
    );
  };
}

function requestIdFinding(sent: Sent, { headers }: FuzzReply): Finding {
  const id = headers['x-request-id'];
  if (typeof id !== 'string' || id === '') return { kind: 'no x-request-id', why: `x-request-id: ${String(id)}` };
  const own = sent.headers['x-request-id'];
  if (own === undefined || !plainRequestId.test(own) || own === id) return null;
  return { kind: 'x-request-id not kept', why: `sent ${own}, got ${id}` };
}

function refusalFinding(sent: Sent, { status, headers, text }: FuzzReply, isProblem: Fits): Finding {
  if (status >= 500 && (status !== 503 || headers['retry-after'] === undefined)) {
    return { kind: `${status}`, why: text.slice(0, 500) };
  }
  if (sent.method === 'HEAD') return null;
  // Who opens a short link is a person: the answer is a sentence.
  if (status === 404 && sent.path.startsWith('/r/') && headers['content-type'] === 'text/plain; charset=utf-8')
    return null;
  if (headers['content-type'] !== 'application/problem+json') {
    return { kind: `${status} without a problem`, why: `${String(headers['content-type'])}: ${text.slice(0, 300)}` };
  }
  const problem = jsonOf(text) as { code: string; status: number; request_id: string } | undefined;
  const misfit = problem === undefined ? 'is not JSON' : isProblem(problem);
  if (problem === undefined || misfit !== null)
    return { kind: 'a malformed problem', why: `${misfit}: ${text.slice(0, 500)}` };
  const entry = Object.hasOwn(problemCatalogue, problem.code)
    ? problemCatalogue[problem.code as keyof typeof problemCatalogue]
    : undefined;
  if (entry === undefined) return { kind: 'an unknown code', why: problem.code };
  if (problem.status !== status || entry.status !== status) {
    return { kind: `${problem.code} with another status`, why: `${status}, and ${problem.status} in the body` };
  }
  if (problem.request_id !== headers['x-request-id']) return { kind: 'two request ids', why: problem.request_id };
  return null;
}

function successFinding(
  request: FuzzRequest,
  sent: Sent,
  reply: FuzzReply,
  operation: Operation | null,
  isMessage: Fits,
): Finding {
  const { status, headers, text } = reply;
  if (status < 200 || status >= 300) return { kind: `a ${status}`, why: text.slice(0, 300) };
  if (operation === null || sent.method === 'HEAD') return null;
  const answer = operation.answers.get(status);
  if (answer === undefined) return null;
  if (answer.files.includes(String(headers['content-type']))) return null;
  if (headers['content-type'] !== answer.contentType) {
    return { kind: `another content type of ${operation.name}`, why: String(headers['content-type']) };
  }
  const json = jsonOf(text);
  const misfit = json === undefined ? 'is not JSON' : answer.fits(json);
  if (misfit !== null)
    return { kind: `${operation.name} answers off its schema`, why: `${misfit}: ${text.slice(0, 500)}` };
  if (operation.name === 'post /v1/sms/batch') return itemFinding(sent, json as Batch, isMessage);
  const asked = operation.body === null ? {} : jsonOf(sent.body.toString('utf8'));
  const wrong = operation.takesBody(asked);
  if (wrong === null || sent.body.length === 0) return null;
  return { kind: `${operation.name} takes what its schema forbids`, why: wrong };
}

type Batch = { readonly results: readonly object[] };

/** Every message of a batch is decided by itself: what does not fit is refused in its place. */
function itemFinding(sent: Sent, { results }: Batch, isMessage: Fits): Finding {
  const { messages } = jsonOf(sent.body.toString('utf8')) as { messages: readonly unknown[] };
  if (results.length !== messages.length) {
    return { kind: 'a batch with lost results', why: `${messages.length} messages, ${results.length} results` };
  }
  const taken = messages.findIndex((message, index) => isMessage(message) !== null && 'id' in (results[index] ?? {}));
  if (taken < 0) return null;
  return {
    kind: 'a batch takes what the schema of messages forbids',
    why: `messages[${taken}] ${isMessage(messages[taken])}`,
  };
}

// docs/errors.md says what the catalogue says. `-u` rewrites it.
import { expect, test } from 'vitest';
import { actors, errorsPage } from '../../../api/management/pages/errors-page.ts';
import { problem, problemBody, problemOfFields } from '../../../api/problem.ts';
import { type ProblemEntry, problemCatalogue } from '../../../api/problem-catalogue.ts';
import { limits } from '../../../platform/limits.ts';

const entries = Object.entries<ProblemEntry>(problemCatalogue);

test('docs/errors.md is the catalogue', async () => {
  await expect(errorsMarkdown()).toMatchFileSnapshot('../../../docs/errors.md');
});

test('every code has error statuses and texts, and is on the page with an anchor of its own', () => {
  const page = errorsPage();
  for (const [code, { status, title, action }] of entries) {
    expect(code).toMatch(/^[a-z_]+$/);
    expect(status >= 400 && status < 600).toBe(true);
    expect(title.length * action.length).toBeGreaterThan(0);
    expect(`${title}${action}`).not.toContain('|');
    expect(page.split(`id="${code}"`)).toHaveLength(2);
  }
});

test('a problem goes out in the shape of RFC 9457 with our members', () => {
  const body = JSON.parse(problemBody(problem(404, 'not_found', 'nothing here'), 'req_1'));
  expect(body).toEqual({
    type: '/docs/errors#not_found',
    title: 'Not found',
    status: 404,
    code: 'not_found',
    detail: 'nothing here',
    errors: [],
    request_id: 'req_1',
  });
});

test('of several wrong fields the first gives the code and all are listed', () => {
  const wrong = problemOfFields([
    { field: 'to', code: 'missing_field', detail: 'is required' },
    { field: 'x', code: 'unknown_field', detail: 'is not a field' },
  ]);
  expect(wrong).toMatchObject({
    status: 422,
    code: 'missing_field',
    detail: 'to: is required (and 1 more, see errors)',
  });
  expect(wrong?.errors).toHaveLength(2);
});

test('of more wrong fields than an answer names all are counted, whichever part lists them', () => {
  const fields = (count: number) =>
    Array.from({ length: count }, (_, at) => ({ field: `f${at}`, code: 'unknown_field', detail: 'is odd' }) as const);
  expect(problemOfFields(fields(10))?.detail).toBe('f0: is odd (and 9 more, see errors)');
  for (const problem of [problemOfFields(fields(900)), problemOfFields(fields(10), 900)]) {
    expect(problem?.detail).toBe('f0: is odd (and 899 more; errors has the first 10)');
    expect(problem?.errors).toHaveLength(10);
  }
});

function errorsMarkdown(): string {
  const rows = entries.map(
    ([code, { status, title, actor, action }]) =>
      `| <a id="${code}"></a>\`${code}\` | ${status} | ${title} | ${actors[actor]} | ${action} |`,
  );
  return [
    '# Errors',
    '',
    'Every refusal of the HTTP API is a problem document (RFC 9457, `application/problem+json`):',
    '',
    '```json',
    JSON.stringify(
      {
        type: '/docs/errors#sender_not_registered',
        title: problemCatalogue.sender_not_registered.title,
        status: 422,
        code: 'sender_not_registered',
        detail: 'from: "ACME" is not an approved sender of this account',
        errors: [
          {
            field: 'from',
            code: 'sender_not_registered',
            detail: '"ACME" is not an approved sender of this account',
          },
        ],
        request_id: 'req_8Z4Q1T6W9XAB2CD3',
      },
      null,
      2,
    ),
    '```',
    '',
    'Decide by `code`: it is stable. `detail` is for people and may change. `errors` names every wrong field, at most',
    'ten. Where a retry is right the answer has `Retry-After`; a write that is retried with the same `Idempotency-Key`',
    'and body happens once. Problems about one-time passwords have `limit` or `guard` beside them where a limit is reached or the',
    'guard against fraud refuses: [what they say](otp.md#limits).',
    '',
    '| code | status | meaning | who acts | how |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    ...bodySizes,
    '',
    ...beforeUnderstood,
    '',
    'What `error` of a message says (`GET /v1/sms/{id}`) is another list, [of outcomes](outcomes.md#what-error-of-a-message-says).',
    '',
    'This page is made from `api/problem-catalogue.ts`; `npm test -- test/api/management/errors -u` rewrites it.',
    '',
  ].join('\n');
}

/** test/api/json-object.test.ts and test/api/http/hostile-requests.test.ts hold them. */
const bodySizes = [
  '## The size of a body',
  '',
  `A body may have ${limits.http.bodyBytesMax / 1024} KiB (else \`body_too_large\`), each object in it`,
  `${limits.http.objectFieldsMax.toLocaleString('en')} fields, and ${limits.http.bodyDepthMax} objects and lists may be within one another (else \`invalid_json\`, before the body is parsed).`,
  'How many messages a batch has: [scheduling](scheduling.md).',
];

/** test/api/http/hostile-clients.test.ts holds each row. */
const beforeUnderstood: readonly string[] = [
  '## Before a request is understood',
  '',
  'What is no HTTP/1.1 request is answered by the server itself, with a line of HTML or nothing in place of a problem document,',
  'and the connection is closed. None of it was carried out:',
  '',
  '| what came | answer |',
  '|---|---|',
  '| HTTP/1.0, HTTP/2 without TLS, TLS on this port, or a first line that is not HTTP’s | 505; a first line of one word gets no answer and is closed after ten seconds |',
  `| more than ${limits.http.headersMax} headers, or more than ${limits.http.headerBytesMax / 1024} KiB of them with the request line | 431 |`,
  '| no `Host` or two, `Content-Length` beside `Transfer-Encoding`, a length that is no number, a folded header | 400 |',
  '| two `Content-Length` | closed without an answer |',
  '| headers that never end | closed without an answer |',
  '| a further request on a connection whose last one waits for its answer (pipelining) | closed without an answer |',
  '',
  '**A request before it on the same connection that still waits for its answer may be carried out**, and its 202 never comes: you',
  'see only the answer to the bytes after it. With too short a `Content-Length` those are the rest of your own body.',
  'Repeat it with the same `Idempotency-Key`, as after any connection that was lost: it happens once. A proxy in front has',
  '[settings of its own](operations.md#behind-a-proxy).',
];

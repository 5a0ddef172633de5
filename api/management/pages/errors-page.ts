// The catalogue of problems for people: docs/errors.md (a test holds it to the catalogue) and the page /docs/errors,
// to which every problem's `type` points.
import { limits } from '../../../platform/limits.ts';
import { type ProblemActor, type ProblemEntry, problemCatalogue } from '../../problem-catalogue.ts';

const entries = Object.entries<ProblemEntry>(problemCatalogue);

const actors: Record<ProblemActor, string> = {
  client: 'the calling program',
  owner: "the account's administrator",
  operator: 'whoever runs Heliograph',
};

export function errorsMarkdown(): string {
  const rows = entries.map(
    ([code, { statuses, title, actor, action }]) =>
      `| <a id="${code}"></a>\`${code}\` | ${statuses.join(', ')} | ${title} | ${actors[actor]} | ${action} |`,
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
    'and body happens once.',
    '',
    '| code | status | meaning | who acts | how |',
    '|---|---|---|---|---|',
    ...rows,
    '',
    ...beforeUnderstood,
    '',
    'What `error` of a message says (`GET /v1/sms/{id}`) is another list, [of outcomes](outcomes.md#what-error-of-a-message-says).',
    '',
    'This page is made from `api/problem-catalogue.ts`; `npx vitest run test/api/management/errors -u` rewrites it.',
    '',
  ].join('\n');
}

/** test/api/http/hostile-clients.test.ts holds each row. */
const beforeUnderstood: readonly string[] = [
  '## Before a request is understood',
  '',
  'What is no HTTP/1.1 request is answered by the server itself, with a line of HTML or nothing in place of a problem document,',
  'and the connection is closed. None of it was carried out; but for the last row:',
  '',
  '| what came | answer |',
  '|---|---|',
  '| HTTP/1.0, HTTP/2 without TLS, TLS on this port, or no HTTP at all | 505 |',
  `| more than ${limits.http.headersMax} headers, or more than ${limits.http.headerBytesMax / 1024} KiB of them with the request line | 431 |`,
  '| no `Host` or two, `Content-Length` beside `Transfer-Encoding`, a length that is no number, a folded header | 400 |',
  '| two `Content-Length` | closed without an answer |',
  '| headers that never end | closed without an answer |',
  '| a further request on a connection whose last one waits for its answer (pipelining) | closed without an answer |',
  '',
  '**The write that waited then may have happened**, though its 202 never came. Repeat it with the same `Idempotency-Key`, as after',
  'any connection that was lost: it happens once. A proxy in front has [settings of its own](operations.md#behind-a-proxy).',
];

export function errorsPage(): string {
  const rows = entries.map(
    ([code, { statuses, title, actor, action }]) =>
      `<tr id="${code}"><td><code>${code}</code></td><td>${statuses.join(', ')}</td><td>${marked(title)}</td>` +
      `<td>${marked(actors[actor])}</td><td>${marked(action)}</td></tr>`,
  );
  return `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Heliograph errors</title>
<link rel="icon" type="image/png" href="/docs/assets/favicon-32x32.png">
<style>
body { font: 16px/1.5 system-ui, sans-serif; margin: 2rem auto; max-width: 72rem; padding: 0 1rem }
table { border-collapse: collapse; width: 100% }
th, td { border-bottom: 1px solid #ccc; padding: .4rem .6rem; text-align: left; vertical-align: top }
tr:target { background: #fff3c4 }
</style>
</head>
<body>
<h1>Errors</h1>
<p>Every refusal of the <a href="/docs">API</a> carries one of these codes.</p>
<table>
<thead><tr><th>code</th><th>status</th><th>meaning</th><th>who acts</th><th>how</th></tr></thead>
<tbody>
${rows.join('\n')}
</tbody>
</table>
</body>
</html>
`;
}

/** Text for HTML, with `code` in backticks as in the markdown. */
function marked(text: string): string {
  const escaped = text.replaceAll('&', '&amp;').replaceAll('<', '&lt;').replaceAll('>', '&gt;');
  return escaped.replaceAll(/`([^`]+)`/g, '<code>$1</code>');
}

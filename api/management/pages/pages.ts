// The pages of the API: the OpenAPI document, its reader and the list of errors. Everything is served by us: no
// file, font or image comes from elsewhere, and the content policy forbids it.
import type { Hono } from 'hono';
import { problem } from '../../problem.ts';
import { answerProblem } from '../refuse.ts';
import type { Variables } from '../variables.ts';
import { readAsset } from './assets.ts';
import { errorsPage } from './errors-page.ts';
import { readerPage } from './reader-page.ts';

const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  // The reader sets styles on its elements.
  "style-src 'self' 'unsafe-inline'",
  "img-src 'self' data:",
  "connect-src 'self'",
  "base-uri 'none'",
  "form-action 'none'",
  "frame-ancestors 'none'",
].join('; ');

const pageHeaders = {
  'content-security-policy': contentPolicy,
  'x-content-type-options': 'nosniff',
  'referrer-policy': 'no-referrer',
};

export function servePages(app: Hono<Variables>, makeDocument: () => object): void {
  let document: string | null = null;
  app.get('/openapi.json', (c) => {
    document ??= JSON.stringify(makeDocument());
    return c.body(document, 200, { 'content-type': 'application/json', 'access-control-allow-origin': '*' });
  });
  app.get('/docs', (c) => c.html(readerPage, 200, pageHeaders));
  app.get('/docs/errors', (c) => c.html(errorsPage(), 200, pageHeaders));
  app.get('/docs/assets/:file', async (c) => {
    const gzip = /\bgzip\b/.test(c.req.header('accept-encoding') ?? '');
    const asset = await readAsset(c.req.param('file'), gzip);
    if (asset === null) return answerProblem(c, problem(404, 'not_found', 'there is no such file'));
    return c.body(asset.octets, 200, {
      'content-type': asset.contentType,
      'cache-control': 'public, max-age=3600',
      vary: 'accept-encoding',
      ...(gzip ? { 'content-encoding': 'gzip' } : {}),
      ...pageHeaders,
    });
  });
}

// The pages of the API: the OpenAPI document, its reader and the list of errors. Heliograph serves every file itself,
// and the content security policy forbids others.
import type { Hono } from 'hono';
import { problem } from '../../problem.ts';
import { answerProblem, type Variables } from '../refuse.ts';
import { errorsPage } from './errors-page.ts';
import { readFile } from 'node:fs/promises';
import { createRequire } from 'node:module';
import { dirname, join } from 'node:path';
import { promisify } from 'node:util';
import { gzip } from 'node:zlib';

const contentPolicy = [
  "default-src 'none'",
  "script-src 'self'",
  // Swagger UI sets inline styles.
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

/** The reader of the OpenAPI document. No inline script: the policy allows only our files. */
const readerPage = `<!doctype html>
<html lang="en">
<head>
<meta charset="utf-8">
<meta name="viewport" content="width=device-width, initial-scale=1">
<title>Heliograph API</title>
<link rel="icon" type="image/png" href="/docs/assets/favicon-32x32.png">
<link rel="stylesheet" href="/docs/assets/swagger-ui.css">
<style>body { margin: 0 } .swagger-ui .topbar { display: none }</style>
</head>
<body>
<div id="reader"></div>
<noscript>The API is described in <a href="/openapi.json">/openapi.json</a>.</noscript>
<script src="/docs/assets/swagger-ui-bundle.js"></script>
<script src="/docs/assets/reader.js"></script>
</body>
</html>
`;

/** validatorUrl null: otherwise Swagger UI would send the document to a validator on the internet. */
const readerScript = `SwaggerUIBundle({
  url: '/openapi.json',
  dom_id: '#reader',
  deepLinking: true,
  validatorUrl: null,
  persistAuthorization: false,
  defaultModelsExpandDepth: 0,
});
`;

type Asset = { readonly octets: Uint8Array<ArrayBuffer>; readonly contentType: string };

const script = 'text/javascript; charset=utf-8';
const files: Readonly<Record<string, string>> = {
  'swagger-ui.css': 'text/css; charset=utf-8',
  'swagger-ui-bundle.js': script,
  'favicon-32x32.png': 'image/png',
};
const ownFiles: Readonly<Record<string, string>> = { 'reader.js': readerScript };

const kept = new Map<string, Promise<Asset>>();

/** Null when there is no such file. Cached after the first read; the tables bound the number of files. */
async function readAsset(name: string, zipped: boolean): Promise<Asset | null> {
  if (!Object.hasOwn(files, name) && !Object.hasOwn(ownFiles, name)) return null;
  const keptAs = `${name} ${zipped}`;
  let asset = kept.get(keptAs);
  if (asset === undefined) {
    asset = load(name, zipped);
    kept.set(keptAs, asset);
    // A failed read is repeated at the next request.
    asset.catch(() => kept.delete(keptAs));
  }
  return asset;
}

async function load(name: string, zipped: boolean): Promise<Asset> {
  const own = ownFiles[name];
  const octets = own === undefined ? await readFile(join(packageFolder(), name)) : Buffer.from(own, 'utf8');
  const contentType = files[name] ?? script;
  return { octets: new Uint8Array(zipped ? await promisify(gzip)(octets) : octets), contentType };
}

/** Imports only the path: the package's entry point is not needed. */
const packageFolder = () => dirname(createRequire(import.meta.url).resolve('swagger-ui-dist/package.json'));

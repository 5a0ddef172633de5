// The requests of the fuzz test, as values that fast-check can shrink: an operation of the document with values that
// fit it, or with an error in the key, path, query, headers or body; and unknown paths.
import fc from 'fast-check';
import type { OpenApi, Operation } from './document.ts';
import { bodyOf, brokenJson, headersOf, noBody, oddHeader } from './odd-contents.ts';
import { oddSegment, pathOf, queryOf } from './odd-paths.ts';
import { type FuzzRequest, type KeyName, badKeys, goodKeys } from './request.ts';

export function requestsOf(document: OpenApi, operations: readonly Operation[]): fc.Arbitrary<FuzzRequest> {
  const ofOperation = operations.map((operation) => ({
    weight: weightOf(operation),
    arbitrary: operationRequests(document, operation),
  }));
  return fc.oneof(...ofOperation, { weight: 4, arbitrary: strayRequests(operations) });
}

function weightOf({ name, path }: Operation): number {
  if (name === 'post /v1/sms') return 12;
  if (path.startsWith('/v1/sms')) return 4;
  // Only after another request made what they are about.
  if (name === 'delete /v1/webhooks/{id}') return 1;
  if (name === 'post /v1/otp/{id}/resend') return 24;
  if (name === 'post /v1/otp') return 12;
  if (/^\/v1\/(otp|webhooks)\//.test(path)) return 6;
  return 2;
}

/** The keys for an operation: settings have an account of their own, carriers belong to no account. */
function ownersOf({ name, path }: Operation): readonly KeyName[] {
  if (name === 'patch /v1/account/settings' || name === 'patch /v1/otp-guard') return ['settings'];
  return /^\/v1\/(carriers|audit)/.test(path) ? ['operator'] : goodKeys;
}

function operationRequests(document: OpenApi, operation: Operation): fc.Arbitrary<FuzzRequest> {
  const owner = ownersOf(operation);
  const changesKeysOrSettings = operation.name === 'patch /v1/account/settings';
  const key: fc.Arbitrary<KeyName> = fc.oneof(
    { weight: 12, arbitrary: fc.constantFrom<KeyName>(...owner) },
    { weight: 1, arbitrary: fc.constantFrom<KeyName>(...badKeys) },
    { weight: 1, arbitrary: fc.constant<KeyName>(changesKeysOrSettings ? 'absent' : 'settings') },
  );
  return fc
    .record({
      key,
      path: pathOf(operation),
      query: queryOf(document, operation),
      method: fc.oneof(
        { weight: 30, arbitrary: fc.constant(operation.method) },
        {
          weight: 1,
          arbitrary: fc.constantFrom('HEAD', 'OPTIONS', 'PUT', 'TRACE', 'PROPFIND', 'DELETE', 'PATCH', 'GET'),
        },
      ),
      headers: headersOf(operation),
      body: bodyOf(document, operation),
    })
    .map(({ key: asked, path, query, method, headers, body }) => ({
      // With another method it may still be an operation: of the same path.
      operation: method === operation.method ? operation.name : `${method.toLowerCase()} ${operation.path}`,
      method,
      path: query === '' ? path : `${path}?${query}`,
      // A wrong method may turn it into the change of settings that must stay with its own account.
      key: operation.path === '/v1/account/settings' && method === 'PATCH' && asked !== 'absent' ? 'settings' : asked,
      headers,
      body,
    }));
}

/** Unknown paths, of later versions and of the pages, with any method. */
function strayRequests(operations: readonly Operation[]): fc.Arbitrary<FuzzRequest> {
  const pages = [
    '/',
    '/docs',
    '/docs/',
    '/docs/errors',
    '/docs/assets/x',
    '/docs/assets/..%2f..%2fpackage.json',
    '/health/live',
    '/health/ready',
    '/openapi.json',
    '/metrics',
    '/favicon.ico',
  ];
  const planned = [
    '/v1/otp',
    '/v1/otp/x/verify',
    '/v1/webhooks',
    '/v1/reports/sms',
    '/r/abc',
    '/v1',
    '/v2/sms',
    '/v1/SMS',
    '/v1/sms/',
    '//v1/sms',
    '/v1//sms',
    '/v1/sms/batch/',
    '/v1/sms/batch/x',
    '/v1/sms/a/b',
    '/%76%31/sms',
    '/v1/account/',
  ];
  const path = fc.oneof(
    fc.constantFrom(...pages, ...planned),
    oddSegment.map((segment) => `/${segment}`),
    fc
      .tuple(fc.constantFrom(...operations.map((each) => each.path)), oddSegment)
      .map(([known, segment]) => `${known}/${segment}`),
  );
  return fc
    .record({
      key: fc.constantFrom<KeyName>('live', 'test', 'absent', 'unknown'),
      path,
      method: fc.oneof(
        { weight: 3, arbitrary: fc.constantFrom('GET', 'POST') },
        { weight: 2, arbitrary: fc.constantFrom('PUT', 'DELETE', 'PATCH', 'HEAD', 'OPTIONS', 'TRACE', 'SEARCH') },
      ),
      headers: fc.array(oddHeader, { maxLength: 2 }),
      body: fc.oneof(
        { weight: 3, arbitrary: fc.constant(noBody) },
        { weight: 1, arbitrary: brokenJson.map((octets) => ({ kind: 'raw', octets }) as const) },
      ),
    })
    .map((request) => ({ operation: null, ...request }));
}

// What the fuzz sends, as values that fast-check can make smaller: an operation of the document with values that fit
// it, or with something wrong in the key, path, query, headers or body. `<sms 3>` stands for the third id that was
// given out so far and `<in 5>` for the time in five seconds: both are known only when the request is sent.
import fc from 'fast-check';
import type { OpenApi, Operation, Parameter } from './document.ts';
import { hugeText, mutated, oddText } from './odd-values.ts';
import { valuesOf } from './schema-values.ts';
import { given, hints, soundBodies, withOneText } from './sound-values.ts';

export const goodKeys = ['live', 'test'] as const;
export const badKeys = ['readOnly', 'fenced', 'slow', 'suspended', 'revoked', 'unknown', 'garbage', 'absent'] as const;
/** `settings` belongs to an account of its own: what changes an account's settings would change what all others get. */
export type KeyName = (typeof goodKeys)[number] | (typeof badKeys)[number] | 'settings' | 'operator';

export type FuzzRequest = {
  /** Null: no operation of the document. */
  readonly operation: string | null;
  readonly method: string;
  readonly path: string;
  readonly key: KeyName;
  readonly headers: readonly (readonly [name: string, value: string])[];
  readonly body: FuzzBody;
};

export type FuzzBody =
  | { readonly kind: 'none' }
  | { readonly kind: 'json'; readonly value: unknown }
  /** Octets as latin1. */
  | { readonly kind: 'raw'; readonly octets: string };

const none: FuzzBody = { kind: 'none' };
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
  // An order is answered when everybody who serves the carrier follows it: the dearest of all.
  return path.startsWith('/v1/carriers/') ? 1 : 2;
}

/** Whose business it is: an account's settings are those of one account, carriers are no account's. */
function ownersOf({ name, path }: Operation): readonly KeyName[] {
  if (name === 'patch /v1/account/settings') return ['settings'];
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

const oddSegment = fc.oneof(
  oddText.map((text) => encodeURIComponent(text.toWellFormed()).slice(0, 600)),
  fc.constantFrom(
    '%',
    '%zz',
    '%00',
    '%C3',
    '%FF%FE',
    '%2e%2e',
    '..',
    '.',
    '%2F',
    'é\u0080ÿ',
    ';a=b',
    '*',
    '~',
    "'",
    '{id}',
    '%ED%A0%80',
  ),
);

function pathOf(operation: Operation): fc.Arbitrary<string> {
  if (operation.path.startsWith('/v1/carriers/')) return carrierPathOf(operation.path);
  if (!operation.path.includes('{id}')) return fc.constant(operation.path);
  const noun = /\/v1\/([a-z-]+)/.exec(operation.path)?.[1] ?? '';
  const kind = { sms: 'sms', 'api-keys': 'key', senders: 'sender', templates: 'template', suppressions: 'suppression' }[
    noun
  ];
  const id = fc.oneof(
    { weight: 6, arbitrary: given(kind ?? 'sms') },
    { weight: 1, arbitrary: fc.constantFrom('sms', 'key', 'template').chain(given) },
    { weight: 1, arbitrary: fc.stringMatching(/^(sms|key|snd|tpl|sup)_[0-9A-HJKMNP-TV-Z]{26}$/) },
    { weight: 2, arbitrary: oddSegment },
  );
  return id.map((each) => operation.path.replace('{id}', () => each));
}

function carrierPathOf(path: string): fc.Arbitrary<string> {
  // Dots are taken out of a path before anybody sees it: then it is another one.
  const odd = { weight: 2, arbitrary: oddSegment.filter((text) => !/^(\.|%2e)*$/i.test(text)) };
  const name = fc.oneof({ weight: 8, arbitrary: fc.constantFrom('alpha', 'beta', 'gamma', 'sandbox', 'delta') }, odd);
  const bind = fc.oneof({ weight: 8, arbitrary: fc.constantFrom('1', '2', '3', '0', '01', '1e1', '9999') }, odd);
  return fc.tuple(name, bind).map(([of, nth]) => path.replace('{name}', () => of).replace('{bind}', () => nth));
}

function queryOf(document: OpenApi, operation: Operation): fc.Arbitrary<string> {
  const known = operation.parameters.filter((each) => each.in === 'query');
  const text = (value: unknown) =>
    encodeURIComponent(String(value).toWellFormed())
      .replaceAll('%3C', '<')
      .replaceAll('%3E', '>')
      .replaceAll(/%20(?=-?\d+>)/g, ' ');
  const one = ({ name, schema }: Parameter) =>
    fc.oneof(
      { weight: 6, arbitrary: valuesOf(document, schema, hints, name).map((value) => `${name}=${text(value)}`) },
      {
        weight: 1,
        arbitrary: fc
          .oneof(
            oddText.map((odd) => text(odd).slice(0, 3_000)),
            oddSegment,
          )
          .map((odd) => `${name}=${odd}`),
      },
    );
  const odd = fc.oneof(
    fc.constantFrom(
      '&',
      '=',
      '==',
      '%',
      '?',
      'limit',
      'limit=1&limit=2',
      'limit=0',
      'limit=101',
      'limit=1e1',
      'cursor=',
      '%00=1',
      'LIMIT=1',
      '__proto__=1',
      'to=%2B8801712345678',
      'to=+8801712345678',
    ),
    oddText.map((name) => `${text(name).slice(0, 600)}=1`),
  );
  const parts = fc.oneof(
    ...(known.length === 0 ? [] : [{ weight: 8, arbitrary: fc.array(fc.oneof(...known.map(one)), { maxLength: 3 }) }]),
    { weight: 1, arbitrary: fc.array(odd, { maxLength: 2 }) },
    { weight: known.length === 0 ? 14 : 2, arbitrary: fc.constant([] as string[]) },
  );
  return parts.map((each) => each.join('&'));
}

/** Octets a header may carry: HTTP itself forbids the others. */
const headerText = oddText.map((text) =>
  Buffer.from(text, 'utf8')
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?')
    .slice(0, 3_000)
    .trim(),
);

const oddHeader: fc.Arbitrary<readonly [string, string]> = fc.oneof(
  fc.tuple(
    fc.constantFrom(
      'x-request-id',
      'idempotency-key',
      'accept',
      'cookie',
      'x-forwarded-for',
      'forwarded',
      'user-agent',
      'x-anything',
    ),
    headerText,
  ),
  fc.constantFrom(
    ['x-forwarded-for', '203.0.113.9, 127.0.0.1'] as const,
    ['forwarded', 'for="[2001:db8::1]:99";proto=https'] as const,
    ['content-encoding', 'gzip'] as const,
    ['accept-encoding', 'gzip, br'] as const,
    ['accept', 'text/html'] as const,
    ['range', 'bytes=0-1'] as const,
    ['if-none-match', '*'] as const,
    ['origin', 'https://elsewhere.example'] as const,
    ['x-http-method-override', 'DELETE'] as const,
    ['x-forwarded-host', 'evil.example'] as const,
    ['x-request-id', 'mine-1'] as const,
    ['te', 'trailers'] as const,
    ['connection', 'close'] as const,
    ['upgrade', 'websocket'] as const,
  ),
  fc
    .constantFrom(...Array.from({ length: 40 }, (_, index) => `fuzz-${index}`))
    .map((key) => ['idempotency-key', key] as const),
);

const contentTypes = fc.constantFrom(
  'text/plain',
  '',
  'application/json; charset=latin1',
  'application/x-www-form-urlencoded',
  'multipart/form-data; boundary=x',
  'APPLICATION/JSON',
  'application/json;charset="utf-8"',
  'application/jsonx',
);

function headersOf(operation: Operation): fc.Arbitrary<FuzzRequest['headers']> {
  const contentType = fc.oneof(
    { weight: 14, arbitrary: fc.constant('application/json') },
    { weight: 1, arbitrary: contentTypes },
  );
  const more = fc.oneof(
    { weight: 4, arbitrary: fc.constant([]) },
    { weight: 1, arbitrary: fc.array(oddHeader, { minLength: 1, maxLength: 3 }) },
  );
  return fc
    .tuple(contentType, more)
    .map(([type, rest]) => (operation.body === null ? rest : [['content-type', type] as const, ...rest]));
}

const brokenJson = fc.constantFrom(
  '',
  ' ',
  '{',
  '}',
  '[]',
  'null',
  '"x"',
  '1',
  '{"to":}',
  '{"a":1,}',
  "{'a':1}",
  '{"a":1}{"b":2}',
  '\u0000',
  '\xff\xfe{\x00',
  '{"message":"\xc3"}',
  '{"message":"\xed\xa0\x80"}',
  '\xef\xbb\xbf{}',
  '{"a":NaN}',
  '{"to":"+8801712340000","to":"x"}',
  '[[[[[[[[[[',
  'to=%2B8801712345678',
  '{"a":"\\u12"}',
  '{"message":"\\ud800"}',
);

function bodyOf(document: OpenApi, { body, name: operation }: Operation): fc.Arbitrary<FuzzBody> {
  const raw = fc.oneof(
    brokenJson,
    fc.constantFrom(300, 200_000).map((depth) => '['.repeat(depth)),
  );
  const rawBody = raw.map((octets) => ({ kind: 'raw', octets }) as const);
  if (body === null) return fc.oneof({ weight: 20, arbitrary: fc.constant(none) }, { weight: 1, arbitrary: rawBody });
  const fitting = valuesOf(document, body, hints).map(withOneText);
  const written = soundBodies[operation];
  const valid = written === undefined ? fitting : fc.oneof(written, fitting);
  const json = (value: unknown) => ({ kind: 'json', value }) as const;
  return fc.oneof(
    { weight: 80, arbitrary: valid.map(json) },
    { weight: 60, arbitrary: mutated(valid).map(json) },
    { weight: 12, arbitrary: mutated(mutated(valid)).map(json) },
    { weight: 8, arbitrary: rawBody },
    { weight: 2, arbitrary: fc.constant(none) },
    {
      weight: 1,
      arbitrary: fc.tuple(valid, hugeText).map(([value, text]) => json({ ...(value as object), message: text })),
    },
  );
}

/** Paths of nobody, of later versions and of the pages, with any method. */
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
        { weight: 3, arbitrary: fc.constant(none) },
        { weight: 1, arbitrary: brokenJson.map((octets) => ({ kind: 'raw', octets }) as const) },
      ),
    })
    .map((request) => ({ operation: null, ...request }));
}

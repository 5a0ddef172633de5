// Headers and bodies of an operation: according to the document, or with an error.
import fc from 'fast-check';
import type { OpenApi, Operation } from './document.ts';
import { hugeText, mutated, oddText } from './odd-values.ts';
import type { FuzzBody, FuzzRequest } from './request.ts';
import { valuesOf } from './schema-values.ts';
import { hints, soundBodies, withOneText } from './sound-values.ts';

export const noBody: FuzzBody = { kind: 'none' };

/** Octets a header may carry: HTTP itself forbids the others. */
const headerText = oddText.map((text) =>
  Buffer.from(text, 'utf8')
    .toString('latin1')
    .replaceAll(/[^\t\x20-\x7e\x80-\xff]/g, '?')
    .slice(0, 3_000)
    .trim(),
);

export const oddHeader: fc.Arbitrary<readonly [string, string]> = fc.oneof(
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

export function headersOf(operation: Operation): fc.Arbitrary<FuzzRequest['headers']> {
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

export const brokenJson = fc.constantFrom(
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

export function bodyOf(document: OpenApi, { body, name: operation }: Operation): fc.Arbitrary<FuzzBody> {
  const raw = fc.oneof(
    brokenJson,
    fc.constantFrom(300, 200_000).map((depth) => '['.repeat(depth)),
  );
  const rawBody = raw.map((octets) => ({ kind: 'raw', octets }) as const);
  if (body === null) return fc.oneof({ weight: 20, arbitrary: fc.constant(noBody) }, { weight: 1, arbitrary: rawBody });
  const fitting = valuesOf(document, body, hints).map(withOneText);
  const written = soundBodies[operation];
  const valid = written === undefined ? fitting : fc.oneof(written, fitting);
  const json = (value: unknown) => ({ kind: 'json', value }) as const;
  return fc.oneof(
    { weight: 80, arbitrary: valid.map(json) },
    { weight: 60, arbitrary: mutated(valid).map(json) },
    { weight: 12, arbitrary: mutated(mutated(valid)).map(json) },
    { weight: 8, arbitrary: rawBody },
    { weight: 2, arbitrary: fc.constant(noBody) },
    {
      weight: 1,
      arbitrary: fc.tuple(valid, hugeText).map(([value, text]) => json({ ...(value as object), message: text })),
    },
  );
}

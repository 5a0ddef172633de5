// Repeated fields, distinguished from everything similar: strings that look like fields, escapes, lists, depth.
import fc from 'fast-check';
import { expect, test } from 'vitest';
import { parseObject } from '../../api/json-object.ts';

/** The path of the repeated field that parseObject finds in this value, or null. */
function found(text: string): string | null {
  const parsed = parseObject(Buffer.from(`{"v":${text}}`));
  if (parsed.ok) return null;
  const [error] = parsed.problem.errors;
  expect(error).toMatchObject({ detail: 'must be given only once' });
  return String(error?.field).replace(/^v\.?/, '');
}

test.each([
  ['{"to":"a","to":"b"}', 'to'],
  ['{"to":"a","from":"x","to":"a"}', 'to'],
  ['{"to":"a","\\u0074o":"b"}', 'to'],
  ['{ "a" : 1 ,\n\t"a" : 2 }', 'a'],
  ['{"a":{"b":1},"c":{"b":1,"b":1}}', 'c.b'],
  ['{"messages":[{"to":"a"},{"x":[1,{}],"to":"b","to":"c"}]}', 'messages[1].to'],
  ['{"a\\"":1,"a\\"":2}', 'a"'],
  ['{"a\\\\":1,"a\\\\":2}', 'a\\'],
  ['{"":1,"":2}', ''],
  ['{"__proto__":1,"__proto__":2}', '__proto__'],
  ['[[{"a":1,"a":2}]]', '[0][0].a'],
])('%s: found', (text, at) => {
  expect(found(text)).toBe(at);
});

test.each([
  '{"to":"\\"to\\":1","from":"{\\"to\\":"}',
  '{"to":"a: b","x:":":","y":[":",":"]}',
  '{"a":"\\\\","b":"\\\\\\"","c":1}',
  '[{"a":1},{"a":2},{"a":{"a":{"a":1}}}]',
  '"a"',
  '{}',
])('%s: nothing to find', (text) => {
  expect(found(text)).toBeNull();
});

test('what JSON.stringify writes repeats no field, however it is formatted', () => {
  fc.assert(
    fc.property(fc.jsonValue(), fc.constantFrom(0, 1, '\t'), (value, space) => {
      expect(found(JSON.stringify(value, null, space))).toBeNull();
    }),
  );
});

test('a field inserted a second time is found, whatever is around it', () => {
  fc.assert(
    fc.property(
      fc.dictionary(fc.string(), fc.jsonValue(), { minKeys: 1 }),
      fc.nat(),
      fc.jsonValue(),
      (of, at, value) => {
        const names = Object.keys(of);
        const name = names[at % names.length] as string;
        const again = `${JSON.stringify(name)}:${JSON.stringify(value)}`;
        const body = JSON.stringify(of).slice(1, -1);
        expect(found(`{${again},${body}}`)).toBe(name);
        expect(found(`{${body},${again}}`)).toBe(name);
      },
    ),
  );
});

test.each(['{"a":', '['])('32 times %s are parsed, 33 times refused', (open) => {
  const close = open === '[' ? ']' : '}';
  const nested = (depth: number) =>
    Buffer.from(`{"a":${open.repeat(depth - 1)}${open === '[' ? '' : '1'}${close.repeat(depth - 1)}}`);
  expect(parseObject(nested(32))).toMatchObject({ ok: true });
  const at = nested(33).lastIndexOf(open === '[' ? '[' : '{') + 1;
  const detail = `the body has more than 32 objects and lists within one another, at octet ${at}`;
  expect(parseObject(nested(33))).toMatchObject({ ok: false, problem: { code: 'invalid_json', detail } });
});

test('brackets in texts, and those that are closed again, are not depth', () => {
  const texts = ['['.repeat(50), '"'.repeat(50), '\\"[{'.repeat(50), '{'.repeat(50)];
  const body = { texts, closed: Array.from({ length: 100 }, () => [{}]) };
  expect(parseObject(Buffer.from(JSON.stringify(body)))).toEqual({ ok: true, fields: body });
});

test('an object of 1,000 fields is parsed, one more refused, wherever it is; those of several objects do not add up', () => {
  const object = (fields: number) => Object.fromEntries(Array.from({ length: fields }, (_, at) => [`f${at}`, ':']));
  const parse = (body: object) => parseObject(Buffer.from(JSON.stringify(body)));
  const detail = expect.stringMatching(/^the body has more than 1,000 fields in one object, at octet \d+$/);
  const tooMany = { ok: false, problem: { code: 'invalid_json', detail } };
  expect(parse(object(1_000))).toMatchObject({ ok: true });
  expect(parse(object(1_001))).toMatchObject(tooMany);
  expect(parse({ messages: [object(600), object(600), { in: object(600) }, object(1_000)] })).toMatchObject({
    ok: true,
  });
  expect(parse({ a: '}]', messages: [object(600), { b: [1, 2], in: object(1_001) }] })).toMatchObject(tooMany);
  expect(parse({ ...object(999), last: object(1_000) })).toMatchObject({ ok: true });
});

test('octets that are no JSON are refused as such, whatever they open, close and name', () => {
  fc.assert(
    fc.property(fc.string({ unit: fc.constantFrom(...'{}[]:,"\\1') }), (text) => {
      const parsed = parseObject(Buffer.from(`]}${text}`));
      expect(parsed).toMatchObject({ ok: false, problem: { code: 'invalid_json' } });
    }),
  );
});

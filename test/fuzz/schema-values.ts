// JSON Schema → values that fit it: the subset that our document uses. Where the schema says only "a string" and the
// gates require more, the `hints` are mixed in, or nothing would ever pass the first gate.
import fc from 'fast-check';
import { type JsonSchema, type OpenApi, resolved } from './document.ts';

export type Hints = Readonly<Record<string, fc.Arbitrary<unknown>>>;

/** `name` is that of the property or parameter, by which hints are found. */
export function valuesOf(document: OpenApi, of: JsonSchema, hints: Hints, name = ''): fc.Arbitrary<unknown> {
  const schema = resolved(document, of);
  const plain = plainValues(document, schema, hints, name);
  const hint = hints[name];
  return hint === undefined ? plain : fc.oneof({ weight: 12, arbitrary: hint }, { weight: 1, arbitrary: plain });
}

function plainValues(document: OpenApi, schema: JsonSchema, hints: Hints, name: string): fc.Arbitrary<unknown> {
  if (schema.enum !== undefined) return fc.constantFrom(...schema.enum);
  const choices = schema.anyOf ?? schema.allOf;
  if (choices !== undefined) return fc.oneof(...choices.map((each) => valuesOf(document, each, hints, name)));
  const types = schema.type === undefined ? ['any'] : [schema.type].flat();
  return fc.oneof(...types.map((type) => ofType(type, document, schema, hints, name)));
}

function ofType(
  type: string,
  document: OpenApi,
  schema: JsonSchema,
  hints: Hints,
  name: string,
): fc.Arbitrary<unknown> {
  switch (type) {
    case 'null':
      return fc.constant(null);
    case 'boolean':
      return fc.boolean();
    case 'integer':
      return fc.integer({ min: schema.minimum ?? -1_000, max: schema.maximum ?? 100_000 });
    case 'number':
      return fc.double({ min: schema.minimum ?? -1e6, max: schema.maximum ?? 1e6, noNaN: true });
    case 'string':
      return texts(schema);
    case 'array':
      return fc.array(valuesOf(document, schema.items ?? {}, hints, name), {
        minLength: schema.minItems ?? 0,
        maxLength: Math.min(schema.maxItems ?? 8, 8),
      });
    case 'object':
      return objects(document, schema, hints);
    default:
      return fc.jsonValue({ maxDepth: 1 });
  }
}

function texts({ pattern, format, minLength = 0, maxLength = 60 }: JsonSchema): fc.Arbitrary<string> {
  if (pattern !== undefined) return fc.stringMatching(new RegExp(pattern));
  if (format === 'date-time') {
    const between = {
      min: new Date('1970-01-01T00:00:00Z'),
      max: new Date('2100-01-01T00:00:00Z'),
      noInvalidDate: true,
    };
    return fc.date(between).map((date) => date.toISOString());
  }
  const longest = Math.min(maxLength, 300);
  return fc.oneof(
    fc.string({ minLength, maxLength: Math.min(maxLength, 20) }),
    fc.string({ unit: 'grapheme', minLength, maxLength: Math.min(maxLength, 20) }),
    fc.constant('x'.repeat(longest)),
  );
}

function objects(document: OpenApi, schema: JsonSchema, hints: Hints): fc.Arbitrary<unknown> {
  const properties = Object.entries(schema.properties ?? {});
  const { additionalProperties: more } = schema;
  if (properties.length === 0 && more !== undefined && more !== false) {
    return fc.dictionary(fc.string({ maxLength: 8 }), fc.jsonValue({ maxDepth: 1 }), { maxKeys: 3 });
  }
  const fields = Object.fromEntries(
    properties.map(([name, each]) => [name, valuesOf(document, each, hints, name)] as const),
  );
  return fc.record(fields, { requiredKeys: [...(schema.required ?? [])] });
}

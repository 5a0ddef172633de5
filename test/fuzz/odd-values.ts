// Values that programs mishandle: empty, huge, at the edges of types and of Unicode, or with a meaning in a later layer
// (SQL, paths, formats, prototypes).
import fc from 'fast-check';

const oddTexts = [
  '',
  ' ',
  '0',
  '-1',
  'null',
  '\u0000',
  'a\u0000b',
  '\ud800',
  'x\udc00y',
  '\uffff\ufffe',
  '\u202e\u200b\ufeff',
  'e\u0301\u0327\u0300',
  '👩‍👩‍👧‍👦🇧🇩',
  'আপনার কোড ৪৮২৯১৩',
  'İıſKÅ',
  "'; drop table accounts; --",
  '%s%n%x',
  '../../etc/passwd',
  '{{code}}',
  '${7*7}',
  '<script>alert(1)</script>',
  '\r\nx-injected: 1',
  '__proto__',
  'constructor',
  'toString',
  '1e999',
  '9007199254740993',
  '２０２６-０１-０１',
  '2026-02-30T25:61:61Z',
  '0000-01-01T00:00:00Z',
  '+275760-09-13T00:00:00Z',
  '9999-12-31T23:59:60+23:59',
  '+8801712345678\n',
  '+880١٧١٢٣٤٥٦٧٨',
  '::ffff:127.0.0.1/96',
  '256.0.0.1/33',
];

const lengths = [1, 11, 12, 64, 65, 70, 71, 100, 101, 160, 161, 200, 201, 255, 256, 512, 513, 1_530, 1_531, 20_000];

export const oddText: fc.Arbitrary<string> = fc.oneof(
  { weight: 6, arbitrary: fc.constantFrom(...oddTexts) },
  { weight: 3, arbitrary: fc.string({ unit: 'binary', maxLength: 40 }) },
  { weight: 2, arbitrary: fc.string({ unit: 'grapheme', maxLength: 40 }) },
  {
    weight: 3,
    arbitrary: fc
      .tuple(fc.constantFrom('a', '€', 'ক', '👍', '\\', '"', '0'), fc.constantFrom(...lengths))
      .map(([unit, length]) => unit.repeat(length)),
  },
);

/** Larger than the cap on bodies. Rare: each costs its bytes. */
export const hugeText: fc.Arbitrary<string> = fc.constantFrom(250_000, 262_144, 300_000).map((n) => 'x'.repeat(n));

export const oddNumber: fc.Arbitrary<number> = fc.oneof(
  fc.constantFrom(0, -0, -1, 1, 1.5, 1e21, -1e21, 1e308, 5e-324, 2 ** 31, 2 ** 53, -(2 ** 53), 172_800, 172_801),
  fc.integer(),
  fc.double({ noNaN: true, noDefaultInfinity: true }),
);

const oddName = fc.constantFrom(
  '__proto__',
  'constructor',
  'TO',
  'to ',
  'callback_url',
  'id',
  '',
  'a.b[0]',
  '\ud800',
  '0',
);

const deep = (levels: number): unknown =>
  levels === 0 ? 1 : levels % 2 === 0 ? [deep(levels - 1)] : { a: deep(levels - 1) };

/** Any JSON at all, of any type. */
export const oddJson: fc.Arbitrary<unknown> = fc.oneof(
  { weight: 8, arbitrary: oddText },
  { weight: 3, arbitrary: oddNumber },
  { weight: 3, arbitrary: fc.constantFrom(null, true, false, [], {}, [[]], [null], { '': null }) },
  { weight: 2, arbitrary: fc.jsonValue({ maxDepth: 3 }) },
  { weight: 1, arbitrary: fc.constantFrom(60, 2_000).map(deep) },
  { weight: 1, arbitrary: fc.array(oddNumber, { minLength: 3, maxLength: 1_100 }) },
);

type Change =
  | { readonly kind: 'drop' }
  | { readonly kind: 'put'; readonly value: unknown }
  | { readonly kind: 'add'; readonly name: string; readonly value: unknown }
  | { readonly kind: 'repeat'; readonly times: number };

const change: fc.Arbitrary<Change> = fc.oneof(
  { weight: 2, arbitrary: fc.constant({ kind: 'drop' } as const) },
  { weight: 5, arbitrary: oddJson.map((value) => ({ kind: 'put', value }) as const) },
  {
    weight: 2,
    arbitrary: fc
      .tuple(fc.oneof(oddName, oddText), oddJson)
      .map(([name, value]) => ({ kind: 'add', name, value }) as const),
  },
  { weight: 1, arbitrary: fc.constantFrom(2, 12, 1_001).map((times) => ({ kind: 'repeat', times }) as const) },
);

/** A value with one change: something removed, replaced, added, or repeated. */
export function mutated(valid: fc.Arbitrary<unknown>): fc.Arbitrary<unknown> {
  return fc.tuple(valid, fc.nat(1_000), change).map(([value, place, what]) => {
    const places = placesOf(value);
    return changedAt(value, places[place % places.length] ?? [], what);
  });
}

type Place = readonly (string | number)[];

function placesOf(value: unknown, at: Place = []): Place[] {
  if (typeof value !== 'object' || value === null || at.length > 4) return [at];
  const steps: (string | number)[] = Array.isArray(value) ? [...value.keys()].slice(0, 5) : Object.keys(value);
  return [at, ...steps.flatMap((step) => placesOf((value as Record<string, unknown>)[step], [...at, step]))];
}

function changedAt(value: unknown, place: Place, what: Change): unknown {
  const [step, ...deeper] = place;
  if (step === undefined || typeof value !== 'object' || value === null) return changedHere(value, what);
  const isDropped = deeper.length === 0 && what.kind === 'drop';
  if (Array.isArray(value)) {
    return value.flatMap((each, index) => (index !== step ? [each] : isDropped ? [] : [changedAt(each, deeper, what)]));
  }
  const entries = Object.entries(value).flatMap(([name, each]) =>
    name !== step ? [[name, each]] : isDropped ? [] : [[name, changedAt(each, deeper, what)]],
  );
  return Object.fromEntries(entries as [string, unknown][]);
}

function changedHere(value: unknown, what: Change): unknown {
  switch (what.kind) {
    case 'put':
      return what.value;
    case 'add':
      // Object.fromEntries makes an own property even of `__proto__`.
      return typeof value === 'object' && value !== null && !Array.isArray(value)
        ? Object.fromEntries([...Object.entries(value), [what.name, what.value]])
        : { [what.name]: what.value };
    case 'repeat':
      return Array.isArray(value) && value.length > 0
        ? Array.from({ length: what.times }, (_, index) => value[index % value.length] as unknown)
        : [value, value];
    case 'drop':
      return {};
  }
}

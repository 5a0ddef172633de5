// Templates: what is rendered always matches, what could not have been rendered never does, and every text is fast.
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { compileTemplate, templateProblem } from '../../../policy/admission/template/template.ts';
import { type TemplateVariable, variableTypes } from '../../../policy/admission/template/variable-rules.ts';

const login = {
  body: 'Your {{shop}} code is {{code}}.',
  variables: [
    { name: 'shop', type: 'text', size: 10 },
    { name: 'code', type: 'code', size: 6 },
  ] as TemplateVariable[],
};

const valueOf = {
  text: fc.string({ minLength: 1, maxLength: 20, unit: fc.constantFrom(...'aB .-১:/0') }),
  number: fc.integer({ min: -9_999, max: 9_999 }).map(String),
  code: fc.stringMatching(/^[0-9]{6}$/),
  url: fc.stringMatching(/^https?:\/\/[a-z0-9./]{1,20}$/),
  date: fc
    .date({ noInvalidDate: true, min: new Date(0), max: new Date('2999') })
    .map((d) => d.toISOString().slice(0, 10)),
} as const;

/** A template of random literals and types, with values that fit. */
const templates = fc
  .array(
    fc.record({
      literal: fc.string({ minLength: 1, maxLength: 6, unit: fc.constantFrom(...'aB .0-') }),
      type: fc.constantFrom(...variableTypes),
    }),
    { minLength: 1, maxLength: 6 },
  )
  .chain((parts) =>
    fc.tuple(...parts.map(({ type }) => valueOf[type])).map((values) => ({
      body: `Hi ${parts.map(({ literal }, at) => `${literal}{{v${at}}}`).join('')}`,
      variables: parts.map(({ type }, at) => ({ name: `v${at}`, type, size: type === 'text' ? 20 : null })),
      values: Object.fromEntries(values.map((value, at) => [`v${at}`, value])),
    })),
  );

test('a text that was rendered matches its template, however similar the variables are to the words around them', () => {
  fc.assert(
    fc.property(templates, ({ values, ...source }) => {
      expect(templateProblem(source)).toBeNull();
      const template = compileTemplate(source);
      const rendered = template.render(values);
      expect(rendered).toMatchObject({ ok: true });
      expect(template.matches((rendered as { text: string }).text)).toBe(true);
    }),
    { numRuns: 1_000 },
  );
});

test('for codes and literals alone it matches exactly what the regular expression of the same shape matches', () => {
  const template = compileTemplate({
    body: 'a{{x}}b{{y}}',
    variables: [
      { name: 'x', type: 'code', size: 2 },
      { name: 'y', type: 'text', size: 3 },
    ],
  });
  const texts = fc.string({ maxLength: 10, unit: fc.constantFrom(...'ab12\n') });
  fc.assert(
    fc.property(texts, (text) => void expect(template.matches(text)).toBe(/^a[0-9]{2}b[^\n]{1,3}$/.test(text))),
    { numRuns: 3_000 },
  );
});

describe('the values of variables', () => {
  const { render } = compileTemplate(login);
  test.each([
    ['a missing one', { shop: 'ACME' }, 'code'],
    ['one that is not of this template', { shop: 'A', code: '123456', colour: 'red' }, 'colour'],
    ['a code one digit short', { shop: 'A', code: '12345' }, 'code'],
    ['a code one digit long', { shop: 'A', code: '1234567' }, 'code'],
    ['a code with a letter', { shop: 'A', code: '12345x' }, 'code'],
    ['a text that is empty', { shop: '', code: '123456' }, 'shop'],
    ['a text one character too long', { shop: 'x'.repeat(11), code: '123456' }, 'shop'],
    ['a text with a newline', { shop: 'a\nb', code: '123456' }, 'shop'],
    ['half a surrogate pair', { shop: '\ud83d', code: '123456' }, 'shop'],
    ['an object', { shop: {}, code: '123456' }, 'shop'],
    ['__proto__', JSON.parse('{"shop":"A","code":"123456","__proto__":"x"}'), '__proto__'],
  ])('%s is refused by name', (_name, values, variable) =>
    expect(render(values)).toMatchObject({ ok: false, wrong: [{ variable }] }),
  );
  test('are all reported at once, with what was found and never the value itself', () => {
    const wrong = (values: Record<string, unknown>) => {
      const published = render(values);
      return published.ok ? [] : published.wrong.map(({ variable, detail }) => `${variable}: ${detail}`);
    };
    expect(wrong({})).toEqual(['shop: is required by this template', 'code: is required by this template']);
    expect(wrong({ shop: 'x'.repeat(11), code: null, extra: 1 })).toEqual([
      'shop: must be a text of 1 to 10 characters on one line, found 11 characters',
      'code: must be a code of 6 digits, as text, found null',
      'extra: is not a variable of this template',
    ]);
    const many = Object.fromEntries(Array.from({ length: 1_000 }, (_, at) => [`x${at}`, at]));
    expect(wrong(many).length).toBeLessThanOrEqual(limits.http.fieldProblemsMax);
    expect(render(many)).toMatchObject({ notNamed: 1_002 - limits.http.fieldProblemsMax });
  });
  const one = (type: TemplateVariable['type'], value: unknown) => {
    const template = compileTemplate({ body: 'Hi {{v}}!', variables: [{ name: 'v', type }] });
    const rendered = template.render({ v: value });
    expect(template.matches(`Hi ${String(value)}!`)).toBe(rendered.ok);
    return rendered.ok;
  };
  test.each(['0', '-5', '1,250.00', '1,00,000', '1.250,00', 12.5, -3, '12345678901234567890'])('%j is a number', (v) =>
    expect(one('number', v)).toBe(true),
  );
  test.each(['', '-', '1-800-555-0123', '1,,2', '5.', ',5', '--5', '1 000', '1e5', 1e21, '123456789012345678901'])(
    '%j is none',
    (v) => expect(one('number', v)).toBe(false),
  );
  test.each(['2026-01-31', '31.01.2026', '1/31/2026', '31/1/2026', '2024-02-29', '2026.1.31', '01.02.26'])(
    '%j is a date',
    (v) => expect(one('date', v)).toBe(true),
  );
  test.each([
    '31.02.2026',
    '2026-99-99',
    '01712345678',
    '20260131',
    '1712345678',
    '2026-02-29',
    '1.2-2026',
    '1.1.26',
    '',
  ])('%j is none', (v) => expect(one('date', v)).toBe(false));
  test('the longest text and a code given as a number are accepted', () => {
    expect(render({ shop: 'x'.repeat(10), code: 123456 })).toEqual({
      ok: true,
      text: 'Your xxxxxxxxxx code is 123456.',
    });
  });
});

test.each([
  ['nothing', ' ', []],
  ['an undeclared place', 'Hi {{who}}', []],
  ['a variable without a place', 'Hi', [{ name: 'who', type: 'text' }]],
  ['the same place twice', '{{a}} and {{a}}', [{ name: 'a', type: 'text' }]],
  [
    'two places side by side',
    'Hi {{a}}{{b}}',
    [
      { name: 'a', type: 'text' },
      { name: 'b', type: 'text' },
    ],
  ],
  ['no words of its own', '{{a}}', [{ name: 'a', type: 'text' }]],
  ['half a place', 'Hi {{a}', []],
  ['a code too long', 'Hi {{a}}', [{ name: 'a', type: 'code', size: limits.templates.codeDigitsMax + 1 }]],
  ['a date with a size', 'Hi {{a}}', [{ name: 'a', type: 'date', size: 8 }]],
  ['a character too much', 'x'.repeat(limits.templates.bodyCharsMax + 1), []],
] as const)('a template of %s is refused with a sentence', (_name, body, variables) => {
  expect(templateProblem({ body, variables: variables })?.detail.length).toBeGreaterThan(10);
});

test('the hardest text for the hardest template is matched in a few milliseconds', () => {
  const names = Array.from({ length: limits.templates.variablesMax }, (_, at) => `v${at}`);
  const template = compileTemplate({
    body: names.map((name) => `a{{${name}}}`).join(''),
    variables: names.map((name) => ({ name, type: 'text', size: limits.templates.textCharsMax })),
  });
  const numbers = compileTemplate({
    body: names.map((name) => `1{{${name}}}`).join(''),
    variables: names.map((name) => ({ name, type: 'number' })),
  });
  const digits = `${'1'.repeat(limits.templates.variablesMax * 15)}x`;
  const text = `${'a'.repeat(limits.message.textUnitsMax - 1)}\n`;
  // The fastest of twenty: the others may have waited for the processor.
  const roundsMs = Array.from({ length: 20 }, () => {
    const beganMs = systemClock.monotonicMs();
    expect([template.matches(text), numbers.matches(digits)]).toEqual([false, false]);
    return systemClock.monotonicMs() - beganMs;
  });
  expect(Math.min(...roundsMs)).toBeLessThan(20);
});

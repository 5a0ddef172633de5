// otp.texts of heliograph.yaml: a text that fits one segment with the longest code, the longest brand and the hash of an app
// is taken, one that takes a character more is refused at the start, in any language.
import { describe, expect, test } from 'vitest';
import { parseConfiguration } from '../../config/parse.ts';
import { type OtpText, otpText } from '../../model/otp-text.ts';
import { countSegments } from '../../model/text/segment-count.ts';
import { limits } from '../../platform/limits.ts';
import { otpTextsShipped } from '../../policy/otp/contract.ts';
import { problemsIn } from './problems.ts';

const read = (texts: Record<string, Partial<OtpText>>) =>
  parseConfiguration(
    `country: { name: Testland, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }
carriers: [{ name: alpha, tps: 10, simulate: true }]
otp:
  texts: ${JSON.stringify(texts)}
`,
    'heliograph.yaml',
  );

const form = { plain: '{code} x', branded: '{code} {brand}' };
/** What a request may add at most. Its line is `<#> ` before the text, and a new line with eleven characters after it. */
const sentOf = (text: OtpText, isBranded: boolean) =>
  otpText(
    { fr: text },
    {
      language: 'fr',
      brand: isBranded ? 'x'.repeat(limits.otp.brandCharsMax) : null,
      domain: null,
      appHash: 'FA+9qCX9VSu',
    },
    '0123456789',
  );

describe('a text of otp.texts', () => {
  // Of 160 characters of GSM-7 ten are the code's and 16 the hash's, in a branded text 24 the brand's. Of UCS-2 70 fit.
  test.each([
    ['plain', 'in GSM-7', 'x', 160 - 26, 'GSM-7 160 fit'],
    ['branded', 'in GSM-7', 'x', 160 - 50, 'GSM-7 160 fit'],
    ['plain', 'in UCS-2', 'ক', 70 - 26, 'UCS-2 70 fit, because of "ক"'],
    ['branded', 'in UCS-2', 'ক', 70 - 50, 'UCS-2 70 fit, because of "ক"'],
  ] as const)('may be as long as fits beside its code: %s, %s', (name, _, letter, room, why) => {
    const isBranded = name === 'branded';
    const head = isBranded ? '{code}{brand}' : '{code}';
    const textOf = (letters: number) => ({ ...form, [name]: `${head}${letter.repeat(letters)}` });
    const [longest, longer] = [textOf(room), textOf(room + 1)];
    expect(read({ fr: longest }).otp.texts['fr']).toEqual(longest);
    expect(countSegments(sentOf(longest, isBranded))).toMatchObject({ segmentCount: 1 });
    expect(countSegments(sentOf(longer, isBranded))).toMatchObject({ segmentCount: 2 });
    const withWhat = `a code of 10 digits${isBranded ? ', a brand of 24 characters' : ''} and the hash of an app`;
    const units = letter === 'x' ? 161 : 71;
    const problems = problemsIn(() => read({ fr: longer }));
    expect(problems).toEqual([expect.stringContaining(`otp.texts.fr.${name}: found "{code}`)]);
    expect(problems[0]).toContain(
      `expected a text of fr that fits one segment: with ${withWhat} it takes 2 segments (${units} characters, of ${why}), shorten it by 1`,
    );
  });

  test('of 120 letters of Bangla is refused, with the language and both of its texts', () => {
    const long = 'ক'.repeat(120);
    const problems = problemsIn(() => read({ bn: { plain: `{code} ${long}`, branded: `{code} {brand} ${long}` } }));
    expect(problems).toEqual([
      expect.stringContaining('otp.texts.bn.plain: '),
      expect.stringContaining('otp.texts.bn.branded: '),
    ]);
    expect(problems[0]).toContain('a text of bn that fits one segment');
    expect(problems[0]).toContain('shorten it by 77');
  });

  test('in one language does not keep another one out', () => {
    const tooLong = { plain: `{code}${'ক'.repeat(45)}`, branded: '{code} {brand}' };
    expect(problemsIn(() => read({ fr: form, hi: tooLong }))).toEqual([expect.stringContaining('otp.texts.hi.plain')]);
  });

  test.each([
    ['no code', { plain: 'x', branded: '{code} {brand}' }, 'plain'],
    ['two codes', { plain: '{code} {code}', branded: '{code} {brand}' }, 'plain'],
    ['no brand', { plain: '{code}', branded: '{code}' }, 'branded'],
    ['two brands', { plain: '{code}', branded: '{code} {brand} {brand}' }, 'branded'],
    ['more characters than any text', { plain: `{code}${'x'.repeat(155)}`, branded: '{code} {brand}' }, 'plain'],
    ['no branded text', { plain: '{code}' }, 'branded'],
  ])('with %s is refused', (_why, text, field) => {
    expect(problemsIn(() => read({ fr: text }))).toEqual([expect.stringContaining(`otp.texts.fr.${field}: `)]);
  });
});

test('a further language is data: it is used where it is asked for, and replaces one that is shipped', () => {
  const [fr, en] = [
    { plain: '{code} est votre code.', branded: '{code} est votre code {brand}.' },
    { plain: 'Code: {code}', branded: '{brand}: {code}' },
  ];
  const { texts } = read({ fr, en }).otp;
  expect(texts).toEqual({ ...otpTextsShipped, fr, en });
  const wording = { language: 'fr', brand: 'Acme', domain: null, appHash: null };
  expect(otpText(texts, wording, '493817')).toBe('493817 est votre code Acme.');
  expect(otpText(texts, { ...wording, language: 'en' }, '493817')).toBe('Acme: 493817');
});

test('the texts that are shipped could be in the file', () => {
  expect(read(otpTextsShipped).otp.texts).toEqual(otpTextsShipped);
});

// The packs that come with Heliograph, compared with libphonenumber's data and their countries' rules.
import { parsePhoneNumberWithError as parse } from 'libphonenumber-js/max';
import fc from 'fast-check';
import { describe, expect, test } from 'vitest';
import { parseConfiguration } from '../../../config/parse.ts';
import { numberPlan } from '../../../policy/country/number-plan.ts';
import { quietHours } from '../../../policy/country/quiet-hours.ts';

const countryOf = (text: string) =>
  parseConfiguration(
    `country: ${text}\ncarriers:\n  - { name: alpha, tps: 1, simulate: true }\n  - { name: beta, tps: 1, simulate: true }\n`,
    'heliograph.yaml',
  ).country;
const bd = countryOf('{ pack: bd, carriers: { grameenphone: alpha, robi: beta, banglalink: beta, teletalk: null } }');
const fr = countryOf('{ pack: fr, carriers: { mobile: alpha } }');
const digits = (length: number) => fc.stringMatching(new RegExp(`^[0-9]{${length}}$`));

describe('Bangladesh', () => {
  const plan = numberPlan(bd);
  const isMobile = (to: string) => {
    const number = parse(to);
    return number.isValid() && number.getType() === 'MOBILE' && number.countryCallingCode === '880';
  };

  test('every number of its prefixes is a mobile number to libphonenumber', () => {
    const prefix = fc.constantFrom(...Object.keys(bd.prefixes), '15');
    fc.assert(
      fc.property(prefix, digits(8), (first, rest) => {
        const to = `+880${first}${rest}`;
        expect(plan.refuse(to)).toBeNull();
        expect(isMobile(to)).toBe(true);
      }),
    );
  });

  test('numbers libphonenumber calls impossible are refused', () => {
    const national = fc.integer({ min: 4, max: 14 }).chain(digits);
    fc.assert(
      fc.property(national, (text) => {
        const to = `+880${text}`;
        if (to.length > 16 || text.length === 10) return;
        expect(plan.refuse(to)).not.toBeNull();
      }),
    );
  });

  test('the carriers of the pack are those of the file; one that is left out has no prefix', () => {
    expect(bd.prefixes).toEqual({ 13: 'alpha', 14: 'beta', 16: 'beta', 17: 'alpha', 18: 'beta', 19: 'beta' });
    expect(bd).toMatchObject({ callingCode: '+880', nationalLengths: [10], trunkPrefix: '0' });
  });

  test('only promotional messages check the registry and the quiet hours', () => {
    expect(bd.doNotDisturb.appliesTo).toEqual(['promotional']);
    const quiet = quietHours(bd.quietHours);
    const midnight = Date.parse('2026-11-20T00:00:00+06:00');
    expect(quiet.quietUntil('promotional', midnight)).toBe(Date.parse('2026-11-20T08:00:00+06:00'));
    for (const category of ['otp', 'transactional'] as const) expect(quiet.quietUntil(category, midnight)).toBeNull();
  });

  test('subscribers can say stop in both of its languages', () => {
    expect(bd.keywords.stop['en']).toContain('STOP');
    expect(Object.keys(bd.keywords.stop)).toEqual(['en', 'bn']);
  });
});

describe('France needs no code', () => {
  const plan = numberPlan(fr);
  test.each([
    ['+33612345678', null],
    ['+33712345678', null],
    ['+337001234567890', null],
    ['+33700123456', 'invalid_recipient'],
    ['+336123456789012', 'invalid_recipient'],
    ['+3361234567', 'invalid_recipient'],
    ['+8801712345678', 'unsupported_destination'],
  ])('%s', (to, code) => {
    expect(plan.refuse(to)?.code ?? null).toBe(code);
    // The plan is less strict than libphonenumber, never stricter.
    if (code !== null) expect(to.startsWith('+33') && parse(to).isValid()).toBe(false);
  });

  const quiet = quietHours(fr.quietHours);
  test.each([
    ['a working day', '2026-11-20T15:00:00+01:00', null],
    ['its evening', '2026-11-19T21:00:00+01:00', '2026-11-20T08:00:00+01:00'],
    ['Friday evening, until Saturday at ten', '2026-11-20T20:00:00+01:00', '2026-11-21T10:00:00+01:00'],
    ['Saturday evening, over Sunday', '2026-11-21T18:00:00+01:00', '2026-11-23T08:00:00+01:00'],
    ['Easter Monday in summer time', '2027-03-27T18:00:00+01:00', '2027-03-30T08:00:00+02:00'],
    ['Christmas on a Friday', '2026-12-24T20:30:00+01:00', '2026-12-26T10:00:00+01:00'],
  ])('%s', (_what, at, until) => {
    expect(quiet.quietUntil('promotional', Date.parse(at))).toBe(until === null ? null : Date.parse(until));
  });
});

describe('a pack in heliograph.yaml', () => {
  const problems = (text: string) => {
    try {
      countryOf(text);
      return [];
    } catch (error) {
      return (error as Error).message.split('\n');
    }
  };
  const carriers = 'carriers: { grameenphone: alpha, robi: beta, banglalink: beta, teletalk: alpha }';

  test('keys beside it override its own', () => {
    const own = countryOf(
      `{ pack: bd, ${carriers}, name: Home, quiet_hours: [], prefixes: { "17": beta, "1799": alpha } }`,
    );
    expect(own).toMatchObject({ pack: 'bd', name: 'Home', quietHours: [], callingCode: '+880' });
    expect(own.prefixes).toMatchObject({ 13: 'alpha', 17: 'beta', 1799: 'alpha' });
  });

  test('the form without a pack is unchanged', () => {
    const own = countryOf('{ name: X, calling_code: "+99", national_lengths: [9], prefixes: { "1": alpha } }');
    expect(own).toMatchObject({ pack: null, callingCode: '+99', quietHours: [], doNotDisturb: { appliesTo: [] } });
  });

  test.each([
    [
      '{ pack: xx }',
      'heliograph.yaml:1:18: country.pack: found "xx", expected bd, fr, … or a file that ends with .yaml',
    ],
    [
      '{ pack: ../secret }',
      'heliograph.yaml:1:18: country.pack: found "../secret", expected bd, fr, … or a file that ends with .yaml',
    ],
    [
      `{ pack: bd, ${carriers}, quiet_hours: [{ categories: [promotional], closed: ["8-9"] }] }`,
      'found "8-9", expected hours such as "20:00-08:00" or "00:00-24:00"',
    ],
    [
      `{ pack: bd, ${carriers}, time_zone: Asia/Dakka }`,
      'country.time_zone: found "Asia/Dakka", expected a time zone such as Asia/Dhaka',
    ],
    [
      `{ pack: bd, ${carriers}, quiet_hours: [{ categories: [promotional], closed: ["20:00-08:00"], from: "2026-02-30" }] }`,
      'found "2026-02-30", expected a date that exists',
    ],
    [`{ pack: bd, ${carriers}, quiet_hour: [] }`, 'unknown key "quiet_hour", did you mean "quiet_hours"?'],
    [
      '{ pack: bd, carriers: { grameenfone: alpha } }',
      'country.carriers.grameenfone: found "alpha", expected a carrier of the pack: grameenphone, banglalink, teletalk, robi',
    ],
    [
      '{ pack: bd, carriers: { grameenphone: alpha, robi: beta, banglalink: beta } }',
      'the pack "bd" gives the prefix 15 to "teletalk"',
    ],
    ['{ name: X }', 'country.calling_code: missing, expected a calling code in quotes, such as "+880"'],
  ])('%s', (text, problem) => expect(problems(text).join('\n')).toContain(problem));
});

// otp.limits of heliograph.yaml: the file as it is shipped, the defaults and docs/otp.md say the same, and a limit has the
// form count/period within its bounds.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { otpLimitOf, otpSchema } from '../../config/otp-schema.ts';
import { parseConfiguration } from '../../config/parse.ts';
import { type OtpLimits, otpCounted, otpDimensions, otpLimitsDefault } from '../../policy/otp/contract.ts';

const fileOf = (path: string) => readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');

/** The table of docs/otp.md: a row for each dimension, a column for each thing that is counted. */
function limitsInDocs(): Record<string, Record<string, unknown>> {
  const rows = fileOf('docs/otp.md')
    .split('## Limits')[1]!
    .split('\n')
    .filter((line) => line.startsWith('| `'))
    .map((line) => line.split('|').map((cell) => cell.trim()))
    .slice(0, otpDimensions.length)
    .map(([, name, ...cells]) => ({ dimension: /^`(\w+)`/.exec(name!)![1]!, cells }));
  return Object.fromEntries(
    otpCounted.map((counted, at) => [
      counted,
      Object.fromEntries(rows.map(({ dimension, cells }) => [dimension, otpLimitOf(cells[at]!)])),
    ]),
  );
}

describe('the limits that are shipped', () => {
  test('heliograph.yaml says what is in effect without it', () => {
    const text = fileOf('heliograph.yaml');
    expect(text).toMatch(/^ {4}guesses: \{ number: /m);
    expect(parseConfiguration(text, 'heliograph.yaml').otp.limits).toEqual(otpLimitsDefault);
  });

  test('docs/otp.md has the same table', () => {
    expect(limitsInDocs()).toEqual(otpLimitsDefault);
  });
});

describe('a limit', () => {
  test.each([
    ['5/10m', 5, 600_000],
    ['1/s', 1, 1_000],
    ['1000/1h', 1_000, 3_600_000],
    ['20/24h', 20, 86_400_000],
    ['7/d', 7, 86_400_000],
    ['7/1440m', 7, 86_400_000],
    ['1000000000/1s', 1_000_000_000, 1_000],
  ])('%s is read', (text, count, perMs) => {
    expect(otpLimitOf(text)).toEqual({ count, perMs });
  });

  test.each([
    ['no period', '5'],
    ['no unit', '5/10'],
    ['an unknown unit', '5/1w'],
    ['upper case', '5/1H'],
    ['nothing to count', '0/1h'],
    ['a leading zero', '05/1h'],
    ['a period of nothing', '5/0m'],
    ['a fraction', '1.5/1h'],
    ['a negative count', '-5/1h'],
    ['spaces', '5 / 1h'],
    ['two units', '5/1h30m'],
    ['text after it', '5/1h!'],
    ['more than a day', '5/25h'],
    ['more than a day in days', '5/2d'],
    ['a second more than a day', '5/86401s'],
    ['more than can be counted', '1000000001/1s'],
    ['nothing', ''],
  ])('%s is refused', (_why, text) => {
    expect(otpLimitOf(text)).toBeNull();
  });

  const problemOf = (counted: string, dimension: string, limit: unknown) => {
    const read = otpSchema.safeParse({ limits: { [counted]: { [dimension]: limit } } });
    return read.success ? null : read.error.issues.map(({ path, message }) => `${path.join('.')}: ${message}`);
  };
  const form = 'a limit such as 5/10m (count / period of s, m, h or d up to';

  test.each([
    // Its times are in the record of the number, which is kept for an hour.
    ['sends', 'number', '20/1h', '21/1h', `${form} an hour), at most 20`],
    ['sends', 'number', '20/60m', '20/61m', `${form} an hour), at most 20`],
    ['guesses', 'number', '100/1d', '101/1d', `${form} a day), at most 100`],
    ['guesses', 'number', '100/24h', '100/25h', `${form} a day), at most 100`],
    ['verifications', 'number', '1000000000/1d', '1000000001/1d', `${form} a day)`],
    ['sends', 'prefix', '1000000000/24h', '1/25h', `${form} a day)`],
    ['sends', 'account', '1/s', 5, `${form} a day)`],
    ['guesses', 'device_id', '1/s', null, `${form} a day)`],
  ])('of %s over %s may be %s and not %s', (counted, dimension, good, bad, expected) => {
    expect(problemOf(counted, dimension, good)).toBeNull();
    expect(problemOf(counted, dimension, bad)).toEqual([`limits.${counted}.${dimension}: ${expected}`]);
  });

  test('changes one and leaves the others; what is not counted is refused', () => {
    const { limits } = otpSchema.parse({ limits: { guesses: { client_ip: '7/1h' } } });
    const expected: OtpLimits = {
      ...otpLimitsDefault,
      guesses: { ...otpLimitsDefault.guesses, client_ip: { count: 7, perMs: 3_600_000 } },
    };
    expect(limits).toEqual(expected);
    expect(otpSchema.safeParse({ limits: { sends: { ip: '7/1h' } } }).success).toBe(false);
    expect(otpSchema.safeParse({ limits: { resends: { number: '7/1h' } } }).success).toBe(false);
  });
});

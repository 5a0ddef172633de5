// otp.guard.destinations and safe_list of heliograph.yaml: a prefix in which no number can be reached is refused at the start, as
// the API refuses it.
import { expect, test } from 'vitest';
import { parseConfiguration } from '../../config/parse.ts';
import { problemsIn } from './problems.ts';

const read = (entries: string, name = 'destinations') =>
  parseConfiguration(
    `country: { name: Testland, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }
carriers: [{ name: alpha, tps: 10, simulate: true }]
otp: { guard: { ${name}: ${entries} } }
`,
    'heliograph.yaml',
  );

test.each(['[]', '["+880"]', '["+8801712", "+88018"]', '["+8"]'])('%s can be reached', (destinations) => {
  expect(read(destinations).otp.guard.destinations).toEqual(JSON.parse(destinations));
});

test.each([
  [
    '["+88017", "+39"]',
    '3:42: otp.guard.destinations[1]: found "+39", where no number can be reached, expected a prefix of +880, the calling code of country, or no such entry',
  ],
  [
    '["+881"]',
    '3:32: otp.guard.destinations[0]: found "+881", where no number can be reached, expected a prefix of +880, the calling code of country, or no such entry',
  ],
  [
    '["88017"]',
    '3:32: otp.guard.destinations[0]: found "88017", expected the first digits of numbers in quotes, such as "+880171"',
  ],
  [
    '[BD]',
    '3:32: otp.guard.destinations[0]: found "BD", expected the first digits of numbers in quotes, such as "+880171"',
  ],
])('%s is refused', (destinations, problem) => {
  expect(problemsIn(() => read(destinations))).toEqual([`heliograph.yaml:${problem}`]);
});

test('a safe list may have whole numbers, and none outside of the country', () => {
  expect(read('["+8801712345678", "+88018"]', 'safe_list').otp.guard.safeList).toEqual(['+8801712345678', '+88018']);
  expect(problemsIn(() => read('["+88018", "+1202"]', 'safe_list'))).toEqual([
    'heliograph.yaml:3:39: otp.guard.safe_list[1]: found "+1202", where no number can be reached, expected a prefix of +880, the calling code of country, or no such entry',
  ]);
});

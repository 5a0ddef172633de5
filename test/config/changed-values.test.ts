// What the audit log has of a reload: the settings that changed, by their names in the file, from what to what.
import { expect, test } from 'vitest';
import { changedValues } from '../../config/changed-values.ts';
import { otpLimitText } from '../../config/otp-schema.ts';
import { parseConfiguration } from '../../config/parse.ts';

const head = `country: { name: Testland, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }
carriers:
  - name: alpha
    tps: 10
    binds: [{ host: smsc.example.net, system_id: me, password: secret, window: 5 }]
`;
const read = (more: string, of = head) => parseConfiguration(of + more, 'heliograph.yaml');
const changed = (from: string, to: string) => changedValues(read(from), read(to));
const prefixes = (count: number, first = 1_000) => Array.from({ length: count }, (_, at) => `"+88017${first + at}"`);

test('settings of one-time passwords are named one by one', () => {
  const to = `otp:
  language: bn
  limits: { sends: { number: 6/10m, account: 400/1s } }
  guard: { rules: { sequence: shadow }, destinations: ["+88017"] }
  hedging: { share: 0.1 }
  texts: { fr: { plain: "{code} est votre code.", branded: "{code} est votre code {brand}." } }
`;
  expect(changed('', to)).toEqual({
    'otp.language': { from: 'en', to: 'bn' },
    'otp.limits.sends.number': { from: '5/10m', to: '6/10m' },
    'otp.limits.sends.account': { from: '500/s', to: '400/s' },
    'otp.guard.rules.sequence': { from: 'on', to: 'shadow' },
    'otp.guard.destinations': { from: [], to: ['+88017'] },
    'otp.hedging.share': { from: 0.05, to: 0.1 },
    'otp.texts.fr': {
      from: null,
      to: { plain: '{code} est votre code.', branded: '{code} est votre code {brand}.' },
    },
  });
});

test('of a long list it is what was added and removed; the end of whole numbers is hidden', () => {
  const [before, after] = [prefixes(100), [...prefixes(99, 1_001), '"+8801812345678"']];
  const list = (entries: string[]) => `otp: { guard: { safe_list: [${entries.join(', ')}] } }\n`;
  expect(changed(list(before), list(after))).toEqual({
    'otp.guard.safe_list': {
      from: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      to: expect.stringMatching(/^sha256:[0-9a-f]{64}$/),
      added: ['+880181234****'],
      removed: ['+880171000'],
    },
  });
});

test('a carrier is followed to its settings, without its passwords; nothing else is named', () => {
  const next = head.replace('tps: 10', 'tps: 11').replace('secret', 'hunter2').replace('window: 5', 'window: 6');
  const values = changedValues(read(''), read('', next));
  expect(Object.keys(values)).toEqual(['carriers.alpha.tps', 'carriers.alpha.binds']);
  expect(values['carriers.alpha.tps']).toEqual({ from: 10, to: 11 });
  expect(JSON.stringify(values)).not.toMatch(/hunter2|secret|password/);
  expect(changed('', '')).toEqual({});
});

test('a section with more changes than an audit record may have is one value', () => {
  const country = (carrier: string) => {
    const all = Array.from({ length: 120 }, (_, at) => `"17${String(at).padStart(3, '0')}": ${carrier}`);
    return read('', head.replace('"17": alpha', all.join(', ')).replaceAll('name: alpha', `name: ${carrier}`));
  };
  const values = changedValues(country('alpha'), country('beta'));
  expect(values['country']).toEqual({
    from: expect.stringMatching(/^sha256:/),
    to: expect.stringMatching(/^sha256:/),
  });
});

test.each([
  [5, 600_000, '5/10m'],
  [1, 1_000, '1/s'],
  [20, 86_400_000, '20/d'],
  [7, 5_400_000, '7/90m'],
  [7, 7_200_000, '7/2h'],
])('%i in %i ms is %s', (count, perMs, text) => {
  expect(otpLimitText({ count, perMs })).toBe(text);
});

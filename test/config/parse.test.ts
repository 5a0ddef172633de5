// Bad configuration is answered with file, line, column, what was found and what was expected, all at once.
import { readFileSync } from 'node:fs';
import fc from 'fast-check';
import { describe, expect, it } from 'vitest';
import { bindsOf } from '../../config/configuration.ts';
import { readConfiguration } from '../../config/load.ts';
import { parseConfiguration } from '../../config/parse.ts';
import { problemsIn } from './problems.ts';
import { defaultShares } from '../../platform/limits-shares.ts';
import { testland } from '../support/testland.ts';

const good = `${testland}carriers:
  - name: alpha
    tps: 10
    simulate: true
  - name: beta
    tps: 20
    binds:
      - { host: smsc.example.net, system_id: me, password: secret, count: 3, window: 5 }
`;

const problemsOf = (text: string, env: Record<string, string> = {}) =>
  problemsIn(() => parseConfiguration(text, 'heliograph.yaml', env));

describe('a bad value is named by file, line, column, found and expected', () => {
  it.each([
    ['tps: 10', 'tps: fast', '8:10: carriers[0].tps: found "fast", expected a whole number from 1 to 100,000'],
    ['tps: 10', 'tps: 0', '8:10: carriers[0].tps: found 0, expected a whole number from 1 to 100,000'],
    ['tps: 10', 'tps: 100001', '8:10: carriers[0].tps: found 100001, expected a whole number from 1 to 100,000'],
    ['tps: 10', 'tps: 1.5', '8:10: carriers[0].tps: found 1.5, expected a whole number from 1 to 100,000'],
    ['tps: 10', 'tps:', '8:9: carriers[0].tps: found nothing, expected a whole number from 1 to 100,000'],
    ['"+880"', '880', '3:17: country.calling_code: found 880, expected a calling code in quotes, such as "+880"'],
    ['[10]', 'ten', '4:21: country.national_lengths: found "ten", expected a list of 1 to 11 entries'],
    ['[10]', '[10, 99]', '4:26: country.national_lengths[1]: found 99, expected a whole number from 4 to 14'],
    [
      '"17": alpha',
      '"17": gamma',
      '5:21: country.prefixes.17: found "gamma", expected one of the carriers alpha, beta',
    ],
    [
      '"17": alpha',
      '"17": sandbox',
      '5:21: country.prefixes.17: found "sandbox", which is for test keys only, expected one of the carriers alpha, beta',
    ],
    [
      '"17": alpha',
      'x7: alpha',
      '5:15: country.prefixes.x7: found the key "x7", expected the first digits of a national number, in quotes',
    ],
    [
      'name: beta',
      'name: alpha',
      '10:11: carriers[1].name: found "alpha" a second time (first carriers[0]), expected another name',
    ],
    [
      'name: beta',
      'name: Beta!',
      '10:11: carriers[1].name: found "Beta!", expected a name of a-z, 0-9 and -, at most 32 characters',
    ],
    [
      'simulate: true',
      'simulate: maybe',
      '9:15: carriers[0].simulate: found "maybe", expected true, false or options of the simulator',
    ],
    [
      'simulate: true',
      'simulate: { latency_ms: soon }',
      '9:29: carriers[0].simulate.latency_ms: found "soon", expected fixed:10, uniform:5,50 or lognormal:250,0.4',
    ],
    [
      'simulate: true',
      'classes: []',
      '9:14: carriers[0].classes: found a list of 0, expected a list of 1 to 3 entries',
    ],
    [
      'password: secret',
      'password_env: NOT_SET',
      '13:64: carriers[1].binds[0].password_env: the environment variable NOT_SET is not set, expected the password in it',
    ],
    [
      'carriers:',
      'routes:\n  - prefix: "+88017"\n    carriers: [alpha, beta]\n    choose: conversion\ncarriers:',
      '9:13: routes[0].choose: found "conversion" for every class, expected classes: [otp]: other messages have no code to be entered',
    ],
    [
      'carriers:',
      'routes:\n  - { prefix: "+88017", classes: [otp, promotional], carriers: [alpha], choose: conversion }\ncarriers:',
      '7:81: routes[0].choose: found "conversion" for otp, promotional, expected classes: [otp]: other messages have no code to be entered',
    ],
    [
      'carriers:',
      'routes:\n  - { prefix: "+88017", carriers: [alpha], choose: conversions }\ncarriers:',
      '7:52: routes[0].choose: found "conversions", expected one of listed, cheapest, weighted, conversion',
    ],
    ['host: smsc.example.net, ', '', '13:9: carriers[1].binds[0].host: missing, expected a host name or address'],
  ])('%s → %s', (was, is, problem) => {
    const text = good.replace(was, is);
    expect(text).not.toBe(good);
    expect(problemsOf(text)).toContain(`heliograph.yaml:${problem}`);
  });
});

it('a route of one-time passwords may be drawn by conversion', () => {
  const route =
    'routes:\n  - { prefix: "+88017", classes: [otp], carriers: [alpha, beta], choose: conversion }\ncarriers:';
  const { routes } = parseConfiguration(good.replace('carriers:', route), 'heliograph.yaml', {});
  expect(routes).toEqual([{ prefix: '+88017', classes: ['otp'], carriers: ['alpha', 'beta'], choose: 'conversion' }]);
});

describe('what a carrier means by a command_status', () => {
  const errorsOf = (errors: string) => good.replace('tps: 20', `tps: 20\n    errors: ${errors}`);
  it.each(['0x0501', '"0x0501"', '"0X501"', '1281', '"1281"', '"0x00000501"'])(
    '%s is one status, however written',
    (key) => {
      const { carriers } = parseConfiguration(errorsOf(`{ ${key}: later, ESME_RSYSERR: next }`), 'heliograph.yaml', {});
      expect(carriers.find(({ name }) => name === 'beta')?.errors).toEqual({
        '0x00000501': 'later',
        ESME_RSYSERR: 'next',
      });
    },
  );
  it.each([
    ['{ ESME_RTROTTLED: later }', /errors.*ESME_RTROTTLED.*expected a command_status: a name of SMPP/],
    ['{ "4294967296": later }', /errors.*expected a command_status/],
    ['{ "-1": later }', /errors.*expected a command_status/],
    ['{ "0x0501": later, "1281": next }', /errors.*each command_status once: .* is 0x00000501/],
    ['{ ESME_RSYSERR: maybe }', /errors.*expected one of later, throttle, next, reject, stop/],
  ])('%s is refused', (errors, problem) => {
    expect(problemsOf(errorsOf(errors))).toEqual([expect.stringMatching(problem)]);
  });
});

describe('an unknown key is refused by name', () => {
  it.each([
    ['tps: 10', 'tps: 10\n    tsp: 5', '9:5: carriers[0].tsp: unknown key "tsp", did you mean "tps"?'],
    [
      'tps: 10',
      'tps: 10\n    allow_networks: []',
      '9:5: carriers[0].allow_networks: unknown key "allow_networks" here: it is a key of another section',
    ],
    ['window: 5', 'windows: 5', '13:78: carriers[1].binds[0].windows: unknown key "windows", did you mean "window"?'],
    [
      'simulate: true',
      'simulate: { latncy_ms: fixed:3 }',
      '9:17: carriers[0].simulate.latncy_ms: unknown key "latncy_ms", did you mean "latency_ms"?',
    ],
    ['carriers:', 'xyzzy: 1\ncarriers:', '6:1: xyzzy: unknown key "xyzzy"'],
  ])('%s → %s', (was, is, problem) => {
    expect(problemsOf(good.replace(was, is))).toEqual([`heliograph.yaml:${problem}`]);
  });
});

describe('the file as a whole', () => {
  it('lists every problem at once', () => {
    const text = good.replace('tps: 10', 'tps: fast').replace('tps: 20', 'tps: slow').replace('[10]', '[]');
    expect(problemsOf(text)).toHaveLength(3);
  });

  it('names line and column of a YAML error', () => {
    expect(problemsOf('country:\n  name: [')[0]).toMatch(/^heliograph\.yaml:2:\d+: not valid YAML: /);
    expect(problemsOf('country: 1\ncountry: 2')[0]).toMatch(/^heliograph\.yaml:2:1: not valid YAML: /);
  });

  it('is refused when it is empty', () => {
    expect(problemsOf('')[0]).toMatch(/^heliograph\.yaml:1:1: found nothing, expected keys such as country/);
  });

  it('never repeats a password', () => {
    const text = good.replace('password: secret', 'password: [hunter2]');
    expect(problemsOf(text).join()).not.toContain('hunter2');
    expect(problemsOf(text)).toHaveLength(1);
  });

  it('does not expand a file of aliases into gigabytes', () => {
    const levels = Array.from({ length: 30 }, (_, i) => `a${i + 1}: &a${i + 1} [*a${i}, *a${i}, *a${i}]`);
    expect(problemsOf(`a0: &a0 [x]\n${levels.join('\n')}`)[0]).toMatch(/^heliograph\.yaml:1:1: .*alias/i);
  });

  it('answers any text with a configuration or with problems, never with another error', () => {
    const line = fc.constantFrom(
      'country:',
      '  name: x',
      '- a',
      '{',
      'carriers: [',
      '  tps: 1',
      ': :',
      '"',
      '\t',
      '&a *a',
      'null',
    );
    fc.assert(
      fc.property(fc.array(line, { maxLength: 12 }), (lines) => {
        for (const problem of problemsOf(lines.join('\n'))) expect(problem).toMatch(/^heliograph\.yaml:\d+:\d+: /);
      }),
      { numRuns: 300 },
    );
  });

  it('names a file that cannot be read', async () => {
    await expect(readConfiguration('/nowhere/heliograph.yaml')).rejects.toThrow(
      /\/nowhere\/heliograph\.yaml: cannot be read/,
    );
  });
});

describe('a good file', () => {
  it('gets its defaults and the sandbox carrier', () => {
    const { carriers, actors } = parseConfiguration(good, 'heliograph.yaml');
    expect(carriers.map((carrier) => carrier.name)).toEqual(['alpha', 'beta', 'sandbox']);
    expect(carriers[2]?.simulate?.magic).toBe(true);
    expect(carriers[0]).toMatchObject({
      receiptId: 'auto',
      enquireLinkMs: 30_000,
      classes: ['otp', 'transactional', 'promotional'],
    });
    expect(actors.threads).toBeGreaterThanOrEqual(1);
  });

  it('bounds what one account may have waiting, by category', () => {
    const withQueue = (queue: string) => `${good}limits: { account_queue_max: ${queue} }\n`;
    const queueOf = (text: string) => parseConfiguration(text, 'heliograph.yaml').limits.accountQueueMax;
    expect(queueOf(good)).toEqual({ otp: 100_000, txn: 1_000_000, promo: 2_000_000 });
    expect(queueOf(withQueue('{ otp: 1000, promotional: 10000000 }'))).toEqual({
      otp: 1_000,
      txn: 1_000_000,
      promo: 10_000_000,
    });
    for (const queue of ['{ otp: 999 }', '{ transactional: 10000001 }', '5', '{ sms: 1000 }']) {
      expect([queue, problemsOf(withQueue(queue)).length]).toEqual([queue, 1]);
    }
  });

  it('changes what accounts share, key by key, and refuses numbers that do not fit together', () => {
    const withShares = (shares: string) => `${good}limits: { shares: ${shares} }\n`;
    const slotsOf = (text: string) => parseConfiguration(text, 'heliograph.yaml').limits.shares.publish_slots;
    expect(slotsOf(good)).toEqual(defaultShares.publish_slots);
    expect(slotsOf(withShares('{ publish_slots: { per_account: 100 } }'))).toEqual({
      ...defaultShares.publish_slots,
      perAccount: 100,
    });
    expect(problemsOf(withShares('{ publish_slots: { total: 1100, per_account: 77 } }'))).toEqual([
      expect.stringContaining('expected at most 76 for one account: the total of 1100 less the reserve of 1024'),
    ]);
    for (const shares of [
      '{ publish_slots: { total: 0 } }',
      '{ publish_slots: { reserve: 1536 } }',
      '{ publish_slots: { per_account_urgent: 1536 } }',
      '{ slots: { total: 5 } }',
      '7',
    ]) {
      expect([shares, problemsOf(withShares(shares)).length]).toEqual([shares, 1]);
    }
  });

  it('takes a password from the environment', () => {
    const text = good.replace('password: secret', 'password_env: BETA_PASSWORD');
    const { carriers } = parseConfiguration(text, 'heliograph.yaml', { BETA_PASSWORD: 'from there' });
    expect(carriers[1]?.binds[0]?.password).toBe('from there');
  });

  it('expands the count of a bind, and connects simulated binds to the chosen port', () => {
    const [alpha, beta] = parseConfiguration(good, 'heliograph.yaml').carriers;
    expect(bindsOf(beta!, {}).map((bind) => [bind.name, bind.host, bind.port])).toEqual([
      ['beta/1', 'smsc.example.net', 2775],
      ['beta/2', 'smsc.example.net', 2775],
      ['beta/3', 'smsc.example.net', 2775],
    ]);
    expect(bindsOf(alpha!, { alpha: 40_001 }).every((bind) => bind.host === '127.0.0.1' && bind.port === 40_001)).toBe(
      true,
    );
  });

  it('is the one that the project ships', () => {
    const shipped = readFileSync(`${import.meta.dirname}/../../heliograph.yaml`, 'utf8');
    const { carriers, country } = parseConfiguration(shipped, 'heliograph.yaml');
    expect(carriers.map((carrier) => carrier.name)).toEqual(['meghna', 'padma', 'jamuna', 'sandbox']);
    expect(Object.keys(country.prefixes)).toEqual(['13', '14', '15', '16', '17', '18', '19']);
  });
});

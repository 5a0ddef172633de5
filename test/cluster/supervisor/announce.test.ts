// What a start prints: the promise that nothing leaves the machine is made only where it is true.
import { expect, test } from 'vitest';
import { parseText } from '../../../config/load.ts';
import { loadSettings } from '../../../config/settings.ts';
import { type DemoToPrint, readyText } from '../../../cluster/supervisor/announce.ts';

const country = 'country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }';
const real = 'binds: [{ host: smsc.example.net, system_id: heliograph, password: secret }]';
const simulated = '  - { name: alpha, tps: 10, simulate: true }';
const both = `${simulated}\n  - { name: beta, tps: 10, ${real} }`;
const shown = { live: 'hk_live_x', test: 'hk_test_x' };

const text = async (carriers: string, demo: Partial<DemoToPrint> = {}) =>
  readyText({
    settings: loadSettings({}),
    carriers: (await parseText(`${country}\ncarriers:\n${carriers}`, 'heliograph.yaml')).carriers,
    demo: {
      accountId: 'acc_x',
      file: '/data/demo-keys.json',
      keys: shown,
      hasLive: true,
      liveKeyRevoked: false,
      ...demo,
    },
    adminPort: 9464,
    secondsToReady: 1,
  });
const keyOfCurl = (readyFacts: string) => /Bearer (\S+)"/.exec(readyFacts)?.[1];

test('the first start with simulated carriers only: both keys, a curl with the live one, nothing leaves the machine', async () => {
  const readyFacts = await text(simulated);
  expect(readyFacts).toContain('all carriers are simulated, nothing leaves this machine');
  expect(readyFacts).toContain('http://127.0.0.1:8080/v1/sms');
  expect(keyOfCurl(readyFacts)).toBe('hk_live_x');
  expect(readyFacts).toContain('hk_test_x');
  expect(readyFacts).toContain('only this start prints them; later: npx heliograph keys demo');
  expect(readyFacts).not.toContain('Real carriers');
});

test('a later start: no key, but the file they are in and a curl that reads it', async () => {
  const readyFacts = await text(simulated, { keys: null });
  expect(readyFacts).not.toMatch(/hk_(live|test)_/);
  expect(readyFacts).toContain('/data/demo-keys.json');
  expect(readyFacts).toContain('KEY=$(npx heliograph keys demo)');
  expect(keyOfCurl(readyFacts)).toBe('$KEY');
});

test('with a real carrier: its name, the test key, and how to get a live key of your own', async () => {
  const readyFacts = await text(both, { keys: { live: null, test: 'hk_test_x' }, hasLive: false });
  expect(readyFacts).toContain('Real carriers: beta. There is no live demo key');
  expect(readyFacts).toContain('heliograph keys create');
  expect(readyFacts).not.toContain('all carriers are simulated');
  expect(keyOfCurl(readyFacts)).toBe('hk_test_x');
});

test('a later start with an added real carrier: that the live key is revoked, and the test key', async () => {
  const readyFacts = await text(both, { keys: null, hasLive: false, liveKeyRevoked: true });
  expect(readyFacts).toContain('The live demo key is revoked');
  expect(readyFacts).toContain('KEY=$(npx heliograph keys demo --test)');
});

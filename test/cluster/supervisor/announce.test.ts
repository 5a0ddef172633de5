// What the person at the terminal reads: the promise that nothing leaves the machine is made only where it holds.
import { expect, test } from 'vitest';
import { parseText } from '../../../cluster/config/load.ts';
import { loadSettings } from '../../../cluster/config/settings.ts';
import { readyText } from '../../../cluster/supervisor/announce.ts';

const country = 'country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha } }';
const real = 'binds: [{ host: smsc.example.net, system_id: heliograph, password: secret }]';
const text = async (carriers: string) =>
  readyText({
    settings: loadSettings({}),
    carriers: (await parseText(`${country}\ncarriers:\n${carriers}`, 'heliograph.yaml')).carriers,
    demo: { accountId: 'acc_x', liveKey: 'hk_live_x', testKey: 'hk_test_x' },
    adminPort: 9464,
    secondsToReady: 1,
  });
const keyOfCurl = (shown: string) => /Bearer (\S+)'/.exec(shown)?.[1];

test('with simulated carriers only: nothing leaves the machine, and the curl has the live key', async () => {
  const shown = await text('  - { name: alpha, tps: 10, simulate: true }');
  expect(shown).toContain('all carriers are simulated, nothing leaves this machine');
  expect(keyOfCurl(shown)).toBe('hk_live_x');
  expect(shown).not.toContain('real carriers');
});

test('with a real one beside them: that the live key may reach it, and the curl has the test key', async () => {
  const shown = await text(`  - { name: alpha, tps: 10, simulate: true }\n  - { name: beta, tps: 10, ${real} }`);
  expect(shown).toContain('The live key may reach real carriers: beta.');
  expect(shown).not.toContain('all carriers are simulated');
  expect(keyOfCurl(shown)).toBe('hk_test_x');
});

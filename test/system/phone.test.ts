// The simulated carriers of a whole system: `heliograph phone` shows what they delivered, and a clean stop loses no receipt.
import { join } from 'node:path';
import { afterAll, beforeAll, expect, test, vi } from 'vitest';
import { readPending } from '../../smpp/simulator/pending.ts';
import { runCli, type CliResult } from '../support/cli.ts';
import { endSystems, startSystem } from '../support/system.ts';
import { until } from '../support/until.ts';
import { type WholeSystem, startWholeSystem } from '../support/whole-system.ts';

vi.setConfig({ testTimeout: 120_000, hookTimeout: 120_000 });

const configuration = `
country: { name: Test, calling_code: "+880", national_lengths: [10], prefixes: { "17": alpha, "18": beta } }
carriers:
  - { name: alpha, tps: 100, simulate: { latency_ms: fixed:50 } }
  - name: beta
    tps: 100
    destination_format: national
    national_prefix: "0"
    simulate: { latency_ms: "uniform:12000,16000" }
`;

let system: WholeSystem;
beforeAll(async () => {
  system = await startWholeSystem(configuration);
});
afterAll(endSystems);

async function ask<T>(method: string, path: string, body?: unknown): Promise<T> {
  const send = () =>
    fetch(`http://127.0.0.1:${system.httpPort}/v1${path}`, {
      method,
      headers: { authorization: `Bearer ${system.keys.liveKey}`, 'content-type': 'application/json' },
      ...(body === undefined ? {} : { body: JSON.stringify(body) }),
    });
  // What is read may not be known in time.
  const response = await until('an answer', async () => {
    const answer = await send();
    return !(method === 'GET' && [429, 503].includes(answer.status)) && answer;
  });
  const answer: unknown = await response.json();
  expect([response.status, answer]).toEqual([expect.toSatisfy((code: number) => code < 300), answer]);
  return answer as T;
}

type Text = { carrier: string; from: string; to: string; text: string; state: string | null };
const phone = (...words: string[]): Promise<CliResult> => runCli(['phone', ...words], system.env);
async function textsTo(number: string): Promise<Text[]> {
  const { code, stdout, stderr } = await phone(number, '--json');
  expect([code, stderr]).toEqual([0, '']);
  return (JSON.parse(stdout) as { data: Text[] }).data;
}

test('the code of a one-time password started with a live key can be read, and is right', async () => {
  const to = '+8801712345671';
  const { id } = await ask<{ id: string }>('POST', '/otp', { to, from: 'HELIOGRAPH', brand: 'Acme' });
  const { text, ...rest } = await until('its text', async () =>
    (await textsTo(to)).find(({ state }) => state === 'delivered'),
  );
  expect(rest).toMatchObject({ carrier: 'alpha', from: 'HELIOGRAPH', to });
  const code = /\d{6}/.exec(text)?.[0];
  expect(await ask('POST', `/otp/${id}/verify`, { code })).toMatchObject({ valid: true });
});

test('so can the short link of a message', async () => {
  const to = '+8801712345672';
  const message = 'Your offer: https://shop.example.org/offer?id=7';
  await ask('POST', '/sms', { to, from: 'HELIOGRAPH', message, category: 'transactional', track_clicks: true });
  const { text } = await until('its text', async () => (await textsTo(to))[0]);
  expect(text).toMatch(/^Your offer: http\S+\/r\/[0-9A-Za-z]{10}$/);
});

test('newest last, of all carriers or one, to all numbers or one, also where a carrier gets national numbers', async () => {
  for (const [at, to] of ['+8801712345673', '+8801812345674', '+8801712345675'].entries()) {
    await ask('POST', '/sms', { to, from: 'HELIOGRAPH', message: `text ${at}\nof three`, category: 'transactional' });
    await until('its text', async () => (await textsTo(to))[0]);
  }
  const lines = (await phone('--limit', '3')).stdout.trim().split('\n');
  expect(lines.map((line) => line.replace(/^\S+ {2}/, '').replace(/ {2}\(.*/, ''))).toEqual([
    'alpha  HELIOGRAPH → +8801712345673  "text 0\\nof three"',
    'beta  HELIOGRAPH → 01812345674  "text 1\\nof three"',
    'alpha  HELIOGRAPH → +8801712345675  "text 2\\nof three"',
  ]);
  expect((await phone('--carrier', 'beta')).stdout.trim().split('\n')).toHaveLength(1);
  expect((await phone('+8801799999999')).stdout).toBe('nothing yet from alpha, beta, sandbox\n');
  expect(await phone('--carrier', 'gamma')).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('--carrier: found "gamma", expected a simulated carrier: alpha, beta, sandbox'),
  });
});

test('receipts that were not due at a clean stop come after the next start', async () => {
  const sent = await Promise.all(
    Array.from({ length: 40 }, (_, at) => {
      const to = `+88018200000${at + 10}`;
      return ask<{ id: string }>('POST', '/sms', { to, from: 'HELIOGRAPH', message: 'x', category: 'transactional' });
    }),
  );
  const haveStatus = async (...wanted: string[]) => {
    // One after the other: an account may have a few queries at a time.
    for (const { id } of sent) {
      if (!wanted.includes((await ask<{ status: string }>('GET', `/sms/${id}`)).status)) return false;
    }
    return true;
  };
  await until('all are submitted', () => haveStatus('submitted', 'delivered'));
  system.process.kill('SIGINT');
  expect(await system.exit(60_000)).toBe(0);
  expect(readPending(join(system.dataDir, 'simulated', 'beta'))?.receipts.length).toBeGreaterThan(0);
  expect(await phone()).toMatchObject({ code: 1, stderr: expect.stringContaining('Heliograph does not run on') });
  system = await startWholeSystem(configuration, { before: system });
  await until('all are delivered', () => haveStatus('delivered'));
  expect(await system.stop()).toBe(0);
});

test('a system without a simulated carrier says so', async () => {
  const other = await startSystem({ env: { HELIOGRAPH_ROLES: 'control' } });
  await other.ready();
  expect(await runCli(['phone'], other.env)).toMatchObject({
    code: 1,
    stderr: expect.stringContaining('runs no simulated carrier'),
  });
});

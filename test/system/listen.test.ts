// `heliograph listen` as a developer runs it: a process of its own against a running installation, which prints the
// events of test messages and forwards them to a server on loopback that no webhook could reach, signed.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { join } from 'node:path';
import { afterAll, afterEach, beforeAll, expect, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import { freePort } from '../../cluster/embedded/ports.ts';
import { runCli } from '../support/cli.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';
import { until } from '../support/until.ts';
import { type Receiver, startReceiver } from '../support/webhooks.ts';

let harness: SystemHarness;
let receiver: Receiver;
const children: ChildProcess[] = [];
beforeAll(async () => {
  [harness, receiver] = await Promise.all([openSystemHarness(), startReceiver()]);
});
afterAll(async () => {
  await receiver?.close();
  await harness?.stop();
});
afterEach(async () => {
  for (const child of children.splice(0)) {
    child.kill('SIGINT');
    if (child.exitCode === null) await once(child, 'exit');
  }
});

const main = join(import.meta.dirname, '../../cli/main.ts');
type Listening = { readonly child: ChildProcess; out(): string; err(): string };

function listen(...words: string[]): Listening {
  const { env } = harness.system;
  const child = spawn(process.execPath, [main, 'listen', ...words], { env, stdio: ['ignore', 'pipe', 'pipe'] });
  children.push(child);
  const texts = { out: '', err: '' };
  child.stdout.setEncoding('utf8').on('data', (text: string) => (texts.out += text));
  child.stderr.setEncoding('utf8').on('data', (text: string) => (texts.err += text));
  return { child, out: () => texts.out, err: () => texts.err };
}

/** Its number decides: 0001 is undelivered. */
async function send(to: string, key = harness.system.keys.testKey): Promise<string> {
  const reply = await harness.clientOf(key).post({ to, message: 'hello' });
  expect(reply.status).toBe(202);
  return String(reply.json['id']);
}

test('events of test messages are printed and forwarded with the signature of a webhook; live ones are not', async () => {
  const listening = listen('--forward-to', receiver.url);
  await until('it listens', () => listening.err().includes('Signed with'));
  const secret = /whsec_\S+/.exec(listening.err())?.[0] ?? '';
  const live = await send('+8801712345678', harness.system.keys.liveKey);
  const [good, bad] = [await send('+8801712345678'), await send('+8801712340001')];
  await until('both have ended', () => [good, bad].every((id) => new RegExp(`livered +${id}`).test(listening.out())));
  const published = (id: string) => receiver.received.filter(({ json }) => json.data['id'] === id);
  expect(published(good).map(({ json }) => json.type)).toEqual(['sms.submitted', 'sms.delivered']);
  expect(published(bad).map(({ json }) => json.type)).toEqual(['sms.submitted', 'sms.undelivered']);
  expect(published(live)).toEqual([]);
  for (const { body, headers } of receiver.received)
    expect(() => new Webhook(secret).verify(body, headers)).not.toThrow();
  expect(listening.out()).toMatch(new RegExp(`sms\\.delivered +${good} +\\+8801712345678 +→ 204 \\(\\d+ ms\\)`));
  listening.child.kill('SIGINT');
  const [code] = (await once(listening.child, 'exit')) as [number];
  expect(code).toBe(0);
});

test('with --json each event is one line, filtered by type, and a URL that nobody answers is said', async () => {
  const listening = listen(
    '--json',
    '--events',
    'sms.delivered',
    '--forward-to',
    `http://127.0.0.1:${await freePort()}/`,
  );
  // The first answer is not printed: a message may come before it.
  const id = await until(
    'its first event',
    async () => {
      const sent = await send('+8801712340000');
      return listening.out() === '' ? null : sent;
    },
    { everyMs: 500 },
  );
  expect(id).toMatch(/^sms_/);
  for (const line of listening.out().trim().split('\n')) {
    const { type, data, forwarded } = JSON.parse(line);
    expect([type, data.livemode, forwarded.status]).toEqual(['sms.delivered', false, null]);
    expect(forwarded.error).toContain('ECONNREFUSED');
  }
  // Standard output is for the program that reads it; a receiver that verifies needs the secret all the same.
  expect(listening.err()).toMatch(/^Signed with whsec_\S+$/m);
});

test('a receiver that hangs holds up nothing but the messages it has: their events are printed before the answer', async () => {
  const hanging = await startReceiver(() => null);
  try {
    const listening = listen('--forward-to', hanging.url);
    await until('it listens', () => listening.err().includes('Signed with'));
    const ids = [await send('+8801712345678'), await send('+8801712345678')];
    await until('each is printed', () =>
      ids.every((id) => new RegExp(`Z  sms\\.delivered +${id} +\\S+ +→ no answer yet`).test(listening.out())),
    );
    const firsts = hanging.received.map(({ json }) => [json.type, json.data['id']]);
    expect(new Set(firsts)).toEqual(new Set(ids.map((id) => ['sms.submitted', id])));
    await until('it gives up', () => listening.out().includes(`${ids[0]}  +8801712345678  → no answer in 15 s`));
  } finally {
    await hanging.close();
  }
});

test('it goes on where it was when the control role was killed', async () => {
  const listening = listen();
  await until('it listens', () => listening.err() !== '');
  await harness.system.kill9('control');
  const id = await send('+8801712345678');
  await until('it is printed', () => new RegExp(`sms.delivered +${id}`).test(listening.out()));
});

test.each([
  ['a live key', () => ['--key', harness.system.keys.liveKey], /--key: this is a live key; expected a test key/],
  ['a key that is revoked', () => ['--key', `hk_test_${'a'.repeat(12)}_${'b'.repeat(32)}`], /answered 401/],
  ['no URL', () => ['--forward-to', 'localhost:3000'], /--forward-to: found "localhost:3000"/],
  ['a type that does not exist', () => ['--events', 'sms.sent'], /--events: found "sms.sent"/],
  ['no secret', () => ['--secret', 'abc'], /--secret: expected/],
])('%s is refused with a sentence', async (_name, words, sentence) => {
  const { code, stderr } = await runCli(['listen', ...words()], harness.system.env);
  expect([code, stderr]).toEqual([1, expect.stringMatching(sentence)]);
});

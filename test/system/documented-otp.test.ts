// The examples of one-time passwords in the README and in docs/otp.md do what they print, on the whole system: each command
// is read from the page and sent as it is there, with the ids, keys and codes of this run in place of those of the page.
import { readFileSync } from 'node:fs';
import { afterAll, beforeAll, expect, test } from 'vitest';
import type { Reply } from '../support/sms-client.ts';
import { type SystemHarness, openSystemHarness } from '../support/system-harness.ts';
import { until } from '../support/until.ts';

let harness: SystemHarness;
beforeAll(async () => {
  harness = await openSystemHarness();
});
afterAll(() => harness?.stop());

/** The shell commands and the JSON answers of a section, in order. */
function blocksOf(path: string, from: string, to: string) {
  const page = readFileSync(new URL(`../../${path}`, import.meta.url), 'utf8');
  const [, section = ''] = page.split(from);
  const blocks = (section.split(to)[0] ?? '').matchAll(/```(sh|json)\n([\s\S]*?)```/g);
  return [...blocks].map(([, kind, text = '']) => ({ kind, text }));
}

/** Sends the `curl` of a block. `replaced`: what the page has and this run has instead. */
async function send(block: string, replaced: Readonly<Record<string, string>> = {}): Promise<Reply> {
  const text = Object.entries(replaced).reduce((all, [old, now]) => all.replaceAll(old, now), block);
  const [, path = ''] = /curl -s http:\/\/localhost:8080(\/\S+)/.exec(text) ?? [];
  const [, body = ''] = /-d '([^']*)'/.exec(text) ?? [];
  const [, key = ''] = /Bearer \$(\w+)"/.exec(text) ?? [];
  expect(text).toContain("-H 'Content-Type: application/json'");
  const client = key === 'TEST' ? harness.clientOf(harness.system.keys.testKey) : harness.client;
  return client.call('POST', path, JSON.parse(body));
}

const fieldsOf = (json: string | undefined) => Object.keys(JSON.parse(json ?? '{}')).sort();

test('the README starts one under a test key and verifies it', async () => {
  const blocks = blocksOf('README.md', 'A [one-time password](docs/otp.md) is made', 'With a test key (`hk_test_');
  const [start, started, verify, verified] = blocks.map(({ text }) => text);
  expect(start).toContain('TEST=$(npx heliograph keys demo --test)');
  const first = await send(start!);
  expect({ status: first.status, fields: Object.keys(first.json).sort() }).toEqual({
    status: 201,
    fields: fieldsOf(started),
  });
  const printed = JSON.parse(started!) as Record<string, string>;
  const second = await send(verify!, {
    [printed['id']!]: String(first.json['id']),
    [printed['test_code']!]: String(first.json['test_code']),
  });
  const expected = JSON.parse(verified!) as object;
  expect(second).toMatchObject({ status: 200, json: { ...expected, id: first.json['id'] } });
});

test('docs/otp.md makes a template, has it approved and sends a code with it', async () => {
  const blocks = blocksOf('docs/otp.md', '## Texts', '## What a guess may do');
  const [create, created, approve, start] = blocks.map(({ text }) => text);
  const made = await send(create!);
  const printed = JSON.parse(created!) as Record<string, unknown>;
  const changing = { id: made.json['id'], created_at: made.json['created_at'] };
  expect(made).toMatchObject({ status: 201, json: { ...printed, ...changing } });
  expect(Object.keys(made.json).sort()).toEqual(fieldsOf(created));
  const id = String(made.json['id']);
  const [, ...words] = approve!.trim().replace('npx ', '').replace(String(printed['id']), id).split(' ');
  await harness.system.cli(...words);
  const sent = await until('the template is in effect', async () => {
    const answer = await send(start!, { [String(printed['id'])]: id });
    return answer.status !== 422 && answer;
  });
  expect(sent).toMatchObject({ status: 201, json: { status: 'pending', to: '+8801712345678' } });
  const [taken] = await until('it is at the carrier', async () => {
    const messages = harness.smscPeers.carriers.alpha.messages({ destination: '8801712345678' });
    return messages.length > 0 && messages;
  });
  expect(taken?.text).toMatch(/^\d{6} is your code for Acme\. It counts for five minutes\.$/);
});

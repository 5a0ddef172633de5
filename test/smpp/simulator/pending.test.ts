// The pending receipts of a simulated carrier over its stop: a real simulator process, SIGTERM, and another one on the same file.
import { type ChildProcess, spawn } from 'node:child_process';
import { once } from 'node:events';
import { existsSync, mkdtempSync, readFileSync, rmSync, statSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { afterEach, beforeEach, expect, test } from 'vitest';
import { withDeadline } from '../../../platform/deadline.ts';
import { readPending } from '../../../smpp/simulator/pending.ts';
import type { Stats } from '../../../smpp/simulator/stats.ts';
import { patienceMs, until } from '../../support/until.ts';
import { message } from '../messages.ts';
import { boundWitness, closeWitnesses, type Witness } from '../support.ts';

const main = new URL('../../../smpp/simulator/main.ts', import.meta.url).pathname;
let folder: string;
let file: string;
const running = new Set<ChildProcess>();

beforeEach(() => {
  folder = mkdtempSync(join(tmpdir(), 'heliograph-pending-'));
  file = join(folder, 'pending');
});
afterEach(async () => {
  await closeWitnesses();
  for (const child of running) child.kill('SIGKILL');
  rmSync(folder, { recursive: true });
});

async function start(...args: string[]) {
  const words = [main, '--port', '0', '--json', '--pending-file', file, ...args];
  const child = spawn(process.execPath, words, { stdio: ['ignore', 'pipe', 'inherit'] });
  running.add(child);
  const exit = once(child, 'exit').finally(() => running.delete(child));
  let out = '';
  child.stdout.on('data', (chunk) => (out += chunk));
  const line = await until('the ready line', () => out.includes('\n') && out);
  const { port, stats_port: statsPort } = JSON.parse(line) as { port: number; stats_port: number };
  return {
    port,
    stats: async () => (await (await fetch(`http://127.0.0.1:${statsPort}/stats`)).json()) as Stats,
    async stop(signal: NodeJS.Signals = 'SIGTERM') {
      await closeWitnesses();
      child.kill(signal);
      return withDeadline('the exit', patienceMs, exit);
    },
  };
}

const long = 'Your code is 482913, and the rest of this text stays out of every file';

async function submitted(seen: Witness, count: number): Promise<string[]> {
  for (let index = 0; index < count; index += 1) seen.session.submit(message(long), String(index));
  await until('all responses', () => seen.responses.size === count);
  return [...seen.responses.values()].map(({ carrierMessageId }) => carrierMessageId).sort();
}

const idsOf = (seen: Witness) => seen.receipts.map(({ carrierMessageId }) => carrierMessageId).sort();

test('receipts that are not due at a stop come after the next start, each exactly once', async () => {
  const first = await start('--latency-ms', 'fixed:4000');
  const ids = await submitted(await boundWitness(first.port, { windowPdusMax: 50 }), 50);
  expect(await first.stop()).toEqual([0, null]);
  expect(statSync(file).mode & 0o777).toBe(0o600);
  expect(readFileSync(file, 'latin1')).not.toContain('stays out');

  const second = await start('--latency-ms', 'fixed:4000');
  const seen = await boundWitness(second.port);
  expect(existsSync(file), 'from here on the file would repeat receipts').toBe(false);
  const [newId = ''] = await submitted(seen, 1);
  expect(ids).not.toContain(newId);
  await until('all receipts', () => seen.receipts.length >= 51);
  await until('all answers', async () => (await second.stats()).receipts.acked === 51);
  expect(idsOf(seen)).toEqual([...ids, newId].sort());
  expect((await second.stats()).receipts).toMatchObject({ sent: 51, retried: 0, pending: 0 });
  expect(seen.receipts.every(({ state }) => state === 'delivered')).toBe(true);
  expect(await second.stop()).toEqual([0, null]);
  expect(readPending(file)).toMatchObject({ receipts: [], deliveries: [] });
});

test('receipts that no session could take, that were not answered, or that are overdue come at once', async () => {
  const first = await start('--latency-ms', 'fixed:10');
  const silent = await boundWitness(first.port);
  silent.answerWith = undefined;
  const unanswered = await submitted(silent, 2);
  await until('receipts without an answer', () => silent.receipts.length === 2);
  await silent.session.close('another bind', 0);
  const sender = await boundWitness(first.port, { type: 'transmitter' });
  const waiting = await submitted(sender, 3);
  await until('all wait', async () => (await first.stats()).receipts.pending === 5);
  expect(await first.stop()).toEqual([0, null]);

  // Not due at the second stop either: it began with what the first one left, and no session was bound.
  const second = await start();
  expect(await second.stop()).toEqual([0, null]);

  const third = await start();
  const seen = await boundWitness(third.port);
  await until('all answers', async () => (await third.stats()).receipts.acked === 5);
  expect(idsOf(seen)).toEqual([...unanswered, ...waiting].sort());
});

test('a kill before the first bind loses nothing, and one after it loses receipts but repeats none', async () => {
  const first = await start('--latency-ms', 'fixed:60000');
  const ids = await submitted(await boundWitness(first.port), 2);
  await first.stop();
  const killed = await start();
  await killed.stop('SIGKILL');
  expect(
    readPending(file)
      ?.receipts.map(({ responseId }) => responseId)
      .sort(),
  ).toEqual(ids);
  const second = await start();
  await boundWitness(second.port);
  await second.stop('SIGKILL');
  expect(existsSync(file)).toBe(false);
});

test('a file that cannot be read is named in one sentence', async () => {
  writeFileSync(file, 'something else');
  const child = spawn(process.execPath, [main, '--port', '0', '--pending-file', file], {
    stdio: ['ignore', 'ignore', 'pipe'],
  });
  let err = '';
  child.stderr.on('data', (chunk) => (err += chunk));
  expect(await withDeadline('the exit', patienceMs, once(child, 'close'))).toEqual([2, null]);
  expect(err).toContain(`${file}: the pending receipts of the simulated carrier cannot be read`);
  expect(err.trim().split('\n')).toHaveLength(1);
});

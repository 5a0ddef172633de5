// The simulator as a process: its output, its stop, its answer to wrong options.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { mkdtempSync, rmSync, writeFileSync } from 'node:fs';
import { tmpdir } from 'node:os';
import { join } from 'node:path';
import { describe, expect, test } from 'vitest';
import { withDeadline } from '../../../platform/deadline.ts';
import { patienceMs, until } from '../../support/until.ts';
import { message } from '../messages.ts';
import { boundWitness, closeWitnesses } from '../support.ts';

const main = new URL('../../../smpp/simulator/main.ts', import.meta.url).pathname;

function run(args: string[]) {
  const child = spawn(process.execPath, [main, ...args], { stdio: ['ignore', 'pipe', 'pipe'] });
  const run = { child, out: '', err: '' };
  child.stdout.on('data', (chunk) => (run.out += chunk));
  child.stderr.on('data', (chunk) => (run.err += chunk));
  return { ...run, run, exit: once(child, 'close') };
}

describe('heliograph smsc', () => {
  test('prints where it listens, serves, and stops on SIGTERM', async () => {
    const {
      child,
      run: output,
      exit,
    } = run([
      '--port',
      '0',
      '--json',
      '--system-id',
      'heliograph',
      '--password',
      'sandbox',
      '--tps',
      '100',
      '--latency-ms',
      'fixed:1',
    ]);
    const line = await until('the ready line', () => output.out.includes('\n') && output.out);
    const ready = JSON.parse(line) as { ready: boolean; port: number; stats_port: number };
    expect(ready.ready).toBe(true);
    const seen = await boundWitness(ready.port);
    seen.session.submit(message('hello'), 'x');
    await until('the receipt', () => seen.receipts.length === 1);
    await closeWitnesses();
    const stats = (await (await fetch(`http://127.0.0.1:${ready.stats_port}/stats`)).json()) as { messages: number };
    expect(stats.messages).toBe(1);
    child.kill('SIGTERM');
    expect(await withDeadline('the exit', patienceMs, exit)).toEqual([0, null]);
  });

  test('asks for the token of --token-file', async () => {
    const folder = mkdtempSync(join(tmpdir(), 'heliograph-smsc-'));
    const file = join(folder, 'token');
    writeFileSync(file, 'a-token-of-this-test\n');
    const { child, run: output, exit } = run(['--port', '0', '--json', '--token-file', file]);
    const line = await until('the ready line', () => output.out.includes('\n') && output.out);
    const { stats_port: port } = JSON.parse(line) as { stats_port: number };
    const statusOf = async (headers: Record<string, string>) =>
      (await fetch(`http://127.0.0.1:${port}/messages`, { headers })).status;
    expect(await statusOf({})).toBe(401);
    expect(await statusOf({ authorization: 'Bearer a-token-of-this-test' })).toBe(200);
    child.kill('SIGTERM');
    expect(await withDeadline('the exit', patienceMs, exit)).toEqual([0, null]);
    rmSync(folder, { recursive: true });
  });

  test('explains its options', async () => {
    const { run: output, exit } = run(['--help']);
    expect(await withDeadline('the exit', patienceMs, exit)).toEqual([0, null]);
    for (const option of [
      '--port',
      '--system-id',
      '--gsm7',
      '--system-type',
      '--tls-cert',
      '--tps',
      '--latency-ms',
      '--receipts',
      '--ids',
      '--fault',
      '--mo',
      '--stats-port',
      '--token-file',
      '--pending-file',
    ]) {
      expect(output.out).toContain(option);
    }
  });

  test.each([
    [['--tps', 'many'], '--tps many: expected a whole number'],
    [['--latency-ms', 'soon'], '--latency-ms soon: expected fixed:MS'],
    [['--fault', 'flood'], '--fault flood: expected one of stall'],
    [['--receipts', 'paper'], '--receipts paper: expected text, tlv, both'],
    [['--account', 'x'], '--account x: expected system-id:password'],
    [['--port', '65536'], '--port 65536'],
    [['--gsm7', 'squeezed'], '--gsm7 squeezed: expected unpacked, packed'],
    [['--gsm7-data-coding', '256'], '--gsm7-data-coding 256: expected a whole number from 0 to 255'],
    [['--tls-cert', '/nowhere.pem'], '--tls-cert /nowhere.pem: expected a PEM file'],
    [['--tls-cert', import.meta.filename], '--tls-cert and --tls-key together'],
    [['--token-file', '/nowhere'], '--token-file /nowhere: expected a file with a token'],
    [['--token-file', import.meta.filename], 'expected one line of 16 to 256 characters without spaces'],
    [['--colour'], '--colour'],
  ])('refuses %j with one sentence', async (args, sentence) => {
    const { run: output, exit } = run(args);
    expect(await withDeadline('the exit', patienceMs, exit)).toEqual([2, null]);
    expect(output.err).toContain(sentence);
    expect(output.err.trim().split('\n').length).toBe(1);
  });
});

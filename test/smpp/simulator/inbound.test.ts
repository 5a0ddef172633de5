// Simulated subscribers: over HTTP with parts in any order, and by options at a rate. What arrives is read with the
// product's own reader.
import { spawn } from 'node:child_process';
import { afterEach, describe, expect, test } from 'vitest';
import { inboundBodyOf } from '../../../model/inbound-body.ts';
import { until } from '../../support/until.ts';
import { readConcatenation } from '../../../model/text/concatenation.ts';
import { inboundForms } from '../../../smpp/simulator/inbound.ts';
import { type Simulator, startSimulator } from '../../../smpp/simulator/simulator.ts';
import { boundWitness, closeWitnesses } from '../support.ts';

const main = new URL('../../../smpp/simulator/main.ts', import.meta.url).pathname;
let simulator: Simulator | null = null;
afterEach(async () => {
  await closeWitnesses();
  await simulator?.close();
  simulator = null;
});

const text = 'Where is it? '.repeat(30);
const post = (body: object) =>
  fetch(`http://127.0.0.1:${simulator?.statsPort}/mo`, { method: 'POST', body: JSON.stringify(body) });

describe('POST /mo', () => {
  test('sends a long text in the requested form', async () => {
    simulator = await startSimulator();
    const seen = await boundWitness(simulator.port);
    const from = '+8801712345678';
    for (const as of inboundForms) expect((await post({ from, to: '16000', text, as })).status).toBe(202);
    const parts = Math.ceil(text.length / 153);
    await until('all of it', () => seen.inbound.length === 3 * parts + 1);
    expect(simulator.stats().inbound.sent).toBe(3 * parts + 1);
    await until('all is answered', () => simulator?.stats().inbound.acked === 3 * parts + 1);
  });

  test('sends the named parts, in their order', async () => {
    simulator = await startSimulator();
    const seen = await boundWitness(simulator.port);
    await post({ from: '+8801712345678', to: '16000', text, as: 'udh', reference: 777, parts: [3, 1] });
    await until('both', () => seen.inbound.length === 2);
    const ties = seen.inbound.map((octets) => readConcatenation(octets).concatenation);
    expect(ties).toMatchObject([
      { reference: 777, referenceBits: 16, part: 3 },
      { reference: 777, part: 1 },
    ]);
    const bodies = seen.inbound.map((octets) => readConcatenation(octets).body);
    const part = (octets: Buffer) => ({ alphabet: 'gsm7', dataCoding: 0, shift: null, octets }) as const;
    const [third, first] = bodies.map((octets) => inboundBodyOf([part(octets)]));
    expect(first !== undefined && 'text' in first && text.startsWith(first.text)).toBe(true);
    expect(third !== undefined && 'text' in third && text.endsWith(third.text)).toBe(true);
  });

  test('refuses an unknown form', async () => {
    simulator = await startSimulator();
    const reply = await post({ from: '+8801712345678', to: '16000', text, as: 'pigeon' });
    expect(reply.status).toBe(400);
    expect(JSON.stringify(await reply.json())).toContain('udh8');
  });
});

describe('--mo', () => {
  test('sends the configured number a second, with a count in the text, in parts where it is long', async () => {
    const words = `{n} ${'A long question. '.repeat(12)}`;
    const options = ['--port', '0', '--json', '--mo', '20', '--mo-text', words, '--mo-to', '17000', '--mo-as', 'udh8'];
    const child = spawn(process.execPath, [main, ...options], { stdio: ['ignore', 'pipe', 'ignore'] });
    let out = '';
    child.stdout.on('data', (chunk) => (out += chunk));
    const line = await until('the ready line', () => out.includes('\n') && out);
    const seen = await boundWitness((JSON.parse(line) as { port: number }).port);
    await until('some', () => seen.inbound.length >= 6);
    const [one, two] = seen.inbound.map((octets) => readConcatenation(octets).concatenation);
    expect([one?.part, two?.part]).toEqual([1, 2]);
    expect(one?.referenceBits).toBe(8);
    await closeWitnesses();
    child.kill('SIGTERM');
  });

  test('explains itself, and refuses an unknown form', async () => {
    const child = spawn(process.execPath, [main, '--mo-as', 'pigeon'], { stdio: ['ignore', 'ignore', 'pipe'] });
    let err = '';
    child.stderr.on('data', (chunk) => (err += chunk));
    const code = await new Promise((resolve) => child.once('close', resolve));
    expect(code).toBe(2);
    expect(err).toContain('--mo-as pigeon: expected message_payload, udh, udh8, sar');
  });
});

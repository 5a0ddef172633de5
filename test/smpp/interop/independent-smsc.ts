// Runs the independent SMSC (smsc.py) as a child process and collects what it received. Without Python 3 it fails: an
// interoperability test that is silently left out proves nothing.
import { spawn } from 'node:child_process';
import { once } from 'node:events';
import { createInterface } from 'node:readline';
import { until } from '../../support/until.ts';

export type Seen = { kind: string; [field: string]: unknown };

export type IndependentSmsc = {
  readonly port: number;
  readonly seen: readonly Seen[];
  of(kind: string): Seen[];
  /** Sends unbind to every session. */
  unbind(): void;
  forget(): void;
  close(): Promise<void>;
};

export async function startIndependentSmsc(...flags: string[]): Promise<IndependentSmsc> {
  const child = spawn('python3', [`${import.meta.dirname}/smsc.py`, ...flags], { stdio: ['pipe', 'pipe', 'pipe'] });
  const seen: Seen[] = [];
  let failure = '';
  child.on('error', () => {
    failure =
      'python3 was not found: the interoperability tests run against an SMSC written in Python 3. Install python3.';
  });
  child.stderr.on('data', (chunk: Buffer) => (failure += chunk.toString()));
  createInterface({ input: child.stdout }).on('line', (line) => seen.push(JSON.parse(line) as Seen));
  const first = await until('the independent SMSC', () => seen[0] ?? (failure === '' ? undefined : 'failed'));
  if (first === 'failed') throw new Error(failure);
  const ended = once(child, 'exit');
  return {
    port: first['port'] as number,
    seen,
    of: (kind) => seen.filter((each) => each.kind === kind),
    unbind: () => child.stdin.write('unbind\n'),
    forget: () => void seen.splice(0),
    async close() {
      child.stdin.end();
      await ended;
    },
  };
}

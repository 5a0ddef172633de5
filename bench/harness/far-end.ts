// The carrier's side of a bench: starts a simulator process and reads its counters.
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { withDeadline } from '../../platform/deadline.ts';
import type { Stats } from '../../smpp/simulator/stats.ts';

export type FarEnd = {
  readonly port: number;
  readonly systemId: string;
  readonly password: string;
  stats(): Promise<Stats>;
  stop(): Promise<void>;
};

const file = join(import.meta.dirname, '../load/far-end-process.ts');
const answerWithinMs = 10_000;

export async function startFarEnd(systemId: string, latencyMs = 'lognormal:250,0.4'): Promise<FarEnd> {
  const child = fork(file);
  const password = 'bench';
  const { port } = await ask<{ port: number }>(child, { systemId, password, latencyMs });
  return {
    port,
    systemId,
    password,
    stats: () => ask<Stats>(child, 'stats'),
    async stop() {
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      child.disconnect();
      await withDeadline('the simulator stops', answerWithinMs, ended);
    },
  };
}

function ask<T>(child: ChildProcess, question: string | object): Promise<T> {
  const answer = new Promise<T>((resolve, reject) => {
    child.once('message', (message) => resolve(message as T));
    child.once('exit', (code) => reject(new Error(`the simulator ended with exit code ${code}`)));
  });
  child.send(question);
  return withDeadline('the simulator', answerWithinMs, answer);
}

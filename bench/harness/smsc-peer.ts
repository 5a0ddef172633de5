// The carrier's side of a bench: starts a simulator process and reads its counters.
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { withDeadline } from '../../platform/deadline.ts';
import type { SmscPeerTask } from '../load/smsc-peer-process.ts';
import type { Stats } from '../../smpp/simulator/stats.ts';

export type SmscPeer = {
  readonly port: number;
  readonly systemId: string;
  readonly password: string;
  stats(): Promise<Stats>;
  /** When each nonce first came, in epoch microseconds, and how often. */
  arrivals(): Promise<ReadonlyMap<number, Arrival>>;
  stop(): Promise<void>;
};

export type Arrival = { readonly atUs: number; readonly count: number };

/** `tps` 0 is no limit. */
export type SmscPeerOptions = { readonly latencyMs?: string; readonly responseMs?: string; readonly tps?: number };

const file = join(import.meta.dirname, '../load/smsc-peer-process.ts');
const answerWithinMs = 10_000;

export async function startSmscPeer(systemId: string, options: SmscPeerOptions = {}): Promise<SmscPeer> {
  const { latencyMs = 'lognormal:250,0.4', responseMs = 'fixed:0', tps = 0 } = options;
  const child = fork(file);
  const password = 'bench';
  const task: SmscPeerTask = { systemId, password, latencyMs, responseMs, tps };
  const { port, statsPort } = await ask<{ port: number; statsPort: number }>(child, task);
  return {
    port,
    systemId,
    password,
    stats: () => ask<Stats>(child, 'stats'),
    arrivals: () => readArrivals(statsPort),
    async stop() {
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      child.disconnect();
      await withDeadline('the simulator stops', answerWithinMs, ended);
    },
  };
}

function ask<T>(child: ChildProcess, question: string | object): Promise<T> {
  const answer = new Promise<T>((resolve, reject) => {
    const onExit = (code: number | null) => reject(new Error(`the simulator ended with exit code ${code}`));
    child.once('exit', onExit);
    child.once('message', (message) => {
      child.off('exit', onExit);
      resolve(message as T);
    });
  });
  child.send(question);
  return withDeadline('the simulator', answerWithinMs, answer);
}

const arrivalBytes = 24;

/** In one response and not over the process channel: a million of them are 24 MB. */
async function readArrivals(statsPort: number): Promise<ReadonlyMap<number, Arrival>> {
  const answer = fetch(`http://127.0.0.1:${statsPort}/nonces?format=binary`).then((response) => response.arrayBuffer());
  const bytes = Buffer.from(await withDeadline('the arrivals', answerWithinMs, answer));
  const arrivals = new Map<number, Arrival>();
  for (let at = 0; at + arrivalBytes <= bytes.length; at += arrivalBytes) {
    arrivals.set(bytes.readDoubleLE(at), { atUs: bytes.readDoubleLE(at + 8), count: bytes.readDoubleLE(at + 16) });
  }
  return arrivals;
}

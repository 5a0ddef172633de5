// The carrier's side of a bench: starts a simulator process and reads its counters.
import { type ChildProcess, fork } from 'node:child_process';
import { join } from 'node:path';
import { withDeadline } from '../../platform/deadline.ts';
import { shortPauses } from '../load/child.ts';
import type { SmscPeerPlace, SmscPeerQuestion, SmscPeerTask, SmscPeerTimes } from '../load/smsc-peer-process.ts';
import type { FaultName } from '../../smpp/simulator/faults.ts';
import type { Stats } from '../../smpp/simulator/stats.ts';

export type SmscPeer = Awaited<ReturnType<typeof startSmscPeer>>;

export type Arrival = { readonly atUs: number; readonly count: number };

/** `tps` 0 is no limit. `takesIdleTime`: its times are not measured, and it takes only idle processor time. */
export type SmscPeerOptions = {
  readonly latencyMs?: string;
  readonly responseMs?: string;
  readonly tps?: number;
  readonly takesIdleTime?: boolean;
};

const file = join(import.meta.dirname, '../load/smsc-peer-process.ts');
const answerWithinMs = 10_000;

export async function startSmscPeer(systemId: string, options: SmscPeerOptions = {}) {
  const { latencyMs = 'lognormal:250,0.4', responseMs = 'fixed:0', tps = 0, takesIdleTime = false } = options;
  // A session of its own, as load generators are (bench/load/child.ts).
  const child = fork(file, { serialization: 'advanced', detached: true, execArgv: shortPauses });
  const password = 'bench';
  const task: SmscPeerTask = { systemId, password, latencyMs, responseMs, tps, takesIdleTime };
  const { port, statsPort, codesPort } = await ask<SmscPeerPlace>(child, task);
  let before: readonly Uint8Array[] = [];
  const change = async (question: SmscPeerQuestion) => {
    ({ before } = await ask<SmscPeerPlace>(child, question));
  };
  return {
    port,
    codesPort,
    systemId,
    password,
    stats: () => ask<Stats>(child, 'stats'),
    /** When each nonce first came, in epoch microseconds, and how often. */
    arrivals: () => readArrivals(statsPort, before),
    times: () => ask<SmscPeerTimes>(child, 'times'),
    /** From now on the time from the response to the receipt is drawn from this distribution. */
    setLatency: (distribution: string) => change({ latencyMs: distribution }),
    /** Sets a fault, or ends all with null. */
    async setFault(name: FaultName | null) {
      const init = name === null ? { method: 'DELETE' } : { method: 'POST', body: JSON.stringify({ name }) };
      const answer = fetch(`http://127.0.0.1:${statsPort}/fault`, init);
      const { ok } = await withDeadline('the fault', answerWithinMs, answer);
      if (!ok) throw new Error(`the simulator refused the fault ${name}`);
    },
    /** Closes its port and every session, and forgets what it has not answered; `up` starts it again. */
    down: () => change('down'),
    up: () => change('up'),
    async stop() {
      const ended = new Promise<void>((resolve) => child.once('exit', () => resolve()));
      child.disconnect();
      await withDeadline('the simulator stops', answerWithinMs, ended);
    },
  };
}

function ask<T>(child: ChildProcess, question: SmscPeerTask | SmscPeerQuestion): Promise<T> {
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
async function readArrivals(statsPort: number, before: readonly Uint8Array[]): Promise<ReadonlyMap<number, Arrival>> {
  const answer = fetch(`http://127.0.0.1:${statsPort}/nonces?format=binary`).then(
    async (response) => new Uint8Array(await response.arrayBuffer()),
  );
  const now = await withDeadline('the arrivals', answerWithinMs, answer);
  const arrivals = new Map<number, Arrival>();
  for (const bytes of [...before, now].map((each) => Buffer.from(each.buffer, each.byteOffset, each.length))) {
    for (let at = 0; at + arrivalBytes <= bytes.length; at += arrivalBytes) {
      const nonce = bytes.readDoubleLE(at);
      const known = arrivals.get(nonce);
      const count = bytes.readDoubleLE(at + 16) + (known?.count ?? 0);
      arrivals.set(nonce, { atUs: known?.atUs ?? bytes.readDoubleLE(at + 8), count });
    }
  }
  return arrivals;
}

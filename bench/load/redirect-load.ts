// The load generator of short links, a process of its own: open loop, latency from the intended time, raw HTTP/1.1 on
// keep-alive sockets with one request at a time on each (as http-load.ts). Every request is another person's: a code, an
// address and a User-Agent at random.
import { type Socket, connect } from 'node:net';
import { systemClock } from '../../platform/clock.ts';
import { type Random, seededRandom } from '../../platform/random.ts';
import { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';

export type RedirectTask = {
  readonly port: number;
  readonly codes: readonly string[];
  readonly ratePerSecond: number;
  readonly seconds: number;
  readonly seed: number;
  readonly connections: number;
};

export type RedirectLoad = {
  readonly offered: number;
  /** Answers by status; `closed`: the connection ended instead. */
  readonly statuses: Readonly<Record<string, number>>;
  /** Requests without an answer when the generator gave up; they are in `latency` with the time they had waited. */
  readonly unanswered: number;
  readonly latency: ReturnType<LatencyHistogram['summary']>;
};

type Lane = { socket: Socket; intendedMs: number | null; buffered: string };

const settleMs = 10_000;
const userAgents = [
  'Mozilla/5.0 (Linux; Android 14; CUBOT X70) AppleWebKit/537.36 Chrome/130.0.0.0 Mobile Safari/537.36',
  'Mozilla/5.0 (iPhone; CPU iPhone OS 18_1 like Mac OS X) AppleWebKit/605.1.15 Version/18.1 Mobile/15E148 Safari/604.1',
  'Mozilla/5.0 (Linux; Android 10; K) AppleWebKit/537.36 Chrome/129.0.0.0 Mobile Safari/537.36',
];

async function run(task: RedirectTask): Promise<RedirectLoad> {
  const random = seededRandom(task.seed);
  const latency = new LatencyHistogram();
  const statuses: Record<string, number> = {};
  const waiting: number[] = [];
  let waitingAt = 0;
  const idle: Lane[] = [];
  const lanes = new Set<Lane>();
  const total = Math.round(task.ratePerSecond * task.seconds);
  let offered = 0;
  let answered = 0;

  const send = (lane: Lane, intendedMs: number) => {
    lane.intendedMs = intendedMs;
    lane.socket.write(requestFor(task.codes, random));
  };
  const ended = (lane: Lane, status: string) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
    latency.add((systemClock.monotonicMs() - (lane.intendedMs as number)) * 1_000);
    lane.intendedMs = null;
    answered += 1;
  };
  const onData = (lane: Lane, chunk: Buffer) => {
    lane.buffered += chunk.toString('latin1');
    const headEnd = lane.buffered.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(lane.buffered)?.[1] ?? 0);
    if (lane.buffered.length < headEnd + 4 + length || lane.intendedMs === null) return;
    ended(lane, lane.buffered.slice(9, 12));
    lane.buffered = '';
    const next = waiting[waitingAt];
    if (next === undefined) {
      idle.push(lane);
      return;
    }
    waitingAt += 1;
    send(lane, next);
  };
  const openLane = async () => {
    const lane: Lane = { socket: await open(task.port), intendedMs: null, buffered: '' };
    lanes.add(lane);
    lane.socket.on('data', (chunk: Buffer) => onData(lane, chunk));
    lane.socket.on('error', () => lane.socket.destroy());
    lane.socket.on('close', () => {
      lanes.delete(lane);
      if (lane.intendedMs === null) idle.splice(idle.indexOf(lane), 1);
      else ended(lane, 'closed');
      void openLane();
    });
    idle.push(lane);
  };
  await Promise.all(Array.from({ length: task.connections }, openLane));

  const startMs = systemClock.monotonicMs();
  await new Promise<void>((resolve) => {
    const stop = systemClock.every(1, () => {
      const nowMs = systemClock.monotonicMs();
      const due = Math.min(total, Math.floor(((nowMs - startMs) * task.ratePerSecond) / 1_000) + 1);
      for (; offered < due; offered += 1) {
        const intendedMs = startMs + (offered * 1_000) / task.ratePerSecond;
        const lane = idle.shift();
        if (lane === undefined) waiting.push(intendedMs);
        else send(lane, intendedMs);
      }
      const isOver = nowMs - startMs > task.seconds * 1_000 + settleMs;
      if ((offered < total || answered < total) && !isOver) return;
      stop();
      resolve();
    });
  });
  const endedMs = systemClock.monotonicMs();
  for (const { intendedMs } of lanes) if (intendedMs !== null) latency.add((endedMs - intendedMs) * 1_000);
  for (const intendedMs of waiting.slice(waitingAt)) latency.add((endedMs - intendedMs) * 1_000);
  return { offered, statuses, unanswered: total - answered, latency: latency.summary() };
}

function requestFor(codes: readonly string[], random: Random): string {
  const one = <T>(list: readonly T[]): T => list[Math.floor(random.unit() * list.length)] as T;
  const address = `10.${Math.floor(random.unit() * 256)}.${Math.floor(random.unit() * 256)}.7`;
  return (
    `GET /r/${one(codes)} HTTP/1.1\r\nHost: go.example\r\nX-Forwarded-For: ${address}\r\n` +
    `User-Agent: ${one(userAgents)}\r\nAccept-Language: bn-BD,en;q=0.8\r\nAccept: text/html\r\n\r\n`
  );
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('error', reject);
    socket.once('connect', () => resolve(socket));
  });
}

process.on('message', (task: RedirectTask) => {
  void run(task).then((result) => process.send?.(result, () => process.exit(0)));
});

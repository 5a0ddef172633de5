// The load generator, a process of its own: open loop, so a slow server does not slow the load down, and every latency
// counts from the intended send time. Raw HTTP/1.1 on keep-alive sockets, one request at a time on each, because the
// generator shares two cores with the measured system.
import { type Socket, connect } from 'node:net';
import { type MessageId, timeOfMessageId } from '../../model/ids.ts';
import { epochUs, systemClock } from '../../platform/clock.ts';
import { seededRandom } from '../../platform/random.ts';
import { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';

export type LoadTask = {
  readonly port: number;
  readonly key: string;
  readonly ratePerSecond: number;
  readonly seconds: number;
  readonly seed: number;
  readonly connections: number;
  /** Recipients are this prefix and random digits, 11 digits after +880 in all. */
  readonly recipientPrefix: string;
  readonly sender: string;
  readonly category: 'otp' | 'transactional' | 'promotional';
  /** The nonces are firstNonce, firstNonce + 1, … */
  readonly firstNonce: number;
  /** Whether texts carry their intended send time, for the simulator's latency, and acceptance times are read. */
  readonly timed: boolean;
};

export type LoadResult = {
  readonly offered: number;
  readonly accepted: number;
  /** One bit for each nonce from firstNonce on: whether it was answered 202. */
  readonly acceptedBits: Uint8Array;
  /** When each was accepted, epoch ms, from its id; 0 where it was not. Empty when the task is not timed. */
  readonly acceptedAtMs: Float64Array;
  /** Requests without an answer when the generator gave up; they are in `accept` with the time they had waited. */
  readonly unanswered: number;
  /** When the last request should have been sent, epoch µs. */
  readonly lastIntendedUs: number;
  readonly statuses: Readonly<Record<string, number>>;
  readonly accept: ReturnType<LatencyHistogram['summary']>;
};

type Lane = { socket: Socket; busy: boolean; busySince: number; index: number; buffered: string };

const nationalDigits = 10;
const settleMs = 10_000;

async function run(task: LoadTask): Promise<LoadResult> {
  const random = seededRandom(task.seed);
  const accept = new LatencyHistogram();
  const statuses: Record<string, number> = {};
  const waiting: number[] = [];
  let waitingAt = 0;
  const idle: Lane[] = [];
  const total = Math.round(task.ratePerSecond * task.seconds);
  const acceptedBits = new Uint8Array(Math.ceil(total / 8));
  const acceptedAtMs = new Float64Array(task.timed ? total : 0);
  const lanes = new Set<Lane>();
  let offered = 0;
  let answered = 0;

  const send = (lane: Lane, intendedMs: number, index: number) => {
    const nonce = task.firstNonce + index;
    lane.busy = true;
    lane.busySince = intendedMs;
    lane.index = index;
    const mark = task.timed ? `@${Math.round(epochUs(intendedMs)).toString(36)}` : '';
    let recipient = task.recipientPrefix;
    while (recipient.length < nationalDigits) recipient += Math.floor(random.unit() * 10);
    const message = `Your parcel is on its way and will arrive today before six. #${nonce.toString(36)}${mark}#`;
    const body = `{"to":"+880${recipient}","from":"${task.sender}","category":"${task.category}","message":"${message}"}`;
    lane.socket.write(
      `POST /v1/sms HTTP/1.1\r\nHost: localhost\r\nAuthorization: Bearer ${task.key}\r\nContent-Type: application/json\r\nContent-Length: ${body.length}\r\n\r\n${body}`,
    );
  };

  const onData = (lane: Lane, chunk: Buffer) => {
    lane.buffered = lane.buffered === '' ? chunk.toString('latin1') : lane.buffered + chunk.toString('latin1');
    const headEnd = lane.buffered.indexOf('\r\n\r\n');
    if (headEnd < 0) return;
    const length = Number(/content-length: (\d+)/i.exec(lane.buffered.slice(0, headEnd))?.[1] ?? 0);
    if (lane.buffered.length < headEnd + 4 + length) return;
    const status = lane.buffered.slice(9, 12);
    const id = task.timed && status === '202' ? /"id":"([^"]+)"/.exec(lane.buffered)?.[1] : undefined;
    if (id !== undefined) acceptedAtMs[lane.index] = timeOfMessageId(id as MessageId);
    lane.buffered = '';
    statuses[status] = (statuses[status] ?? 0) + 1;
    accept.add((systemClock.monotonicMs() - lane.busySince) * 1_000);
    if (status === '202') acceptedBits[lane.index >> 3]! |= 1 << (lane.index & 7);
    answered += 1;
    lane.busy = false;
    const next = waiting[waitingAt];
    if (next === undefined) {
      idle.push(lane);
      return;
    }
    waitingAt += 1;
    send(lane, next, indexOf(next));
  };

  // A request's content follows from its intended time, so the queue holds numbers only.
  let startMs = 0;
  const indexOf = (intendedMs: number) => Math.round(((intendedMs - startMs) * task.ratePerSecond) / 1_000);
  const openLane = async () => {
    const lane: Lane = { socket: await open(task.port), busy: false, busySince: 0, index: 0, buffered: '' };
    lanes.add(lane);
    lane.socket.on('data', (chunk: Buffer) => onData(lane, chunk));
    lane.socket.on('error', () => lane.socket.destroy());
    lane.socket.on('close', () => {
      lanes.delete(lane);
      if (lane.busy) {
        statuses['closed'] = (statuses['closed'] ?? 0) + 1;
        accept.add((systemClock.monotonicMs() - lane.busySince) * 1_000);
        answered += 1;
      } else idle.splice(idle.indexOf(lane), 1);
      void openLane();
    });
    idle.push(lane);
  };
  await Promise.all(Array.from({ length: task.connections }, openLane));

  startMs = systemClock.monotonicMs();
  await new Promise<void>((resolve) => {
    const stop = systemClock.every(1, () => {
      const nowMs = systemClock.monotonicMs();
      const due = Math.min(total, Math.floor(((nowMs - startMs) * task.ratePerSecond) / 1_000) + 1);
      for (; offered < due; offered += 1) {
        const intendedMs = startMs + (offered * 1_000) / task.ratePerSecond;
        // In rotation, so that none is idle long enough for the server to close it.
        const lane = idle.shift();
        if (lane === undefined) waiting.push(intendedMs);
        else send(lane, intendedMs, offered);
      }
      const over = nowMs - startMs > task.seconds * 1_000 + settleMs;
      if ((offered < total || answered < total) && !over) return;
      stop();
      resolve();
    });
  });
  // What was never answered waited at least until now: without it the slowest requests would be missing.
  const endedMs = systemClock.monotonicMs();
  for (const { busy, busySince } of lanes) if (busy) accept.add((endedMs - busySince) * 1_000);
  for (const intendedMs of waiting.slice(waitingAt)) accept.add((endedMs - intendedMs) * 1_000);
  return {
    offered,
    accepted: statuses['202'] ?? 0,
    acceptedBits,
    acceptedAtMs,
    unanswered: total - answered,
    lastIntendedUs: epochUs(startMs + ((total - 1) * 1_000) / task.ratePerSecond),
    statuses,
    accept: accept.summary(),
  };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('error', reject);
    socket.once('connect', () => resolve(socket));
  });
}

process.on('message', (task: LoadTask) => {
  void run(task).then((result) => process.send?.(result, () => process.exit(0)));
});

// Requests of a load generator: open loop, so a slow server does not slow the load down, and every latency counts from the
// intended send time. Raw HTTP/1.1 on keep-alive sockets, one request at a time on each, because the generator shares two
// cores with the measured system.
import { type Socket, connect } from 'node:net';
import { epochUs, systemClock } from '../../platform/clock.ts';
import { LatencyHistogram } from '../../smpp/simulator/latency-histogram.ts';
import { openLoop } from './open-loop.ts';

export type LaneLoad = {
  readonly port: number;
  readonly ratePerSecond: number;
  readonly seconds: number;
  readonly connections: number;
};

export type LaneResult = {
  readonly offered: number;
  /** Answers by status; `closed`: the connection ended instead. */
  readonly statuses: Readonly<Record<string, number>>;
  /** When the last request should have been sent, epoch µs. */
  readonly lastIntendedUs: number;
  /** Requests without an answer when the generator gave up count with the time they had waited. */
  readonly latency: ReturnType<LatencyHistogram['summary']>;
  /** How late the generator itself was with its requests; it is a part of every latency. */
  readonly generatorLate: ReturnType<LatencyHistogram['summary']>;
};

type Request = { readonly index: number; readonly intendedMs: number };
type Lane = { readonly socket: Socket; request: Request | null; buffered: string };

const settleMs = 10_000;

/** `textOf` makes the request with this index, `answered` gets the status of its answer and the whole of it. */
export async function offerOnLanes(
  { port, ratePerSecond, seconds, connections }: LaneLoad,
  textOf: (index: number, intendedMs: number) => string,
  answered: (index: number, status: string, text: string) => void = () => {},
): Promise<LaneResult> {
  const latency = new LatencyHistogram();
  const generatorLate = new LatencyHistogram();
  const statuses: Record<string, number> = {};
  const waiting: Request[] = [];
  let waitingAt = 0;
  const idle: Lane[] = [];
  const lanes = new Set<Lane>();
  const total = Math.round(ratePerSecond * seconds);
  let ends = 0;
  let lastIntendedMs = 0;
  const all = Promise.withResolvers<void>();

  const send = (lane: Lane, request: Request) => {
    lane.request = request;
    lane.socket.write(textOf(request.index, request.intendedMs));
  };
  const wait = ({ intendedMs }: Request) => latency.add((systemClock.monotonicMs() - intendedMs) * 1_000);
  const end = (lane: Lane, request: Request, status: string) => {
    lane.request = null;
    statuses[status] = (statuses[status] ?? 0) + 1;
    wait(request);
    ends += 1;
    if (ends === total) all.resolve();
  };
  const onData = (lane: Lane, chunk: Buffer) => {
    lane.buffered += chunk.toString('latin1');
    const { request, buffered } = lane;
    const headEnd = buffered.indexOf('\r\n\r\n');
    if (headEnd < 0 || request === null) return;
    const length = Number(/content-length: (\d+)/i.exec(buffered.slice(0, headEnd))?.[1] ?? 0);
    if (buffered.length < headEnd + 4 + length) return;
    lane.buffered = '';
    const status = buffered.slice(9, 12);
    end(lane, request, status);
    answered(request.index, status, buffered);
    const next = waiting[waitingAt];
    if (next === undefined) return void idle.push(lane);
    waitingAt += 1;
    send(lane, next);
  };
  const openLane = async () => {
    const lane: Lane = { socket: await open(port), request: null, buffered: '' };
    lanes.add(lane);
    lane.socket.on('data', (chunk: Buffer) => onData(lane, chunk));
    lane.socket.on('error', () => lane.socket.destroy());
    lane.socket.on('close', () => {
      lanes.delete(lane);
      if (lane.request === null) idle.splice(idle.indexOf(lane), 1);
      else end(lane, lane.request, 'closed');
      void openLane();
    });
    idle.push(lane);
  };
  await Promise.all(Array.from({ length: connections }, openLane));

  await openLoop(total, ratePerSecond, (index, intendedMs) => {
    lastIntendedMs = intendedMs;
    generatorLate.add((systemClock.monotonicMs() - intendedMs) * 1_000);
    // In rotation, so that none is idle long enough for the server to close it.
    const lane = idle.shift();
    if (lane === undefined) waiting.push({ index, intendedMs });
    else send(lane, { index, intendedMs });
  });
  await Promise.race([all.promise, systemClock.sleep(settleMs)]);
  // What was never answered waited at least until now: without it the slowest requests would be missing.
  for (const { request } of lanes) if (request !== null) wait(request);
  for (const request of waiting.slice(waitingAt)) wait(request);
  return {
    offered: total,
    statuses,
    lastIntendedUs: epochUs(lastIntendedMs),
    latency: latency.summary(),
    generatorLate: generatorLate.summary(),
  };
}

function open(port: number): Promise<Socket> {
  return new Promise((resolve, reject) => {
    const socket = connect({ port, host: '127.0.0.1', noDelay: true });
    socket.once('error', reject);
    socket.once('connect', () => resolve(socket));
  });
}

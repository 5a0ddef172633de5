// What one account, or an unauthenticated client, does to the HTTP interface to delay others: a process of its own,
// open loop, with a fixed rate of requests whatever became of the earlier ones. Its answers are counted by status.
import { Agent, request } from 'node:http';
import { type Socket, connect } from 'node:net';
import { newMessageId } from '../../model/ids.ts';
import { systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import { serveTask, takeOnlyIdleTime } from './child.ts';
import { openLoop } from './open-loop.ts';

/** In this order. `batches` is last: its backlog waits beside whatever comes after it. */
export const attacks = {
  half_sent_unauthenticated: 'connections without a key that send half of a request and stay open',
  half_sent_by_account: 'the same with a key',
  slow_texts: 'texts that take long to check for links and letters, 30 a second',
  status_queries: 'questions for messages that do not exist, 200 a second',
  imports: 'imports of 10,000 opt-outs, 10 a second',
  scheduled: 'batches of 1,000 messages for next month, 10 a second',
  keyed_batches: 'batches under idempotency keys in which every item is wrong, 20 a second',
  unread_pages: 'connections that ask for a large page and read none of it',
  batches: 'batches of 1,000 messages, 20 a second',
} as const;
export type Attack = keyof typeof attacks;
export const attackNames = Object.keys(attacks) as readonly Attack[];

export type AttackTask = {
  readonly attack: Attack;
  readonly port: number;
  readonly key: string;
  readonly seconds: number;
};
/** `sent`: requests, or connections with half of one. `statuses` may count more of them than were answered in time. */
export type AttackResult = { readonly sent: number; readonly statuses: Readonly<Record<string, number>> };

type Shot = { method: string; path: string; body?: string; headers?: Record<string, string> };
type Kind = { readonly perSecond: number } & (
  | { readonly shot: (index: number) => Shot }
  /** Written on a connection that stays open; at most so many of them. */
  | { readonly half: (key: string) => string; readonly openMax: number }
);

const message = { to: '+8801712345678', from: 'CROWD', message: 'x', category: 'promotional' };
const filled = (piece: string, length: number) => piece.repeat(Math.ceil(length / piece.length)).slice(0, length);
const many = <T>(count: number, of: (at: number) => T) => Array.from({ length: count }, (_, at) => of(at));
const post = (path: string, body: unknown, headers: Record<string, string> = {}): Shot => ({
  method: 'POST',
  path,
  body: JSON.stringify(body),
  headers,
});
const halfOf = (path: string, more: string) =>
  `POST ${path} HTTP/1.1\r\nHost: a\r\n${more}Content-Type: application/json\r\nContent-Length: 99\r\n\r\n{`;

const inAMonth = new Date(systemClock.nowMs() + 34 * 86_400_000).toISOString();
const wrongItem = Object.fromEntries([...'abcdefghij'].map((name) => [name, 1]));
const longBatch = { messages: many(1_000, () => message) };
const scheduledBatch = { messages: many(1_000, () => ({ ...message, message: filled('x', 120), send_at: inAMonth })) };
const wrongBatch = { messages: many(395, () => wrongItem) };
const numbers = { numbers: many(10_000, (at) => `+88017${10_000_000 + at}`) };
const letters = many(20_000, (at) => String.fromCharCode(0x4e00 + at)).join('');
const slow = [
  filled('://[', 250_000),
  filled('://[', 1_100),
  `http://${letters}.com`,
  filled('a ', 250_000),
  filled('a ', 1_500),
  `a${filled('\u0301', 50_000)}${filled('\u0323', 50_000)}`,
];

const kinds: Readonly<Record<Attack, Kind>> = {
  batches: { perSecond: 20, shot: () => post('/v1/sms/batch', longBatch) },
  half_sent_unauthenticated: { perSecond: 400, openMax: 1_100, half: () => halfOf('/x', '') },
  half_sent_by_account: {
    perSecond: 400,
    openMax: 1_100,
    half: (key) => halfOf('/v1/sms', `Authorization: Bearer ${key}\r\n`),
  },
  slow_texts: {
    perSecond: 30,
    shot: (index) => post('/v1/sms', { ...message, message: slow[index % slow.length] }),
  },
  status_queries: {
    perSecond: 200,
    shot: () => ({ method: 'GET', path: `/v1/sms/${newMessageId(systemClock.nowMs())}` }),
  },
  imports: { perSecond: 10, shot: () => post('/v1/suppressions/import', numbers) },
  scheduled: { perSecond: 10, shot: () => post('/v1/sms/batch', scheduledBatch) },
  keyed_batches: {
    perSecond: 20,
    shot: (index) => post('/v1/sms/batch', wrongBatch, { 'idempotency-key': `fill-${index}-${systemClock.nowMs()}` }),
  },
  unread_pages: {
    perSecond: 100,
    openMax: 150,
    half: () => 'GET /docs/assets/swagger-ui-bundle.js HTTP/1.1\r\nHost: a\r\n\r\n',
  },
};

async function run({ attack, port, key, seconds }: AttackTask): Promise<AttackResult> {
  takeOnlyIdleTime();
  const kind = kinds[attack];
  const statuses: Record<string, number> = {};
  const count = (status: string) => {
    statuses[status] = (statuses[status] ?? 0) + 1;
  };
  const agent = new Agent({ keepAlive: true, maxSockets: 200 });
  const open = new Set<Socket>();
  const fire = (index: number) => {
    if ('half' in kind) {
      if (open.size < kind.openMax) open.add(halfRequest(port, kind.half(key), attack === 'unread_pages', count, open));
      return;
    }
    const { method, path, body = '', headers = {} } = kind.shot(index);
    const sent = request({
      host: '127.0.0.1',
      port,
      agent,
      method,
      path,
      headers: {
        authorization: `Bearer ${key}`,
        ...(method === 'GET' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(body) }),
        ...headers,
      },
    });
    sent.once('response', (response) => {
      count(String(response.statusCode));
      response.resume();
    });
    sent.once('error', (error) => {
      ignoring(error, 'an attack was cut off');
      count('closed');
    });
    sent.end(body);
  };
  const sent = kind.perSecond * seconds;
  await openLoop(sent, kind.perSecond, fire);
  for (const socket of open) socket.destroy();
  agent.destroy();
  return { sent, statuses };
}

function halfRequest(
  port: number,
  octets: string,
  isUnread: boolean,
  count: (status: string) => void,
  open: Set<Socket>,
): Socket {
  const socket = connect(port, '127.0.0.1');
  socket.write(octets);
  if (isUnread) socket.pause();
  socket.once('data', (chunk: Buffer) => count(chunk.toString('latin1', 9, 12)));
  socket.on('error', (error) => ignoring(error, 'an attack was cut off'));
  socket.once('close', () => open.delete(socket));
  return socket;
}

serveTask(run);

// The sender against real sockets: what it refuses to call, and what a receiver can do to it.
import { createServer, type IncomingMessage, type Server } from 'node:http';
import { subscribe, unsubscribe } from 'node:diagnostics_channel';
import net from 'node:net';
import { afterAll, afterEach, expect, test } from 'vitest';
import { Webhook } from 'standardwebhooks';
import type { Resolve } from '../../../actors/webhook/send/connect.ts';
import { HttpSender, type SendResult, retryAfterMs } from '../../../actors/webhook/send/http-sender.ts';
import { signedHeaders, signingKeys } from '../../../actors/webhook/send/signature.ts';
import { fixedHeaders } from '../../../actors/webhook/send/webhook-requests.ts';
import { newWebhookSecret } from '../../../model/webhook-secrets.ts';
import { systemClock } from '../../../platform/clock.ts';
import { parseNetworks } from '../../../platform/ip-address.ts';
import { limits } from '../../../platform/limits.ts';

const loopback = { allowed: parseNetworks(['127.0.0.0/8']) };
const closers: (() => Promise<void>)[] = [];
const senders: HttpSender[] = [];

afterEach(async () => {
  for (const close of closers.splice(0)) await close();
});
afterAll(async () => {
  await Promise.all(senders.map((sender) => sender.close()));
});

function newSender(options: Partial<ConstructorParameters<typeof HttpSender>[0]> = {}): HttpSender {
  const sender = new HttpSender({ rules: () => loopback, ...options });
  senders.push(sender);
  return sender;
}

function send(sender: HttpSender, url: string, headers = {}, body = '{}'): Promise<SendResult> {
  return new Promise((resolve) => sender.send({ accountId: 'acc_1', url: new URL(url), headers, body }, resolve));
}

type Answer = Parameters<typeof createServer>[1];
async function listen(answer: NonNullable<Answer>): Promise<string> {
  const server: Server = createServer(answer as never);
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    server.closeAllConnections();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/hook?x=1`;
}

/** A receiver on the TCP level. `chat` gets each connection and what it sends first. */
async function listenRaw(chat: (socket: net.Socket) => void): Promise<string> {
  const sockets = new Set<net.Socket>();
  const server = net.createServer((socket) => {
    sockets.add(socket);
    socket.on('error', () => socket.destroy());
    socket.on('close', () => sockets.delete(socket));
    socket.once('data', () => chat(socket));
  });
  await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
  closers.push(async () => {
    for (const socket of sockets) socket.destroy();
    await new Promise((resolve) => server.close(resolve));
  });
  return `http://127.0.0.1:${(server.address() as net.AddressInfo).port}/`;
}

const bodyOf = async (request: IncomingMessage): Promise<string> => {
  let text = '';
  for await (const chunk of request) text += String(chunk);
  return text;
};

test('an independent library accepts the signature, of each secret while two overlap', async () => {
  const secrets = [newWebhookSecret(), newWebhookSecret()];
  const received = Promise.withResolvers<{ headers: Record<string, string>; body: string; url: string }>();
  const url = await listen((request, response) => {
    void bodyOf(request).then((body) => {
      received.resolve({ headers: request.headers as Record<string, string>, body, url: request.url ?? '' });
      response.end('thanks');
    });
  });
  const body = JSON.stringify({ type: 'sms.delivered', data: { text: 'é ✓' } });
  const signed = signedHeaders('evt_1', Math.floor(systemClock.nowMs() / 1_000), body, signingKeys(secrets));
  const headers = { ...fixedHeaders, ...signed };
  const result = await send(newSender(), url, headers, body);
  expect(result).toMatchObject({ error: null, status: 200, response: 'thanks' });
  const got = await received.promise;
  expect(got.url).toBe('/hook?x=1');
  expect(got.headers['content-type']).toBe('application/json');
  for (const secret of secrets) expect(new Webhook(secret).verify(got.body, got.headers)).toEqual(JSON.parse(body));
  expect(() => new Webhook(newWebhookSecret()).verify(got.body, got.headers)).toThrow('No matching signature');
});

test.each([
  [302, 'redirect'],
  [307, 'redirect'],
  [400, 'http_error'],
  [410, 'gone'],
  [429, 'throttled'],
  [500, 'http_error'],
  [503, 'throttled'],
])('status %i is %s, and no redirect is followed', async (status, error) => {
  let requests = 0;
  const url = await listen((request, response) => {
    requests += 1;
    request.resume();
    response.writeHead(status, { location: 'http://169.254.169.254/', 'retry-after': '7' }).end();
  });
  expect(await send(newSender(), url)).toMatchObject({ error, status, retryAfterMs: 7_000 });
  expect(requests).toBe(1);
});

test('loopback is refused where no network is allowed', async () => {
  const url = await listen((_request, response) => response.end());
  const sender = newSender({ rules: () => ({ allowed: [] }) });
  expect(await send(sender, url)).toMatchObject({ error: 'blocked_address', status: null });
});

test('a name is refused when one of its addresses is, and a name without any', async () => {
  const addresses: Record<string, readonly string[]> = {
    'bad.example.com': ['93.184.216.34', '169.254.169.254'],
    'six.example.com': ['2606:2800:220:1::1', '::ffff:10.0.0.1'],
    'empty.example.com': [],
  };
  const resolve: Resolve = async (name) => addresses[name] ?? Promise.reject(new Error('ENOTFOUND'));
  const sender = newSender({ rules: () => ({ allowed: [] }), resolve });
  for (const name of ['bad', 'six'])
    expect(await send(sender, `https://${name}.example.com/`)).toMatchObject({ error: 'blocked_address' });
  for (const name of ['empty', 'unknown'])
    expect(await send(sender, `https://${name}.example.com/`)).toMatchObject({ error: 'dns_error' });
});

test('a name that changes its address between check and connection is called at the checked one', async () => {
  let requests = 0;
  const url = new URL(
    await listen((request, response) => {
      requests += 1;
      request.resume();
      response.end(request.headers.host);
    }),
  );
  let look = 0;
  const resolve: Resolve = async () => {
    look += 1;
    return look === 1 ? ['127.0.0.1'] : ['169.254.169.254'];
  };
  const sender = newSender({ resolve });
  const target = `http://rebind.example.com:${url.port}/`;
  expect(await send(sender, target)).toMatchObject({ error: null, response: `rebind.example.com:${url.port}` });
  expect(look).toBe(1);
  // The next connection resolves again, and is refused.
  const fresh = newSender({ resolve });
  expect(await send(fresh, target)).toMatchObject({ error: 'blocked_address' });
  expect(requests).toBe(1);
});

/** What a busy machine may add to a deadline. */
const stallMs = 10_000;

test('a resolver that hangs ends with the time to connect', async () => {
  const sender = newSender({ resolve: () => new Promise(() => {}) });
  const result = await send(sender, 'https://example.com/');
  expect(result.error).toBe('dns_error');
  expect(result.latencyMs).toBeLessThan(limits.delivery.connectMs + stallMs);
});

test('no server listens: connect_error; plain text where TLS is expected: tls_error', async () => {
  const url = await listenRaw((socket) => socket.end('HTTP/1.1 200 OK\r\n\r\n'));
  const plain = await send(newSender(), url.replace('http:', 'https:'));
  // What OpenSSL says, without the line of its source.
  expect([plain.error, plain.detail]).toEqual(['tls_error', expect.stringMatching(/^[a-z ]+ \(ERR_SSL_[A-Z_]+\)$/)]);
  for (const close of closers.splice(0)) await close();
  expect(await send(newSender(), url)).toMatchObject({ error: 'connect_error', status: null });
});

test('a body of 10 GB costs 16 KiB and its connection', async () => {
  let written = 0;
  const closed = Promise.withResolvers<void>();
  const url = await listenRaw((socket) => {
    socket.write('HTTP/1.1 200 OK\r\nContent-Length: 10000000000\r\n\r\n');
    const chunk = Buffer.alloc(64 * 1024, 'x');
    const more = () => {
      while (written < 10_000_000_000 && !socket.destroyed) {
        written += chunk.length;
        if (!socket.write(chunk)) return socket.once('drain', more);
      }
    };
    more();
    socket.on('close', () => closed.resolve());
  });
  const result = await send(newSender(), url);
  expect(result).toMatchObject({ error: null, status: 200 });
  expect(result.response).toHaveLength(limits.delivery.responseKeptChars);
  await closed.promise;
  expect(written).toBeLessThan(64 * 2 ** 20);
});

/** Octets that the connections read which are made while `work` runs; and how many there were. */
async function readBy<T>(work: () => Promise<T>): Promise<{ result: T; octets: number; connections: number }> {
  const sockets: net.Socket[] = [];
  const made = (message: unknown) => void sockets.push((message as { socket: net.Socket }).socket);
  subscribe('net.client.socket', made);
  try {
    const result = await work();
    return { result, octets: sockets.reduce((sum, { bytesRead }) => sum + bytesRead, 0), connections: sockets.length };
  } finally {
    unsubscribe('net.client.socket', made);
  }
}

/** Writes this for ever, as fast as it is read. Resolves when the connection is closed. */
async function writeForever(socket: net.Socket, text: string): Promise<void> {
  const many = text.repeat(Math.ceil(16_384 / text.length));
  const more = () => {
    while (!socket.destroyed) if (!socket.write(many)) return socket.once('drain', more);
  };
  more();
  if (!socket.destroyed) await new Promise((resolve) => socket.once('close', resolve));
}

/** One read of a socket, which may have arrived when the bound is noticed, and one that was begun. */
const readAheadMax = 2 * 64 * 1_024;
const chunked = (status: string) => `HTTP/1.1 ${status}\r\nTransfer-Encoding: chunked\r\n\r\n`;

test.each([
  ['an extension of a chunk', `${chunked('200 OK')}1;`, 'a', 'protocol_error', 200],
  ['the size of a chunk', chunked('200 OK'), '0', 'protocol_error', 200],
  ['an extension of a chunk, after a status that says all,', `${chunked('410 Gone')}1;`, 'a', 'gone', 410],
  ['chunks of one octet with extensions', chunked('200 OK'), `1;${'a'.repeat(1_000)}\r\nx\r\n`, 'protocol_error', 200],
  ['a reason phrase', 'HTTP/1.1 200 ', 'a', 'protocol_error', null],
  ['blank lines before the status line', '', '\r\n', 'protocol_error', null],
  ['1xx responses', '', 'HTTP/1.1 102 Processing\r\n\r\n', 'protocol_error', null],
  ['headers', 'HTTP/1.1 200 OK\r\n', `X-A: ${'a'.repeat(1_000)}\r\n`, 'protocol_error', null],
])('%s without end costs a few reads of its socket, and is no success', async (_what, head, more, error, status) => {
  const closed = Promise.withResolvers<void>();
  const url = await listenRaw((socket) => {
    socket.write(head);
    void writeForever(socket, more).then(closed.resolve);
  });
  const { result, octets } = await readBy(async () => {
    const ended = await send(newSender(), url);
    await closed.promise;
    return ended;
  });
  expect(result).toMatchObject({ error, status });
  expect(octets).toBeLessThanOrEqual(limits.delivery.responseOctetsMax + readAheadMax);
});

test('a connection is kept for many requests, each with its own octets', async () => {
  const { responseKeptChars, responseBodyBytesMax, responseOctetsMax } = limits.delivery;
  const url = await listen((request, response) => {
    request.resume();
    // A chunk for each ten octets: a third of what arrives is no body.
    for (let at = 0; at < responseBodyBytesMax / 10 - 1; at += 1) response.write('0123456789');
    response.end();
  });
  const sender = newSender();
  const { octets, connections } = await readBy(async () => {
    for (let count = 0; count < 16; count += 1) {
      const result = await send(sender, url);
      expect(result).toMatchObject({ error: null, status: 200 });
      expect(result.response).toHaveLength(responseKeptChars);
    }
  });
  // A connection that has just ended a response is not free yet: two take turns.
  expect(connections).toBeLessThanOrEqual(2);
  expect(octets).toBeGreaterThan(2 * connections * responseOctetsMax);
});

test('what comes on a connection between two requests is bounded as well', async () => {
  const closed = Promise.withResolvers<void>();
  const url = await listenRaw((socket) => {
    socket.write('HTTP/1.1 204 No\r\n\r\n');
    void writeForever(socket, '\r\n').then(closed.resolve);
  });
  const { result, octets } = await readBy(async () => {
    const ended = await send(newSender(), url);
    await closed.promise;
    return ended;
  });
  expect(result).toMatchObject({ error: null, status: 204 });
  expect(octets).toBeLessThanOrEqual(limits.delivery.responseOctetsMax + readAheadMax);
});

test.each([
  ['headers without end', 'HTTP/1.1 200 OK\r\n', `X-A: ${'a'.repeat(1_000)}\r\n`],
  ['what is no HTTP', 'SSH-2.0-OpenSSH_9.6\r\n', 'x'],
])('%s are a protocol_error', async (_what, head, more) => {
  const url = await listenRaw((socket) => {
    socket.write(head);
    socket.on(
      'close',
      systemClock.every(1, () => socket.write(more)),
    );
  });
  expect(await send(newSender(), url)).toMatchObject({ error: 'protocol_error', status: null });
});

test('nothing at all, and a byte a second: each ends at its deadline', async () => {
  const { firstByteMs, totalMs } = limits.delivery;
  const silent = await listenRaw(() => {});
  const slowHead = await listenRaw((socket) => {
    const text = `HTTP/1.1 200 OK\r\nX-Long: ${'a'.repeat(100)}`;
    let at = 0;
    socket.on(
      'close',
      systemClock.every(1_000, () => socket.write(text[at++] ?? 'a')),
    );
  });
  const slowBody = await listenRaw((socket) => {
    socket.write('HTTP/1.1 500 No\r\nContent-Length: 100\r\n\r\n');
    socket.on(
      'close',
      systemClock.every(1_000, () => socket.write('x')),
    );
  });
  const sender = newSender();
  const [one, two, three] = await Promise.all([send(sender, silent), send(sender, slowHead), send(sender, slowBody)]);
  for (const result of [one, two]) {
    expect(result).toMatchObject({ error: 'timeout', status: null });
    expect(result.latencyMs).toBeLessThan(firstByteMs + stallMs);
  }
  expect(three).toMatchObject({ error: 'http_error', status: 500 });
  expect(three.latencyMs).toBeLessThan(totalMs + stallMs);
}, 60_000);

test('a proxy of the environment is not used', async () => {
  const url = await listen((_request, response) => response.end('direct'));
  process.env['HTTP_PROXY'] = process.env['http_proxy'] = 'http://127.0.0.1:9';
  try {
    expect(await send(newSender(), url)).toMatchObject({ error: null, response: 'direct' });
  } finally {
    delete process.env['HTTP_PROXY'];
    delete process.env['http_proxy'];
  }
});

test('Retry-After in seconds and as a date', () => {
  const nowMs = Date.parse('2026-11-23T10:00:00Z');
  expect(retryAfterMs('120', nowMs)).toBe(120_000);
  expect(retryAfterMs('Mon, 23 Nov 2026 10:01:00 GMT', nowMs)).toBe(60_000);
  expect(retryAfterMs('Mon, 23 Nov 2026 09:00:00 GMT', nowMs)).toBe(0);
  expect(retryAfterMs('999999999', nowMs)).toBe(limits.delivery.retryAfterMsMax);
  expect(retryAfterMs('Monday, 23-Nov-26 10:01:00 GMT', nowMs)).toBe(60_000);
  expect(retryAfterMs('Mon Nov 23 10:01:00 2026', nowMs)).toBe(60_000);
  for (const neither of ['soon', '1.5', '-5', '5 seconds', '2026-11-23', 'Mon, soon']) {
    expect(retryAfterMs(neither, nowMs)).toBeNull();
  }
});

// Requests that are broken below the API: no HTTP, or HTTP that no parser may accept. Each uses its own connection. The
// server may answer 4xx with its own text or close; it may not break, hang or disturb others.
import { connect } from 'node:net';
import fc from 'fast-check';
import { systemClock } from '../../platform/clock.ts';

const host = 'host: x\r\n';
const json = 'content-type: application/json\r\n';

export const brokenRequests: fc.Arbitrary<string> = fc.oneof(
  fc.string({ unit: 'binary', minLength: 1, maxLength: 200 }).map((text) => Buffer.from(text).toString('latin1')),
  fc.constantFrom(
    'GET\r\n\r\n',
    'GET /v1/sms\r\n\r\n',
    `GET /v1/sms HTTP/9.9\r\n${host}\r\n`,
    `GET /v1/sms HTTP/1.1\r\n\r\n`,
    `GET /v1/sms?\u0000 HTTP/1.1\r\n${host}\r\n`,
    `GET  /v1/sms  HTTP/1.1\r\n${host}\r\n`,
    `GET http://x/v1/sms HTTP/1.1\r\n${host}\r\n`,
    `GET * HTTP/1.1\r\n${host}\r\n`,
    `GET /v1/sms HTTP/1.0\r\n\r\n`,
    `GET /v1/sms HTTP/1.1\n${host}\n`,
    `GET /v1/sms HTTP/1.1\r\n${host}x: a\r\n b\r\n\r\n`,
    `GET /v1/sms HTTP/1.1\r\n${host}: empty\r\n\r\n`,
    `GET /v1/sms HTTP/1.1\r\n${host}x : 1\r\n\r\n`,
    `GET /v1/sms HTTP/1.1\r\n${host}x: \u0001\u0000\r\n\r\n`,
    `POST /v1/sms HTTP/1.1\r\n${host}${json}content-length: -1\r\n\r\n{}`,
    `POST /v1/sms HTTP/1.1\r\n${host}${json}content-length: 1e3\r\n\r\n{}`,
    `POST /v1/sms HTTP/1.1\r\n${host}${json}content-length: 99999999999999999999\r\n\r\n{}`,
    `POST /v1/sms HTTP/1.1\r\n${host}${json}content-length: 2\r\ncontent-length: 3\r\n\r\n{}`,
    `POST /v1/sms HTTP/1.1\r\n${host}${json}content-length: 2\r\ntransfer-encoding: chunked\r\n\r\n{}`,
    `POST /v1/sms HTTP/1.1\r\n${host}${json}transfer-encoding: gzip\r\n\r\n{}`,
    `POST /v1/sms HTTP/1.1\r\n${host}${json}transfer-encoding: chunked\r\n\r\nzz\r\n{}\r\n0\r\n\r\n`,
    `POST /v1/sms HTTP/1.1\r\n${host}${json}transfer-encoding: chunked\r\n\r\nffffffffffffffff\r\n{}`,
    `POST /v1/senders HTTP/1.1\r\n${host}${json}transfer-encoding: chunked\r\n\r\n2\r\n{}\r\n0\r\n\r\n`,
    `POST /v1/senders HTTP/1.1\r\n${host}${json}content-length: 100\r\n\r\n{`,
    `POST /v1/sms HTTP/1.1\r\n${host}${json}expect: 100-continue\r\ncontent-length: 2\r\n\r\n`,
    `GET /v1/account HTTP/1.1\r\n${host}connection: upgrade\r\nupgrade: h2c\r\n\r\n`,
    `GET /v1/sms HTTP/1.1\r\n${host}\r\n`.repeat(50),
    `GET /v1/account HTTP/1.1\r\n${host}\r\n`.repeat(50),
    'PRI * HTTP/2.0\r\n\r\nSM\r\n\r\n',
    '\u0016\u0003\u0001\u0002\u0000\u0001\u0000\u0001\u00fc\u0003\u0003',
  ),
  fc
    .constantFrom(97, 98, 99, 101, 500)
    .map((count) => `GET /v1/account HTTP/1.1\r\n${host}${'a: b\r\n'.repeat(count)}\r\n`),
  fc
    .constantFrom(8, 15, 16, 17, 64)
    .map((kib) => `GET /v1/account HTTP/1.1\r\n${host}a: ${'b'.repeat(kib * 1_024)}\r\n\r\n`),
  fc.constantFrom(8, 17, 64).map((kib) => `GET /v1/sms?${'a'.repeat(kib * 1_024)} HTTP/1.1\r\n${host}\r\n`),
);

const enoughMs = 400;

/** The status lines received until the connection was closed or nothing more was expected. */
export function sendBroken(port: number, octets: string): Promise<readonly number[]> {
  return new Promise((resolve) => {
    let text = '';
    const socket = connect(port, '127.0.0.1');
    const end = () => {
      cancel();
      socket.destroy();
      resolve([...text.matchAll(/HTTP\/1\.1 (\d{3})/g)].map((each) => Number(each[1])));
    };
    const cancel = systemClock.after(enoughMs, end);
    socket.on('connect', () => socket.write(Buffer.from(octets, 'latin1')));
    socket.on('data', (chunk: Buffer) => (text += chunk.toString('latin1')));
    socket.on('error', end);
    socket.on('close', end);
  });
}

// A client of the API for benches: JSON in, JSON out, on connections that stay open.
import { Agent, request } from 'node:http';
import { ignoring } from '../../platform/errors.ts';

export type Reply = { readonly status: number; readonly body: Record<string, unknown> };
export type JsonClient = (path: string, body: object, method?: string) => Promise<Reply>;

const answerWithinMs = 30_000;
/** Below the ten seconds after which the API closes a connection without requests: a request must not meet that close. */
const idleMs = 5_000;

/** Status 0: no answer. */
export function jsonClient(port: number, key: string): JsonClient {
  const agent = new Agent({ keepAlive: true, maxSockets: 512, noDelay: true, timeout: idleMs });
  return (path, body, method = 'POST') =>
    new Promise((resolve) => {
      const payload = JSON.stringify(body);
      const headers = {
        authorization: `Bearer ${key}`,
        'content-type': 'application/json',
        'content-length': Buffer.byteLength(payload),
      };
      const options = { port, host: '127.0.0.1', path, method, agent, headers, timeout: answerWithinMs };
      const asked = request(options, (response) => {
        let text = '';
        response.setEncoding('utf8');
        response.on('data', (piece: string) => (text += piece));
        response.on('end', () => {
          resolve({ status: response.statusCode ?? 0, body: JSON.parse(text) as Record<string, unknown> });
        });
      });
      asked.on('timeout', () => asked.destroy(new Error('no answer in time')));
      asked.on('error', (error) => {
        ignoring(error, 'a request without an answer is counted as one');
        resolve({ status: 0, body: {} });
      });
      asked.end(payload);
    });
}

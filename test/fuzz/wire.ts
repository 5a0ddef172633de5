// Sends the requests of the fuzz test over kept-alive connections and stores the returned ids, so that later requests
// can name them.
import { Agent, request as httpRequest } from 'node:http';
import type { Socket } from 'node:net';
import { systemClock } from '../../platform/clock.ts';
import { ignoring } from '../../platform/errors.ts';
import type { FuzzRequest, KeyName } from './request.ts';

export type FuzzReply = {
  readonly status: number;
  readonly headers: Readonly<Record<string, string | string[] | undefined>>;
  readonly text: string;
  readonly tookMs: number;
};
/** Why there was none: the connection broke, or nothing came in time. */
export type NoReply = { readonly broken: string };

/** What went out, with every placeholder filled in. */
export type Sent = {
  readonly method: string;
  readonly path: string;
  readonly headers: Readonly<Record<string, string>>;
  readonly body: Buffer;
};

export const connections = 16;
const replyWithinMs = 15_000;
const idsKept = 2_000;

export class Wire {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: connections });
  readonly #port: number;
  readonly #keys: Readonly<Record<KeyName, string | null>>;
  /** The last answer on a connection: it may have broken the connection. */
  readonly #last = new WeakMap<Socket, string>();
  readonly #given = new Map<string, string[]>();

  constructor(port: number, keys: Readonly<Record<KeyName, string | null>>) {
    this.#port = port;
    this.#keys = keys;
  }

  fill(request: FuzzRequest): Sent {
    const key = this.#keys[request.key];
    const headers: Record<string, string> = key === null ? {} : { authorization: `Bearer ${key}` };
    for (const [name, value] of request.headers) headers[name] = value;
    const body = this.#octetsOf(request);
    if (body.length > 0) headers['content-length'] = String(body.length);
    return { method: request.method, path: this.#filled(request.path), headers, body };
  }

  send(sent: Sent): Promise<FuzzReply | NoReply> {
    const beganMs = systemClock.monotonicMs();
    return new Promise((resolve) => {
      const { method, path, headers, body } = sent;
      // node:http would reuse the connection although it has requested its end.
      const agent = headers['connection'] === 'close' ? false : this.#agent;
      const outgoing = httpRequest({ host: '127.0.0.1', port: this.#port, agent, method, path, headers });
      const cancel = systemClock.after(replyWithinMs, () => {
        resolve({ broken: `no answer within ${replyWithinMs} ms` });
        outgoing.destroy();
      });
      const broken = (error: Error) => {
        cancel();
        const before = outgoing.reusedSocket && outgoing.socket !== null ? this.#last.get(outgoing.socket) : undefined;
        resolve({ broken: `${error.message}; before it on this connection: ${before ?? 'nothing'}` });
      };
      outgoing.on('error', broken);
      outgoing.on('response', (response) => {
        const chunks: Buffer[] = [];
        this.#last.set(response.socket, `${method} ${path.slice(0, 200)} ${JSON.stringify(headers).slice(0, 300)}`);
        response.on('data', (chunk: Buffer) => chunks.push(chunk));
        response.on('error', broken);
        response.on('end', () => {
          cancel();
          const text = Buffer.concat(chunks).toString('utf8');
          const tookMs = systemClock.monotonicMs() - beganMs;
          resolve({ status: response.statusCode ?? 0, headers: response.headers, text, tookMs });
        });
      });
      outgoing.end(body);
    });
  }

  /** An id (or cursor) for later requests. */
  remember(kind: string, id: string): void {
    const ids = this.#given.get(kind) ?? [];
    if (ids.length < idsKept) ids.push(id);
    this.#given.set(kind, ids);
  }

  close(): void {
    this.#agent.destroy();
  }

  #octetsOf({ body }: FuzzRequest): Buffer {
    switch (body.kind) {
      case 'none':
        return Buffer.alloc(0);
      case 'raw':
        return Buffer.from(body.octets, 'latin1');
      case 'json':
        return Buffer.from(this.#filled(JSON.stringify(body.value) ?? ''), 'utf8');
    }
  }

  #filled(text: string): string {
    return text.replaceAll(/<([a-z]+) (-?\d+)>/g, (_, kind: string, number: string) => {
      if (kind === 'in') return new Date(systemClock.nowMs() + Number(number) * 1_000).toISOString();
      const ids = this.#given.get(kind);
      return ids?.[Number(number) % ids.length] ?? 'none_yet';
    });
  }
}

/** The body of a reply as JSON; undefined when it is none. */
export function jsonOf(text: string): unknown {
  try {
    return JSON.parse(text);
  } catch (error) {
    ignoring(error, 'what is no JSON is for the caller to refuse');
    return undefined;
  }
}

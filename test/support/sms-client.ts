// A good client of POST /v1/sms: keep-alive connections, a bound on every try, and the same Idempotency-Key until it
// has its 202. It retries only what docs/errors.md says to retry.
import { Agent, request } from 'node:http';
import { systemClock } from '../../platform/clock.ts';
import { until } from './until.ts';
import { ignoring } from '../../platform/errors.ts';

export type Reply = {
  readonly status: number;
  readonly headers: Record<string, string | string[] | undefined>;
  readonly json: Record<string, unknown>;
  readonly tookMs: number;
};

export type SmsBody = {
  readonly to: string;
  readonly from?: string;
  readonly message: string;
  readonly category?: string;
  readonly client_reference?: string;
};

export type SmsView = {
  readonly id: string;
  readonly status: string;
  readonly to: string;
  readonly segments: number;
  readonly encoding: string;
  readonly client_reference: string | null;
  readonly history: readonly { status: string; at: string; carrier: string | null; error: string | null }[];
  readonly timing_ms: { accepted_to_submitted: number | null; submitted_to_delivered: number | null };
  readonly error: string | null;
};

export type Accepted = {
  readonly id: string;
  /** Replies other than 202, and connections that broke, on the way to it. */
  readonly refusals: number;
  /** The longest any single try took to be answered. */
  readonly slowestReplyMs: number;
};

const senderOfDemo = 'HELIOGRAPH';
/** Longer than any of the ingress's own deadlines: a try that takes this long was a hang. */
const tryMsMax = 15_000;
const sendMsMax = 60_000;
const againAfterMs = 100;
const readTriesMax = 50;
const socketsMax = 256;
/** The ingress closes a connection that is idle for ten seconds: one that may be about to close is not reused. */
const idleMsMax = 5_000;

export class SmsClient {
  readonly #agent = new Agent({ keepAlive: true, maxSockets: socketsMax, timeout: idleMsMax });
  readonly #port: number;
  readonly #key: string;

  constructor(port: number, key: string) {
    this.#port = port;
    this.#key = key;
  }

  /** One try. Rejects when the connection breaks or nothing comes back in time. */
  post(body: SmsBody, idempotencyKey?: string): Promise<Reply> {
    const headers: Record<string, string> = idempotencyKey === undefined ? {} : { 'idempotency-key': idempotencyKey };
    return this.call('POST', '/v1/sms', { from: senderOfDemo, ...body }, headers);
  }

  /** Tries with one key until the 202. Rejects on a refusal that a retry cannot change. */
  async send(body: SmsBody, idempotencyKey: string): Promise<Accepted> {
    const endAtMs = systemClock.monotonicMs() + sendMsMax;
    let refusals = 0;
    let slowestReplyMs = 0;
    for (;;) {
      try {
        const reply = await this.post(body, idempotencyKey);
        slowestReplyMs = Math.max(slowestReplyMs, reply.tookMs);
        if (reply.status === 202) return { id: String(reply.json['id']), refusals, slowestReplyMs };
        if (![409, 429, 503].includes(reply.status)) throw new Refused(reply);
      } catch (error) {
        if (error instanceof Refused || error instanceof Hung) throw error;
        ignoring(error, 'the connection broke, the same key goes again');
      }
      refusals += 1;
      if (systemClock.monotonicMs() > endAtMs) throw new Error(`no 202 for ${idempotencyKey} within ${sendMsMax} ms`);
      await systemClock.sleep(againAfterMs);
    }
  }

  async get(id: string): Promise<SmsView> {
    return (await this.#read(`/v1/sms/${id}`)) as unknown as SmsView;
  }

  /** When none of them waits any more: the order in a lane of messages posted at once is not defined. */
  whenNoneWaits(ids: readonly string[]): Promise<SmsView[]> {
    const none = async () => {
      const views = await Promise.all(ids.map((id) => this.get(id)));
      return views.every(({ status }) => status !== 'accepted') && views;
    };
    return until('none waits any more', none, { everyMs: 100 });
  }

  /** Every message of the account and mode, newest first, page by page. */
  async list(query = ''): Promise<SmsView[]> {
    const all: SmsView[] = [];
    for (let cursor = ''; ; ) {
      const page = await this.#read(`/v1/sms?limit=100${query}${cursor}`);
      all.push(...(page['data'] as SmsView[]));
      const next = page['next_cursor'] as string | null;
      if (next === null) return all;
      cursor = `&cursor=${encodeURIComponent(next)}`;
    }
  }

  call(method: string, path: string, body?: unknown, headers: Record<string, string> = {}): Promise<Reply> {
    const began = systemClock.monotonicMs();
    const text = body === undefined ? '' : JSON.stringify(body);
    return new Promise((resolve, reject) => {
      const sent = request(
        {
          port: this.#port,
          host: '127.0.0.1',
          method,
          path,
          agent: this.#agent,
          headers: {
            authorization: `Bearer ${this.#key}`,
            ...(text === '' ? {} : { 'content-type': 'application/json', 'content-length': Buffer.byteLength(text) }),
            ...headers,
          },
        },
        (response) => {
          const chunks: Buffer[] = [];
          response.on('data', (chunk: Buffer) => chunks.push(chunk));
          response.on('error', reject);
          response.on('end', () => {
            cancel();
            const tookMs = systemClock.monotonicMs() - began;
            const all = Buffer.concat(chunks).toString('utf8');
            const json = (all.startsWith('{') ? JSON.parse(all) : {}) as Record<string, unknown>;
            resolve({ status: response.statusCode ?? 0, headers: response.headers, json, tookMs });
          });
        },
      );
      const cancel = systemClock.after(tryMsMax, () => {
        reject(new Hung(`${method} ${path} was not answered within ${tryMsMax} ms`));
        sent.destroy();
      });
      sent.on('error', (error) => {
        cancel();
        reject(error);
      });
      sent.end(text);
    });
  }

  /** The event store may be down for a moment, or the account at its share of queries. */
  async #read(path: string): Promise<Record<string, unknown>> {
    for (let tries = 1; ; tries += 1) {
      const reply = await this.call('GET', path);
      if (reply.status === 200) return reply.json;
      if (![429, 503].includes(reply.status) || tries === readTriesMax) throw new Refused(reply);
      await systemClock.sleep(againAfterMs);
    }
  }

  close(): void {
    this.#agent.destroy();
  }
}

class Hung extends Error {}

class Refused extends Error {
  constructor({ status, json }: Reply) {
    super(`answered ${status}: ${JSON.stringify(json)}`);
  }
}

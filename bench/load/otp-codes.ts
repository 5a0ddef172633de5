// The codes of one-time passwords as phones show them. An SMSC peer reads each from the text that it took, and the load
// generator asks it for those that have come since it last asked.
import { createServer } from 'node:http';
import type { AddressInfo } from 'node:net';
import { systemClock } from '../../platform/clock.ts';
import { numberOfLetters } from '../../smpp/simulator/nonces.ts';
import { jsonClient } from './json-client.ts';

/** Of the English text of a start: the code, and the nonce in its brand (`lettersMark`). */
const textForm = /^([0-9]{4,10}) is your #=([a-z]{1,11})-/;
const beginChars = 40;
const [zero, nine] = [0x30, 0x39];

type SeenCode = readonly [nonce: number, code: string];

/** The peer's side: what it took, in order. */
export class SeenCodes {
  readonly #seen: SeenCode[] = [];

  /** Most texts are a campaign's: they begin with no digit. */
  add(octets: Buffer): void {
    const first = octets[0] ?? 0;
    if (first < zero || first > nine) return;
    const [, code, nonce] = textForm.exec(octets.toString('latin1', 0, beginChars)) ?? [];
    if (code !== undefined && nonce !== undefined) this.#seen.push([numberOfLetters(nonce), code]);
  }

  /** Answers with those from the place in the path on, `/7`. Resolves with its port. */
  async serve(): Promise<number> {
    const server = createServer((request, response) => {
      const codes = this.#seen.slice(Number(request.url?.slice(1)));
      request.resume();
      response.setHeader('content-type', 'application/json').end(JSON.stringify({ codes }));
    });
    await new Promise<void>((resolve) => server.listen(0, '127.0.0.1', resolve));
    return (server.address() as AddressInfo).port;
  }
}

const askEveryMs = 100;

/** The load generator's side, of all peers. */
export class PhoneCodes {
  readonly #codes = new Map<number, string>();
  readonly #waiting = new Map<number, (code: string | null) => void>();
  readonly #stop: () => void;

  constructor(ports: readonly number[]) {
    const stops = ports.map((port) => this.#ask(port));
    this.#stop = () => stops.forEach((stop) => stop());
  }

  /** Null: its SMS has not come within this time. */
  codeOf(nonce: number, withinMs: number): Promise<string | null> {
    const known = this.#codes.get(nonce);
    if (known !== undefined) return Promise.resolve(known);
    return new Promise((resolve) => {
      const cancel = systemClock.after(withinMs, () => answer(null));
      const answer = (code: string | null) => {
        cancel();
        this.#waiting.delete(nonce);
        resolve(code);
      };
      this.#waiting.set(nonce, answer);
    });
  }

  stop(): void {
    this.#stop();
  }

  #ask(port: number): () => void {
    const client = jsonClient(port, '');
    let next = 0;
    let isAsking = false;
    const ask = async () => {
      isAsking = true;
      const { status, body } = await client(`/${next}`, {});
      const codes = status === 200 ? (body['codes'] as readonly SeenCode[]) : [];
      next += codes.length;
      for (const [nonce, code] of codes) {
        this.#codes.set(nonce, code);
        this.#waiting.get(nonce)?.(code);
      }
      isAsking = false;
    };
    return systemClock.every(askEveryMs, () => {
      if (!isAsking) void ask();
    });
  }
}

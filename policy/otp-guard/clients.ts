// How many different numbers one address or device asked codes for within an hour, less those whose code was entered: an
// office behind one address is no attack. Bounded for each account; the client that was seen first is forgotten first.
import { thresholds } from './thresholds.ts';

type Client = { readonly sinceMs: number; readonly numbers: Set<string> };

export class Clients {
  readonly #numbersMax: number;
  readonly #clients = new Map<string, Client>();
  #numbers = 0;

  constructor(numbersMax: number) {
    this.#numbersMax = numbersMax;
  }

  /** Numbers without verification that this client asked for; `to` itself not counted. */
  others(client: string, to: string, nowMs: number): number {
    const known = this.#current(client, nowMs);
    if (known === undefined) return 0;
    return known.numbers.size - (known.numbers.has(to) ? 1 : 0);
  }

  /** Whether it is one number more. */
  sent(client: string, to: string, nowMs: number): boolean {
    let known = this.#current(client, nowMs);
    if (known === undefined) {
      this.#forget(client);
      known = { sinceMs: nowMs, numbers: new Set() };
      this.#clients.set(client, known);
    }
    if (known.numbers.has(to) || known.numbers.size >= thresholds.clientNumbers) return false;
    known.numbers.add(to);
    this.#numbers += 1;
    for (const first of this.#clients.keys()) {
      if (this.#numbers <= this.#numbersMax) break;
      this.#forget(first);
    }
    return true;
  }

  /** Its code was entered, or was not sent after all. */
  uncount(client: string, to: string): void {
    if (this.#clients.get(client)?.numbers.delete(to) === true) this.#numbers -= 1;
  }

  #current(client: string, nowMs: number): Client | undefined {
    const known = this.#clients.get(client);
    return known !== undefined && nowMs - known.sinceMs < thresholds.clientMs ? known : undefined;
  }

  #forget(client: string): void {
    this.#numbers -= this.#clients.get(client)?.numbers.size ?? 0;
    this.#clients.delete(client);
  }
}

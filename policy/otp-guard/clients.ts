// How many different numbers one address or device asked codes for in the last hour, less those whose code was entered: an
// office behind one address is no attack. Bounded for each account; the client that was seen first is forgotten first.
import { thresholds } from './thresholds.ts';

/** When each number was asked for last, the longest ago first. */
type Client = Map<string, number>;

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
    return known === undefined ? 0 : known.size - (known.has(to) ? 1 : 0);
  }

  /** Until the hour of the first of its numbers is over. */
  fewerAfterMs(client: string, nowMs: number): number {
    const [firstMs = nowMs] = this.#current(client, nowMs)?.values() ?? [];
    return firstMs + thresholds.clientMs - nowMs;
  }

  /** Whether it is one number more. */
  sent(client: string, to: string, nowMs: number): boolean {
    const known = this.#current(client, nowMs) ?? new Map<string, number>();
    this.#clients.set(client, known);
    const isKnown = known.delete(to);
    if (!isKnown && known.size >= thresholds.clientNumbers) return false;
    known.set(to, nowMs);
    if (isKnown) return false;
    this.#numbers += 1;
    for (const first of this.#clients.keys()) {
      if (this.#numbers <= this.#numbersMax) break;
      this.#forget(first);
    }
    return true;
  }

  /** Its code was entered, or was not sent after all. */
  uncount(client: string, to: string): void {
    if (this.#clients.get(client)?.delete(to) === true) this.#numbers -= 1;
  }

  /** Without the numbers whose hour is over; undefined when none is left. */
  #current(client: string, nowMs: number): Client | undefined {
    const known = this.#clients.get(client);
    for (const [number, atMs] of known ?? []) {
      if (nowMs - atMs < thresholds.clientMs) return known;
      this.uncount(client, number);
    }
    this.#clients.delete(client);
    return undefined;
  }

  #forget(client: string): void {
    this.#numbers -= this.#clients.get(client)?.size ?? 0;
    this.#clients.delete(client);
  }
}

// What the guard remembers of one account: codes that wait to be entered, the history of its blocks of numbers, its usual
// conversion by operator, its clients. Bounded by the account's share; the oldest is forgotten first.
import { Clients } from './clients.ts';
import type { GuardBounds, GuardSend, OpenDigits } from './contract.ts';
import { Conversion } from './conversion.ts';
import { History, openDigitsOf, prefixOf } from './history.ts';
import { thresholds } from './thresholds.ts';

/** A code that was sent less than two minutes ago. */
export type PendingCode = {
  readonly to: string;
  readonly sentAtMs: number;
  carrier: string;
  readonly isProbe: boolean;
  readonly clients: readonly string[];
  readonly four: History;
  readonly six: History;
  hasReceipt: boolean;
  isVerified: boolean;
  resends: number;
};

/** So many of the histories used longest ago are looked at for an idle one. */
const idleLookedAt = 16;

export class AccountMemory {
  readonly clients: Clients;
  readonly #bounds: GuardBounds;
  /** By number, the oldest first. */
  readonly #pending = new Map<string, PendingCode>();
  /** By prefix, the one used last at the end. */
  readonly #histories: Record<OpenDigits, Map<string, History>> = { 4: new Map(), 6: new Map() };
  readonly #conversions = new Map<string, Conversion>();

  constructor(bounds: GuardBounds) {
    this.#bounds = bounds;
    this.clients = new Clients(bounds.clientNumbersShare);
  }

  get pendingCount(): number {
    return this.#pending.size;
  }

  get historyCount(): number {
    return this.#histories[4].size + this.#histories[6].size;
  }

  /** Its usual conversion with an operator's subscribers, who are distinguished by the carrier. */
  conversion(operator: string): Conversion {
    let known = this.#conversions.get(operator);
    if (known !== undefined) return known;
    known = new Conversion();
    // Beyond the bound the rest are one.
    if (operator !== '' && this.#conversions.size >= this.#bounds.carriersMax) return this.conversion('');
    this.#conversions.set(operator, known);
    return known;
  }

  known(prefix: string, openDigits: OpenDigits): History | undefined {
    return this.#histories[openDigits].get(prefix);
  }

  *histories(): IterableIterator<History> {
    yield* this.#histories[4].values();
    yield* this.#histories[6].values();
  }

  /** A second code to the same number within two minutes takes over the first one's place, and is one more message. */
  sent({ to, carrier, isProbe, ip, device }: GuardSend, nowMs: number): PendingCode {
    const before = this.pending(to);
    const resends = before === undefined || before.isVerified ? 0 : before.resends + 1;
    this.remove(to);
    const clients = clientsOf({ ip, device });
    const [four, six] = [this.#history(to, 4), this.#history(to, 6)];
    const fresh = { hasReceipt: false, isVerified: false, resends };
    const code = { to, sentAtMs: nowMs, carrier, isProbe, clients, four, six, ...fresh };
    this.#pending.set(to, code);
    for (const history of [four, six]) {
      history.pending.add(openDigitsOf(to, history.openDigits));
      history.resends += resends;
      if (carrier !== '') history.carrier = carrier;
    }
    for (const client of clients) this.clients.sent(client, to, nowMs);
    if (this.#pending.size > this.#bounds.pendingShare) this.dropPending(1);
    for (const openDigits of [4, 6] as const) {
      if (this.#histories[openDigits].size > this.#bounds.historiesShare) this.#dropHistory(openDigits);
    }
    return code;
  }

  /** The code that waits at this number was sent again; false when none waits. */
  resent(to: string): boolean {
    const code = this.#pending.get(to);
    if (code === undefined || code.isVerified) return false;
    for (const counted of [code, code.four, code.six]) counted.resends += 1;
    return true;
  }

  pending(to: string): PendingCode | undefined {
    return this.#pending.get(to);
  }

  /** The code that waited for this; undefined when its two minutes are over, or it was entered before. */
  verified(to: string): PendingCode | undefined {
    const code = this.#pending.get(to);
    if (code === undefined || code.isVerified) return undefined;
    code.isVerified = true;
    proven(code);
    for (const client of code.clients) this.clients.verified(client, to);
    return code;
  }

  carriedBy(to: string, carrier: string): void {
    const code = this.#pending.get(to);
    if (code === undefined) return;
    for (const each of [code, code.four, code.six]) each.carrier = carrier;
  }

  /** The oldest code whose two minutes are over, removed; undefined when there is none. */
  matured(nowMs: number): PendingCode | undefined {
    const oldest = this.#pending.values().next().value;
    if (oldest === undefined || nowMs - oldest.sentAtMs < thresholds.maturityMs) return undefined;
    return this.remove(oldest.to);
  }

  /** Forgets the oldest codes unjudged. */
  dropPending(count: number): void {
    let left = count;
    for (const to of this.#pending.keys()) {
      if ((left -= 1) < 0) return;
      this.remove(to);
    }
  }

  /** Forgets histories: of blocks of 10^4 numbers while there are any, because a hundred of those are in one of 10^6. */
  dropHistories(count: number): void {
    for (let dropped = 0; dropped < count; dropped += 1) this.#dropHistory(this.#histories[4].size > 0 ? 4 : 6);
  }

  /** Forgets an idle one of those used longest ago, or the first of them: an attack that goes slowly is not forgotten. */
  #dropHistory(openDigits: OpenDigits): void {
    const histories = this.#histories[openDigits];
    let forgotten: string | undefined;
    let looked = 0;
    for (const [prefix, { isIdle }] of histories) {
      if (isIdle || forgotten === undefined) forgotten = prefix;
      if (isIdle || (looked += 1) === idleLookedAt) break;
    }
    if (forgotten !== undefined) histories.delete(forgotten);
  }

  #history(to: string, openDigits: OpenDigits): History {
    const prefix = prefixOf(to, openDigits);
    const histories = this.#histories[openDigits];
    const history = histories.get(prefix) ?? new History(prefix, openDigits);
    histories.delete(prefix);
    histories.set(prefix, history);
    return history;
  }

  /** Forgets a code unjudged. */
  remove(to: string): PendingCode | undefined {
    const code = this.#pending.get(to);
    if (code === undefined) return undefined;
    this.#pending.delete(to);
    proven(code);
    return code;
  }
}

/** Its number waits no more. */
function proven(code: PendingCode): void {
  for (const history of [code.four, code.six]) {
    history.pending.delete(openDigitsOf(code.to, history.openDigits));
    history.resends -= code.resends;
  }
  code.resends = 0;
}

/** The names under which numbers are counted. */
export function clientsOf({ ip, device }: Pick<GuardSend, 'ip' | 'device'>): string[] {
  return [...(ip === null ? [] : [`ip ${ip}`]), ...(device === null ? [] : [`device ${device}`])];
}

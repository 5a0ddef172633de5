// What the guard remembers of one account: codes that wait to be entered, the history of its blocks of numbers, its usual
// conversion by operator, its clients. Bounded by the account's share: the guard judges the oldest codes sooner, histories,
// conversions and clients are forgotten.
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
  /** Those for which its number is one more. */
  readonly counted: readonly string[];
  readonly four: History;
  readonly six: History;
  hasReceipt: boolean;
  isVerified: boolean;
  /** False of a code of the client's own, which may be verified elsewhere. */
  readonly isJudged: boolean;
  /** Only begun until then: it may still be withdrawn. */
  isAccepted: boolean;
  /** A person has released its numbers since: it counts no more, and is not judged. */
  isCleared: boolean;
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
  sent({ to, carrier, isProbe, ip, device, ownCode }: GuardSend, nowMs: number, isAccepted: boolean): PendingCode {
    const waits = this.waiting(to);
    // One that is only begun counts when it is accepted.
    const resends = waits === undefined ? 0 : waits.resends + (waits.isAccepted ? 1 : 0);
    // A number that waits for a code to be judged still does.
    const isJudged = ownCode !== true || waits?.isJudged === true;
    this.remove(to);
    const clients = clientsOf({ ip, device });
    const counted = clients.filter((client) => this.clients.sent(client, to, nowMs));
    const [four, six] = [this.#history(to, 4), this.#history(to, 6)];
    const fresh = { hasReceipt: false, isVerified: false, isJudged, isAccepted, isCleared: false, resends };
    const code = { to, sentAtMs: nowMs, carrier, isProbe, clients, counted, four, six, ...fresh };
    this.#pending.set(to, code);
    if (!isAccepted) four.notAccepted.add(openDigitsOf(to, 4));
    for (const history of [four, six]) {
      history.pending.add(openDigitsOf(to, history.openDigits));
      history.resends += resends;
      if (carrier !== '') history.carrier = carrier;
    }
    for (const openDigits of [4, 6] as const) {
      if (this.#histories[openDigits].size > this.#bounds.historiesShare) this.#dropHistory(openDigits);
    }
    return code;
  }

  /** The code that waits at this number was sent again; false when none waits. */
  resent(to: string): boolean {
    const code = this.waiting(to);
    if (code === undefined) return false;
    for (const counted of [code, code.four, code.six]) counted.resends += 1;
    return true;
  }

  pending(to: string): PendingCode | undefined {
    return this.#pending.get(to);
  }

  /** The code that its number waits for: not entered yet, and no person has said that its numbers are legitimate. */
  waiting(to: string): PendingCode | undefined {
    const code = this.#pending.get(to);
    return code === undefined || code.isVerified || code.isCleared ? undefined : code;
  }

  /** The code that waited for this; undefined when its two minutes are over, or it was entered before. */
  verified(to: string): PendingCode | undefined {
    const code = this.#pending.get(to);
    if (code === undefined || code.isVerified) return undefined;
    code.isVerified = true;
    proven(code);
    for (const client of code.clients) this.clients.uncount(client, to);
    return code;
  }

  /** The code was only begun. */
  accepted(code: PendingCode, carrier: string): void {
    code.isAccepted = true;
    code.four.notAccepted.delete(openDigitsOf(code.to, 4));
    for (const each of [code, code.four, code.six]) each.carrier = carrier;
  }

  /** The code was only begun, and is not sent after all. Another one may have taken over its place. */
  withdraw(code: PendingCode): void {
    const now = this.#pending.get(code.to);
    if (now === code) this.remove(code.to);
    for (const client of code.counted) {
      if (now === code || now?.clients.includes(client) !== true) this.clients.uncount(client, code.to);
    }
  }

  /**
   * A person said that the numbers that begin so are legitimate: what was counted of them is forgotten, and what waits there
   * counts neither for velocity and sequence nor as a miss.
   */
  forgetCounts(prefix: string): void {
    for (const code of this.#pending.values()) {
      if (!code.to.startsWith(prefix)) continue;
      code.isCleared = true;
      proven(code);
    }
    for (const history of this.histories()) if (history.prefix.startsWith(prefix)) history.forgetCounts();
  }

  /** The oldest code, removed, when its two minutes are over or more than `kept` wait; undefined when there is none. */
  takeDue(nowMs: number, kept: number): PendingCode | undefined {
    const oldest = this.#pending.values().next().value;
    if (oldest === undefined) return undefined;
    const { four, six, resends, isVerified, isCleared, sentAtMs } = oldest;
    if (nowMs - sentAtMs < thresholds.maturityMs) {
      if (this.#pending.size <= kept) return undefined;
      if (!isVerified && !isCleared) for (const history of [four, six]) history.giveUp(1 + resends, nowMs);
    }
    return this.remove(oldest.to);
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

  /** Its number waits no more. */
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
  code.four.notAccepted.delete(openDigitsOf(code.to, 4));
  code.resends = 0;
}

/** The names under which numbers are counted. */
export function clientsOf({ ip, device }: Pick<GuardSend, 'ip' | 'device'>): string[] {
  return [...(ip === null ? [] : [`ip ${ip}`]), ...(device === null ? [] : [`device ${device}`])];
}

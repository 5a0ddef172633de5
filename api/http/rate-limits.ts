// The rate limits of a key and its account, checked for every request, and an account's quota of idempotency keys per
// hour. Answers carry what is left in the fields of draft-ietf-httpapi-ratelimit-headers and in the three older ones
// that most clients read; without a limit they carry neither. The threads of an ingress process count together in
// shared memory. Nodes do not: behind a load balancer each node grants the whole rate (docs/operations).
import { refusal } from '../../acceptance/refusal.ts';
import type { Principal } from '../../acceptance/principal.ts';
import type { Account, Rate } from '../../directory/contract.ts';
import { type Clock, epochUs, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { perObject } from '../../platform/per-object.ts';
import { type Problem, problem } from '../problem.ts';
import type { Headers } from './exchange.ts';
import type { KeyQuota } from '../../acceptance/idempotency/requests.ts';
import { type Pace, type RateVerdict, paceOf, spentTurns, takeTurn } from '../../platform/gcra.ts';
import { hash } from 'node:crypto';

export type RateAnswer = { readonly headers: Headers; readonly problem: Problem | null };

type Asked = { readonly policy: 'key' | 'account'; readonly rate: Rate; readonly verdict: RateVerdict };

const unlimited: RateAnswer = { headers: [], problem: null };
const secondUs = 1_000_000;
const hourUs = 3_600 * secondUs;

export class RateLimits {
  readonly #table: RateTable;
  readonly #clock: Clock;
  /** By keys per hour; few different values exist. */
  readonly #quotas = new Map<number, Pace>();

  constructor(memory: SharedArrayBuffer, clock: Clock = systemClock) {
    this.#table = new RateTable(memory);
    this.#clock = clock;
  }

  /**
   * Takes one turn per message: for a request one, for a batch its further messages, all or none. Turns of the key are
   * spent even when the account's rate then refuses.
   */
  ofRequest(
    {
      id,
      rate: own,
      account,
    }: Pick<Principal, 'id' | 'rate'> & { readonly account: Pick<Account, 'accountId' | 'rate'> },
    turns = 1,
  ): RateAnswer {
    if ((own == null && account.rate == null) || turns === 0) return unlimited;
    const nowUs = epochUs(this.#clock.monotonicMs());
    let tightest: Asked | null = null;
    for (const [policy, name, rate] of [
      ['key', id, own],
      ['account', account.accountId, account.rate],
    ] as const) {
      if (rate == null) continue;
      const verdict = this.#table.take(name, paceOfRate(rate), nowUs, turns);
      if (verdict === null) continue;
      const asked = { policy, rate, verdict };
      if (!verdict.ok) return { headers: headersOf(asked), problem: tooFast(asked, turns) };
      if (tightest === null || verdict.remaining < tightest.verdict.remaining) tightest = asked;
    }
    return tightest === null ? unlimited : { headers: headersOf(tightest), problem: null };
  }

  /** The account's quota of stored idempotency keys. Repeats of a stored key are free. */
  keyQuota(account: Pick<Account, 'accountId' | 'idempotencyKeysPerHour'>): KeyQuota {
    const perHour = account.idempotencyKeysPerHour ?? limits.idempotency.keysPerHourDefault;
    const name = `${account.accountId} keys`;
    const nowUs = () => epochUs(this.#clock.monotonicMs());
    return {
      refuse: () => {
        if (perHour === 0) return refusal('idempotency_quota_exceeded', 'this account has no idempotency keys', 3_600);
        const verdict = this.#table.look(name, this.#quotaOf(perHour), nowUs());
        if (verdict.ok) return null;
        const detail = `the account has used its ${perHour} idempotency keys of this hour`;
        return refusal('idempotency_quota_exceeded', detail, wholeSeconds(verdict.retryUs));
      },
      use: (units) => this.#table.spend(name, this.#quotaOf(perHour), nowUs(), units),
    };
  }

  #quotaOf(perHour: number): Pace {
    let pace = this.#quotas.get(perHour);
    if (pace === undefined) {
      if (this.#quotas.size >= quotasMax) this.#quotas.clear();
      pace = paceOf(perHour, hourUs, perHour);
      this.#quotas.set(perHour, pace);
    }
    return pace;
  }
}

const quotasMax = 1_000;
const paceOfRate = perObject((rate: Rate) => paceOf(rate.perSecond, secondUs, rate.burst));

function headersOf({ policy, rate, verdict }: Asked): Headers {
  const resetS = String(Math.ceil(verdict.resetUs / secondUs));
  const remaining = String(verdict.remaining);
  // The draft's `w`: the time in which a whole burst is regained.
  const windowS = Math.max(1, Math.ceil(rate.burst / rate.perSecond));
  return [
    ['ratelimit-policy', `"${policy}";q=${rate.burst};w=${windowS}`],
    ['ratelimit', `"${policy}";r=${remaining};t=${resetS}`],
    ['ratelimit-limit', String(rate.burst)],
    ['ratelimit-remaining', remaining],
    ['ratelimit-reset', resetS],
  ];
}

function tooFast({ policy, rate, verdict }: Asked, turns: number): Problem {
  // The first message of the batch used the request's own turn.
  if (turns >= rate.burst) {
    const tooMany = `a batch of ${turns + 1} messages is more than ${rate.burst} at once with this ${policy}: send smaller ones`;
    return problem(429, 'rate_limited', tooMany, [], wholeSeconds(verdict.resetUs));
  }
  const detail = `more than ${rate.perSecond} requests or messages of batches a second (${rate.burst} at once) with this ${policy}`;
  return problem(429, 'rate_limited', detail, [], wholeSeconds(verdict.retryUs));
}

const wholeSeconds = (us: number) => Math.max(1, Math.ceil(us / secondUs));

const slotsMax = limits.access.ratesMax;
/** Slots probed before a name gets no slot of its own. */
const probesMax = 64;
const triesMax = 16;

/** Two 64-bit words per slot: fingerprint and time. */
export function newRateMemory(slots: number = slotsMax): SharedArrayBuffer {
  return new SharedArrayBuffer(slots * 16);
}

/** The pace shared by all names that get no slot: a full table must not switch rate limits off. */
const overflow = paceOf(limits.access.overflowPerSecond, 1_000_000, limits.access.overflowPerSecond);

type Place = { readonly slot: number; readonly print: bigint };

/**
 * Rates by name in shared memory. An entry is a fingerprint of its name and one time (gcra.ts), both changed by
 * compare-and-exchange, so no thread waits for another.
 */
export class RateTable {
  readonly #words: BigInt64Array;
  /** The last slot is the shared overflow slot. */
  readonly #slots: number;
  /** Name → slot: hashing the name for every request would cost more than the rest. Bounded by the table. */
  readonly #placeOf = new Map<string, Place>();

  constructor(memory: SharedArrayBuffer) {
    this.#words = new BigInt64Array(memory);
    this.#slots = this.#words.length / 2 - 1;
  }

  /** Takes turns under a name. Null: unknown, because too many threads took turns at the same moment. */
  take(name: string, pace: Pace, nowUs: number, turns = 1): RateVerdict | null {
    const [at, of] = this.#arrivalOf(name, pace, nowUs);
    for (let tries = 0; tries < triesMax; tries += 1) {
      const held = Atomics.load(this.#words, at);
      const verdict = takeTurn(of, Number(held), nowUs, turns);
      if (!verdict.ok) return verdict;
      const next = BigInt(Math.ceil(verdict.arrivalUs));
      if (Atomics.compareExchange(this.#words, at, held, next) === held) return verdict;
    }
    // `triesMax` conflicts with other threads: the rate is unknown, so the request is not refused.
    return null;
  }

  /** The verdict on one turn, without taking it. */
  look(name: string, pace: Pace, nowUs: number): RateVerdict {
    const [at, of] = this.#arrivalOf(name, pace, nowUs);
    return takeTurn(of, Number(Atomics.load(this.#words, at)), nowUs);
  }

  /** Spends turns for something that has already happened: never refuses, and takes at most all that are left. */
  spend(name: string, pace: Pace, nowUs: number, turns: number): void {
    const [at, of] = this.#arrivalOf(name, pace, nowUs);
    for (let tries = 0; tries < triesMax; tries += 1) {
      const held = Atomics.load(this.#words, at);
      const next = BigInt(Math.ceil(spentTurns(of, Number(held), nowUs, turns)));
      if (Atomics.compareExchange(this.#words, at, held, next) === held) return;
    }
  }

  /** The index of the name's time, and the pace that applies. */
  #arrivalOf(name: string, pace: Pace, nowUs: number): readonly [at: number, of: Pace] {
    const slot = this.#slotOf(name, nowUs);
    return slot === null ? [this.#slots * 2 + 1, overflow] : [slot * 2 + 1, pace];
  }

  #slotOf(name: string, nowUs: number): number | null {
    const known = this.#placeOf.get(name);
    // The slot may have been given to another name.
    if (known !== undefined && Atomics.load(this.#words, known.slot * 2) === known.print) return known.slot;
    const print = fingerprintOf(name);
    const slot = this.#own(print) ?? this.#rested(print, nowUs);
    if (slot === null) return null;
    if (this.#placeOf.size >= this.#slots) this.#placeOf.clear();
    this.#placeOf.set(name, { slot, print });
    return slot;
  }

  /** The name's slot, or the first empty one. */
  #own(print: bigint): number | null {
    for (const slot of this.#probes(print)) {
      const held = Atomics.compareExchange(this.#words, slot * 2, 0n, print);
      if (held === 0n || held === print) return slot;
    }
    return null;
  }

  /** A slot whose burst is fully regained equals an empty one: it is given to another name. */
  #rested(print: bigint, nowUs: number): number | null {
    for (const slot of this.#probes(print)) {
      const held = Atomics.load(this.#words, slot * 2);
      if (Number(Atomics.load(this.#words, slot * 2 + 1)) > nowUs) continue;
      if (Atomics.compareExchange(this.#words, slot * 2, held, print) === held) return slot;
    }
    return null;
  }

  *#probes(print: bigint): Generator<number> {
    const first = Number(BigInt.asUintN(32, print)) % this.#slots;
    for (let probe = 0; probe < Math.min(probesMax, this.#slots); probe += 1) yield (first + probe) % this.#slots;
  }
}

/** 64 bits of SHA-256, never 0, which marks an empty slot. */
function fingerprintOf(name: string): bigint {
  const print = hash('sha256', name, 'buffer').readBigInt64LE(0);
  return print === 0n ? 1n : print;
}

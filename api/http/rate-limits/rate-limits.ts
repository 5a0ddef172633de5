// The rate limits of a key and its account, checked for every request, and an account's idempotency keys per hour.
// Answers carry what is left, in the fields of draft-ietf-httpapi-ratelimit-headers and in the three older ones that
// most clients read; without a limit they carry nothing.
import { refusal } from '../../../acceptance/refusal.ts';
import type { Principal } from '../../../acceptance/principal.ts';
import type { Account, Rate } from '../../../directory/contract.ts';
import { type Clock, epochUs, systemClock } from '../../../platform/clock.ts';
import { limits } from '../../../platform/limits.ts';
import { type Problem, problem } from '../../problem.ts';
import type { Headers } from '../exchange.ts';
import type { KeyQuota } from '../../../acceptance/idempotency/requests.ts';
import { type Pace, type RateVerdict, paceOf } from '../../../platform/gcra.ts';
import { RateTable } from './rate-table.ts';

export type RateAnswer = { readonly headers: Headers; readonly problem: Problem | null };

type Asked = { readonly policy: 'key' | 'account'; readonly rate: Rate; readonly verdict: RateVerdict };

const unlimited: RateAnswer = { headers: [], problem: null };
const secondUs = 1_000_000;
const hourUs = 3_600 * secondUs;

export class RateLimits {
  readonly #table: RateTable;
  readonly #clock: Clock;
  readonly #paces = new WeakMap<Rate, Pace>();
  /** By keys per hour: few different values exist. */
  readonly #quotas = new Map<number, Pace>();

  constructor(memory: SharedArrayBuffer, clock: Clock = systemClock) {
    this.#table = new RateTable(memory);
    this.#clock = clock;
  }

  /**
   * One request, or the further messages of a batch: each costs a turn, and none is taken when there are not enough. What
   * an account's rate refuses has used its key's turns all the same.
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
      const verdict = this.#table.take(name, this.#paceOf(rate), nowUs, turns);
      if (verdict === null) continue;
      const asked = { policy, rate, verdict };
      if (!verdict.ok) return { headers: headersOf(asked), problem: tooFast(asked, turns) };
      if (tightest === null || verdict.remaining < tightest.verdict.remaining) tightest = asked;
    }
    return tightest === null ? unlimited : { headers: headersOf(tightest), problem: null };
  }

  /** What an account may still store under idempotency keys. Repeats of a key that is stored cost nothing. */
  keyQuota(account: Pick<Account, 'accountId' | 'idempotencyKeysPerHour'>): KeyQuota {
    const perHour = account.idempotencyKeysPerHour ?? limits.idempotency.keysPerHourDefault;
    const name = `${account.accountId} keys`;
    const nowUs = () => epochUs(this.#clock.monotonicMs());
    return {
      refuse: () => {
        if (perHour === 0) return refusal('idempotency_quota_exceeded', 'this account has no idempotency keys', 3_600);
        const verdict = this.#table.look(name, this.#quotaOf(perHour), nowUs());
        if (verdict === null || verdict.ok) return null;
        const detail = `the account used its ${perHour} idempotency keys of this hour`;
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

  #paceOf(rate: Rate): Pace {
    let pace = this.#paces.get(rate);
    if (pace === undefined) {
      pace = paceOf(rate.perSecond, secondUs, rate.burst);
      this.#paces.set(rate, pace);
    }
    return pace;
  }
}

const quotasMax = 1_000;

function headersOf({ policy, rate, verdict }: Asked): Headers {
  const resetS = String(Math.ceil(verdict.resetUs / secondUs));
  const remaining = String(verdict.remaining);
  // The window after which a whole burst is there again, as the draft's `w` wants it.
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
  // Its first message came with the request's own turn.
  if (turns >= rate.burst) {
    const tooMany = `a batch of ${turns + 1} messages is more than ${rate.burst} at once with this ${policy}: send smaller ones`;
    return problem(429, 'rate_limited', tooMany, [], wholeSeconds(verdict.resetUs));
  }
  const detail = `more than ${rate.perSecond} requests or messages of batches a second (${rate.burst} at once) with this ${policy}`;
  return problem(429, 'rate_limited', detail, [], wholeSeconds(verdict.retryUs));
}

const wholeSeconds = (us: number) => Math.max(1, Math.ceil(us / secondUs));

// From where and how fast a principal may call: its networks, the rates of itself and of its account, and its account's
// quota of idempotency keys per hour. Every entry point asks before it reads what is to be sent, and answers in its own
// protocol. The threads of an ingress process count together in shared memory. Nodes do not: behind a load balancer each
// node grants the whole rate (docs/operations).
import type { Account, Rate } from '../directory/contract.ts';
import { type Clock, epochUs, systemClock } from '../platform/clock.ts';
import { type Pace, type RateVerdict, paceOf } from '../platform/gcra.ts';
import { type IpAddress, type Network, formatIp, isInAny, parseNetworks } from '../platform/ip-address.ts';
import { limits } from '../platform/limits.ts';
import { perObject } from '../platform/per-object.ts';
import { RateTable } from '../platform/rate-table.ts';
import type { Refusal } from '../policy/contract.ts';
import type { KeyQuota } from './idempotency/requests.ts';
import type { Principal } from './principal.ts';
import { type AcceptanceRefusal, refusal } from './refusal.ts';

/** Networks as text (CIDR); empty or undefined: from everywhere. */
type NetworkRules = {
  readonly networks?: readonly string[] | undefined;
  readonly account: { readonly networks?: readonly string[] | undefined };
};

const networksOf = perObject<readonly string[], readonly Network[]>(parseNetworks);

/** Whether the client's address is needed at all: most keys may be used from everywhere. */
export function asksForAddress({ networks, account }: NetworkRules): boolean {
  return (networks?.length ?? 0) > 0 || (account.networks?.length ?? 0) > 0;
}

/** Its own networks and its account's must both match where they are set. `ip` null: not known, and no network allows it. */
export function networkGate({ networks: own, account }: NetworkRules, ip: IpAddress | null): Refusal | null {
  for (const networks of [own, account.networks]) {
    if (networks === undefined || networks.length === 0) continue;
    if (ip === null || !isInAny(ip, networksOf(networks))) return notAllowed(ip);
  }
  return null;
}

function notAllowed(ip: IpAddress | null): Refusal {
  const from = ip === null ? 'an address that cannot be determined' : formatIp(ip);
  const detail = `this key may not be used from ${from}: extend the allowlist of the key or the account`;
  return { ok: false, code: 'ip_not_allowed', field: null, detail };
}

/** A rate that was asked, and what is left of it. */
export type AskedRate = { readonly policy: 'key' | 'account'; readonly rate: Rate; readonly verdict: RateVerdict };

/** `tightest`: of the rates that apply, the one with the least left, or the one that refused; null: none applies. */
export type RateAnswer = { readonly tightest: AskedRate | null; readonly refused: AcceptanceRefusal | null };

const unlimited: RateAnswer = { tightest: null, refused: null };
const secondUs = 1_000_000;
const hourUs = 3_600 * secondUs;

/**
 * ```ts
 * const { refused } = new RateLimits(newRateMemory()).take(principal);
 * if (refused !== null) return throttle(refused); // HTTP: 429, SMPP: ESME_RTHROTTLED
 * ```
 */
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
  take(
    {
      id,
      rate: own,
      account,
    }: Pick<Principal, 'id' | 'rate'> & { readonly account: Pick<Account, 'accountId' | 'rate'> },
    turns = 1,
  ): RateAnswer {
    if ((own == null && account.rate == null) || turns === 0) return unlimited;
    const nowUs = epochUs(this.#clock.monotonicMs());
    let tightest: AskedRate | null = null;
    for (const [policy, name, rate] of [
      ['key', id, own],
      ['account', account.accountId, account.rate],
    ] as const) {
      if (rate == null) continue;
      const verdict = this.#table.take(name, paceOfRate(rate), nowUs, turns);
      if (verdict === null) continue;
      const asked = { policy, rate, verdict };
      if (!verdict.ok) return { tightest: asked, refused: tooFast(asked, turns) };
      if (tightest === null || verdict.remaining < tightest.verdict.remaining) tightest = asked;
    }
    return tightest === null ? unlimited : { tightest, refused: null };
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

function tooFast({ policy, rate, verdict }: AskedRate, turns: number): AcceptanceRefusal {
  // The first message of the batch used the request's own turn.
  if (turns >= rate.burst) {
    const tooMany = `a batch of ${turns + 1} messages is more than ${rate.burst} at once with this ${policy}: send smaller ones`;
    // No wait helps.
    return refusal('rate_limited', tooMany);
  }
  const detail = `more than ${rate.perSecond} requests or messages of batches a second (${rate.burst} at once) with this ${policy}`;
  return refusal('rate_limited', detail, wholeSeconds(verdict.retryUs));
}

const wholeSeconds = (us: number) => Math.max(1, Math.ceil(us / secondUs));

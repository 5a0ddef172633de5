// The limits of one-time passwords that are counted in memory (all but sends and wrong guesses of a number, which its
// record has), in the form count/period: over the prefix of the number, the user's address and device as the caller
// passes them, and the account. A full count comes back evenly over its period. Names are of one account: what another
// account's users do counts for it alone. The threads of an ingress process count together, several nodes do not.
import { refusal } from '../../../acceptance/refusal.ts';
import type { AccountId, MessageId } from '../../../model/ids.ts';
import { type Clock, epochUs, systemClock } from '../../../platform/clock.ts';
import type { Shares } from '../../../platform/limits-shares.ts';
import { type Pace, paceOf } from '../../../platform/gcra.ts';
import { limits } from '../../../platform/limits.ts';
import { perObject } from '../../../platform/per-object.ts';
import { RateTable } from '../../../platform/rate-table.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { OtpCounted, OtpDimension, OtpLimit, OtpLimits } from '../../../policy/otp/contract.ts';
import { type Problem, problem, problemOf } from '../../problem.ts';

/** Whom a request is about. `to` is null where the number is not known yet. */
export type OtpUser = {
  readonly accountId: AccountId;
  readonly to: string | null;
  readonly ip: string | null;
  readonly device: string | null;
};

/** Digits of a number that its prefix leaves out: 10,000 numbers share one. */
const prefixCutDigits = 4;
const hourUs = 3_600_000_000;
const paceOfLimit = perObject(({ count, perMs }: OtpLimit) => paceOf(count, perMs * 1_000, count));

export class OtpRates {
  readonly #table: RateTable;
  readonly #shares: Shares;
  readonly #clock: Clock;
  readonly #ofEach: Pace;
  readonly #ofAll: Pace;

  constructor(memory: SharedArrayBuffer, shares: Shares, clock: Clock = systemClock) {
    const { perAccount, total } = shares.otp_started;
    this.#table = new RateTable(memory);
    this.#shares = shares;
    this.#clock = clock;
    this.#ofEach = paceOf(perAccount, hourUs, perAccount);
    this.#ofAll = paceOf(total, hourUs, total);
    for (const reason of ['account_full', 'full']) metrics.sharedBoundRefusals.inc({ bound: 'otp_started', reason }, 0);
  }

  /**
   * Counts one in every dimension; null when all of them have room. Otherwise nothing is counted: a caller beyond
   * one limit uses up no other.
   */
  take(counted: OtpCounted, inEffect: OtpLimits, user: OtpUser): Problem | null {
    const nowUs = this.#nowUs();
    const taken: Counted[] = [];
    for (const each of countedOf(counted, inEffect, user)) {
      const verdict = this.#table.take(each.name, paceOfLimit(each.limit), nowUs);
      if (verdict !== null && !verdict.ok) {
        this.#giveBack(taken, nowUs);
        return tooMany(counted, each, verdict.retryUs);
      }
      taken.push(each);
    }
    return null;
  }

  /** What `take` has counted did not happen: no message was sent, or the guess was not wrong. */
  giveBack(counted: OtpCounted, inEffect: OtpLimits, user: OtpUser): void {
    this.#giveBack(countedOf(counted, inEffect, user), this.#nowUs());
  }

  #giveBack(counts: Iterable<Counted>, nowUs: number): void {
    for (const { name, limit } of counts) this.#table.giveBack(name, paceOfLimit(limit), nowUs);
  }

  /**
   * Whether no thread of this process has asked so for the message while its code may be valid: tries of one request that
   * send the same message are counted once. Their names are in the same table as the limits.
   */
  isFirst(messageId: MessageId): boolean {
    return this.#table.isFirst(`sent ${messageId}`, limits.otp.countedMs * 1_000, this.#nowUs());
  }

  /** The account's share of records (limits.shares.otp_started). Taken last: a start that is refused before has none. */
  takeRecord(accountId: AccountId): Problem | null {
    const own = this.#table.take(`started ${accountId}`, this.#ofEach, this.#nowUs());
    if (own !== null && !own.ok) {
      metrics.sharedBoundRefusals.inc({ bound: 'otp_started', reason: 'account_full' });
      const detail = `more than ${this.#shares.otp_started.perAccount} one-time passwords an hour of this account`;
      return problem(429, 'otp_rate_limited', detail, wholeSeconds(own.retryUs));
    }
    const all = this.#table.take('started', this.#ofAll, this.#nowUs());
    if (all === null || all.ok) return null;
    metrics.sharedBoundRefusals.inc({ bound: 'otp_started', reason: 'full' });
    return problemOf(refusal('overloaded', 'too many one-time passwords an hour', wholeSeconds(all.retryUs)));
  }

  /** The start wrote none. */
  giveBackRecord(accountId: AccountId): void {
    this.#table.giveBack(`started ${accountId}`, this.#ofEach, this.#nowUs());
    this.#table.giveBack('started', this.#ofAll, this.#nowUs());
  }

  #nowUs(): number {
    return epochUs(this.#clock.monotonicMs());
  }
}

/** A count under its name. */
type Counted = { readonly dimension: OtpDimension; readonly name: string; readonly limit: OtpLimit };

/** The counts of a request that are in memory: sends and wrong guesses of a number are in its record. */
function* countedOf(counted: OtpCounted, inEffect: OtpLimits, user: OtpUser): Generator<Counted> {
  for (const [dimension, name] of namesOf(user)) {
    if (dimension === 'number' && counted !== 'verifications') continue;
    yield { dimension, name: `${counted} ${name}`, limit: inEffect[counted][dimension] };
  }
}

/** The dimensions that a request has, with the name its count has. */
function* namesOf({ accountId, to, ip, device }: OtpUser): Generator<readonly [OtpDimension, string]> {
  if (to !== null) {
    yield ['number', `${accountId} number ${to}`];
    yield ['prefix', `${accountId} prefix ${to.slice(0, -prefixCutDigits)}`];
  }
  if (ip !== null) yield ['client_ip', `${accountId} ip ${ip}`];
  if (device !== null) yield ['device_id', `${accountId} device ${device}`];
  yield ['account', accountId];
}

function tooMany(counted: OtpCounted, { dimension, limit }: Counted, retryUs: number): Problem {
  const { count, perMs } = limit;
  const what = counted === 'guesses' ? 'wrong guesses' : counted;
  const whose = dimension === 'account' ? 'this account' : `this ${dimension}`;
  const detail = `more than ${count} ${what} in ${perMs / 1_000} s for ${whose}`;
  return problem(429, 'otp_rate_limited', detail, wholeSeconds(retryUs));
}

const wholeSeconds = (us: number) => Math.max(1, Math.ceil(us / 1_000_000));

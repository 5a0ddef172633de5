// The limits of one-time passwords that are counted in memory (all but sends and wrong guesses of a number, which its
// record has), in the form count/period: over the prefix of the number, the user's address and device as the caller
// passes them, and the account. A full count comes back evenly over its period. Names are of one account and mode: what is
// tried with a test key refuses no live request. The threads of an ingress process count together, several nodes do not.
import type { OtpOwner } from '../../../acceptance/otp/store.ts';
import { refusal } from '../../../acceptance/refusal.ts';
import type { MessageId } from '../../../model/ids.ts';
import { type Clock, epochUs, systemClock } from '../../../platform/clock.ts';
import type { Shares } from '../../../platform/limits-shares.ts';
import { type Pace, paceOf } from '../../../platform/gcra.ts';
import { limits } from '../../../platform/limits.ts';
import { perObject } from '../../../platform/per-object.ts';
import { RateTable } from '../../../platform/rate-table.ts';
import { metrics } from '../../../platform/telemetry.ts';
import type { OtpCounted, OtpDimension, OtpLimit, OtpLimits } from '../../../policy/otp/contract.ts';
import type { OtpRefusal, ReachedLimit } from '../../../policy/otp/number-limits.ts';
import { type Problem, problemOf } from '../../problem.ts';
import { problemOfLimits } from './otp-answer.ts';

/** Whom a request is about. `to` is null where the number is not known yet. */
export type OtpUser = OtpOwner & {
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
  readonly #startsOfEach: OtpLimit;
  readonly #ofEach: Pace;
  readonly #ofAll: Pace;

  constructor(memory: SharedArrayBuffer, shares: Shares, clock: Clock = systemClock) {
    const { perAccount, total } = shares.otp_started;
    this.#table = new RateTable(memory, limits.otp.ratePlacesRemembered);
    this.#shares = shares;
    this.#clock = clock;
    this.#startsOfEach = { count: perAccount, perMs: hourUs / 1_000 };
    this.#ofEach = paceOf(perAccount, hourUs, perAccount);
    this.#ofAll = paceOf(total, hourUs, total);
    for (const reason of ['account_full', 'full']) metrics.sharedBoundRefusals.inc({ bound: 'otp_started', reason }, 0);
  }

  /**
   * Counts one in every dimension that has room. Where another one refuses nothing is counted: a caller beyond one limit
   * uses up no other. A wrong guess is not refused here by what others guessed (`beyond`).
   */
  take(counted: OtpCounted, inEffect: OtpLimits, user: OtpUser): Taken | Refused {
    const nowUs = this.#nowUs();
    const counts: Counted[] = [];
    let beyond: OtpRefusal | null = null;
    for (const each of countedOf(counted, inEffect, user)) {
      const verdict = this.#table.take(each.name, paceOfLimit(each.limit), nowUs);
      if (verdict === null || verdict.ok) {
        counts.push(each);
        continue;
      }
      const refused = tooMany(counted, each, verdict.retryUs);
      if (!isOverOthers(counted, each.dimension)) {
        this.giveBack(counts);
        return { ok: false, refusal: refused };
      }
      if (beyond === null || waitOf(refused) > waitOf(beyond)) beyond = refused;
    }
    return { ok: true, counts, beyond };
  }

  /** What `take` has counted did not happen: no message was sent, or the guess was not wrong. */
  giveBack(counts: readonly Counted[]): void {
    const nowUs = this.#nowUs();
    for (const { name, limit } of counts) this.#table.giveBack(name, paceOfLimit(limit), nowUs);
  }

  /**
   * Whether no thread of this process has asked so for the message while its code may be valid: tries of one request that
   * send the same message are counted once. Their names are in the same table as the limits.
   */
  isFirst(messageId: MessageId): boolean {
    return this.#table.isFirst(`sent ${messageId}`, limits.otp.countedMs * 1_000, this.#nowUs());
  }

  /**
   * The account's share of records (limits.shares.otp_started), in each mode, and the bound of all accounts. Taken last: a
   * start that is refused before has none.
   */
  takeRecord(owner: OtpOwner): Problem | null {
    const own = this.#table.take(startsOf(owner), this.#ofEach, this.#nowUs());
    if (own !== null && !own.ok) {
      metrics.sharedBoundRefusals.inc({ bound: 'otp_started', reason: 'account_full' });
      const detail = `more than ${this.#shares.otp_started.perAccount} one-time passwords an hour of this account`;
      const reached = { counted: 'starts', dimension: 'account', limit: this.#startsOfEach } as const;
      return problemOfLimits(limited(detail, reached, own.retryUs));
    }
    const all = this.#table.take(allStarts, this.#ofAll, this.#nowUs());
    if (all === null || all.ok) return null;
    this.#table.giveBack(startsOf(owner), this.#ofEach, this.#nowUs());
    metrics.sharedBoundRefusals.inc({ bound: 'otp_started', reason: 'full' });
    return problemOf(refusal('overloaded', 'too many one-time passwords an hour', wholeSeconds(all.retryUs)));
  }

  /** The start wrote none. */
  giveBackRecord(owner: OtpOwner): void {
    this.#table.giveBack(startsOf(owner), this.#ofEach, this.#nowUs());
    this.#table.giveBack(allStarts, this.#ofAll, this.#nowUs());
  }

  #nowUs(): number {
    return epochUs(this.#clock.monotonicMs());
  }
}

/** A count under its name. */
type Counted = { readonly dimension: OtpDimension; readonly name: string; readonly limit: OtpLimit };

/**
 * `counts`: for `giveBack`. `beyond`: the refusal of a limit over others' guesses, for the rules of the number, which let its
 * first guess pass all the same (countGuess); null: none is reached.
 */
export type Taken = { readonly ok: true; readonly counts: readonly Counted[]; readonly beyond: OtpRefusal | null };
type Refused = { readonly ok: false; readonly refusal: OtpRefusal };

/** A limit of wrong guesses that strangers reach at other numbers of the account. */
function isOverOthers(counted: OtpCounted, dimension: OtpDimension): boolean {
  return counted === 'guesses' && (dimension === 'prefix' || dimension === 'account');
}

/** The counts of a request that are in memory: sends and wrong guesses of a number are in its record. */
function* countedOf(counted: OtpCounted, inEffect: OtpLimits, user: OtpUser): Generator<Counted> {
  for (const [dimension, name] of namesOf(user)) {
    if (dimension === 'number' && counted !== 'verifications') continue;
    yield { dimension, name: `${counted} ${name}`, limit: inEffect[counted][dimension] };
  }
}

/** The dimensions that a request has, with the name its count has. */
function* namesOf(user: OtpUser): Generator<readonly [OtpDimension, string]> {
  const { to, ip, device } = user;
  const owner = nameOf(user);
  if (to !== null) {
    yield ['number', `${owner} number ${to}`];
    yield ['prefix', `${owner} prefix ${to.slice(0, -prefixCutDigits)}`];
  }
  if (ip !== null) yield ['client_ip', `${owner} ip ${ip}`];
  if (device !== null) yield ['device_id', `${owner} device ${device}`];
  yield ['account', owner];
}

const nameOf = ({ accountId, livemode }: OtpOwner) => `${accountId} ${livemode ? 'live' : 'test'}`;
const allStarts = 'started';
const startsOf = (owner: OtpOwner) => `started ${nameOf(owner)}`;

function tooMany(counted: OtpCounted, { dimension, limit }: Counted, retryUs: number): OtpRefusal {
  const { count, perMs } = limit;
  const what = counted === 'guesses' ? 'wrong guesses' : counted;
  const whose = dimension === 'account' ? 'this account' : `this ${dimension}`;
  const detail = `more than ${count} ${what} in ${perMs / 1_000} s for ${whose}`;
  return limited(detail, { counted, dimension, limit }, retryUs);
}

function limited(detail: string, reached: ReachedLimit, retryUs: number): OtpRefusal {
  return { code: 'otp_rate_limited', detail, retryAfterS: wholeSeconds(retryUs), reached };
}

const waitOf = ({ retryAfterS }: OtpRefusal) => retryAfterS ?? 0;
const wholeSeconds = (us: number) => Math.max(1, Math.ceil(us / 1_000_000));

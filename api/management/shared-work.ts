// What accounts share of the management API: requests at a time, imports at a time, writes an hour. An account at its
// share gets its own 429 and takes nothing from others. Two writes of an account run at a time, because each locks the
// account's row: more would wait in the database, each with a connection that others need.
import { type Clock, epochUs, systemClock } from '../../platform/clock.ts';
import { DeadlineExceeded } from '../../platform/deadline.ts';
import { type Share, type Shares, defaultShares } from '../../platform/limits-shares.ts';
import { limits } from '../../platform/limits.ts';
import { SharedBound, type Taken } from '../../platform/shared-bound.ts';
import { metrics } from '../../platform/telemetry.ts';
import { AccountRates, paceOf } from '../../platform/gcra.ts';
import { type OrProblem, type Problem, problem } from '../problem.ts';
import type { Endpoint } from './endpoint.ts';

type Place = OrProblem<{ leave(): void }>;

type WorkKind = Pick<Endpoint, 'method' | 'isImport' | 'isExport' | 'whileSuspended'>;

export class SharedWork {
  readonly #requests: SharedBound;
  readonly #imports: SharedBound;
  readonly #exports: SharedBound;
  readonly #writes: WriteRate;
  readonly #turns = new WriteTurns();

  constructor(shares: Shares = defaultShares, clock: Clock = systemClock) {
    this.#requests = new SharedBound('management_requests', shares.management_requests);
    this.#imports = new SharedBound('management_imports', shares.management_imports);
    this.#exports = new SharedBound('exports_running', shares.exports_running);
    this.#writes = new WriteRate(shares.management_writes, clock);
  }

  /** Takes a slot before the body is read; `leave` returns it when the work has ended. */
  enter(account: string, { method, isImport, isExport, whileSuspended }: WorkKind): Place {
    const taken = this.#requests.take(account);
    if (taken !== 'taken') return refused(taken, 'management requests of this account are at work');
    const leaveRequest = () => this.#requests.giveBack(account);
    const long = isImport === true ? this.#imports : isExport === true ? this.#exports : null;
    const takenLong = long?.take(account) ?? 'taken';
    if (takenLong !== 'taken') {
      leaveRequest();
      return refused(takenLong, `${isImport === true ? 'imports' : 'exports'} of this account are at work`);
    }
    const leave = () => {
      long?.giveBack(account);
      leaveRequest();
    };
    // Revoking a key must always be possible; the number of keys bounds it.
    const late = method === 'get' || whileSuspended === true ? null : this.#writes.refuse(account);
    if (late === null) return { ok: true, leave };
    leave();
    return { ok: false, problem: late };
  }

  /** Runs a write when it is the account's turn. */
  write<T>(account: string, work: () => Promise<T>): Promise<T> {
    return this.#turns.run(account, work);
  }
}

function refused(taken: Exclude<Taken, 'taken'>, what: string): Place {
  return taken === 'account_full'
    ? { ok: false, problem: problem(429, 'account_busy', `too many ${what}: the limit of one account`, 1) }
    : { ok: false, problem: problem(503, 'overloaded', 'too many management requests are running', 1) };
}

const hourUs = 3_600_000_000;
const accountsMax = 10_000;

/** Limits writes an hour: each adds an audit record that is never deleted. A whole hour's share may come at once. */
export class WriteRate {
  readonly #share: Share;
  readonly #clock: Clock;
  readonly #rates: AccountRates;

  constructor(share: Share, clock: Clock = systemClock) {
    this.#share = share;
    this.#clock = clock;
    const ofAccount = paceOf(share.perAccount, hourUs, share.perAccount);
    this.#rates = new AccountRates(ofAccount, accountsMax, paceOf(share.total, hourUs, share.total));
    for (const reason of ['account_full', 'full'])
      metrics.sharedBoundRefusals.inc({ bound: 'management_writes', reason }, 0);
  }

  /** Null when the account may write now; that counts as a write. */
  refuse(account: string): Problem | null {
    const refusal = this.#rates.take(account, epochUs(this.#clock.monotonicMs()));
    if (refusal === null) return null;
    const retryS = Math.ceil(refusal.retryUs / 1_000_000);
    metrics.sharedBoundRefusals.inc({ bound: 'management_writes', reason: refusal.reason });
    if (refusal.reason === 'full') {
      return problem(503, 'overloaded', 'more changes an hour than this installation allows', retryS);
    }
    const detail = `more than ${this.#share.perAccount} changes an hour for this account`;
    return problem(429, 'rate_limited', detail, retryS);
  }
}

type Waiting = { readonly endsAtMs: number; readonly begin: () => void; readonly giveUp: () => void };

/** Runs at most `writesAtOnce` writes of one account at a time; the others wait in order. */
export class WriteTurns {
  readonly #clock: Clock;
  readonly #running = new Map<string, number>();
  readonly #waiting = new Map<string, Waiting[]>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  async run<T>(account: string, work: () => Promise<T>): Promise<T> {
    await this.#turn(account);
    try {
      return await work();
    } finally {
      this.#next(account);
    }
  }

  #turn(account: string): Promise<void> {
    const running = this.#running.get(account) ?? 0;
    if (running < limits.management.writesAtOnce) {
      this.#running.set(account, running + 1);
      return Promise.resolve();
    }
    const { requestDeadlineMs } = limits.management;
    return new Promise((resolve, reject) => {
      const waiting = this.#waiting.get(account) ?? [];
      this.#waiting.set(account, waiting);
      waiting.push({
        endsAtMs: this.#clock.monotonicMs() + requestDeadlineMs,
        begin: resolve,
        giveUp: () => reject(new DeadlineExceeded('an earlier change of the account', requestDeadlineMs)),
      });
    });
  }

  /** A write whose request was already answered with a timeout must not run. */
  #next(account: string): void {
    const waiting = this.#waiting.get(account) ?? [];
    for (let next = waiting.shift(); next !== undefined; next = waiting.shift()) {
      if (next.endsAtMs > this.#clock.monotonicMs()) return next.begin();
      next.giveUp();
    }
    this.#waiting.delete(account);
    const running = (this.#running.get(account) ?? 1) - 1;
    if (running === 0) this.#running.delete(account);
    else this.#running.set(account, running);
  }
}

// What accounts share of the management API: requests at a time, imports at a time, writes an hour. An account at its
// share gets its own 429 and takes nothing from others. Requests that wait for another process have a share of their own:
// a receiver of webhooks that hangs must not keep an account from revoking a key. Two writes of an account run in the
// database at a time, because each locks the account's row: more would wait there, each with a connection that others need.
import { type Cancel, type Clock, epochUs, systemClock } from '../../platform/clock.ts';
import { type Share, type Shares, defaultShares } from '../../platform/limits-shares.ts';
import { limits } from '../../platform/limits.ts';
import { SharedBound, type Taken } from '../../platform/shared-bound.ts';
import { metrics } from '../../platform/telemetry.ts';
import { AccountRates, paceOf } from '../../platform/gcra.ts';
import { type OrProblem, type Problem, problem } from '../problem.ts';
import type { Endpoint, HandlerResult } from './endpoint.ts';

type Place = OrProblem<{ leave(): void }>;

type WorkKind = Pick<Endpoint, 'method' | 'isImport' | 'isExport' | 'waitsForOthers' | 'whileSuspended'>;

export class SharedWork {
  readonly #requests: SharedBound;
  readonly #waits: SharedBound;
  readonly #imports: SharedBound;
  readonly #exports: SharedBound;
  readonly #writes: WriteRate;
  readonly #turns: WriteTurns;

  constructor(shares: Shares = defaultShares, clock: Clock = systemClock) {
    this.#requests = new SharedBound('management_requests', shares.management_requests);
    this.#waits = new SharedBound('management_waits', shares.management_waits);
    this.#imports = new SharedBound('management_imports', shares.management_imports);
    this.#exports = new SharedBound('exports_running', shares.exports_running);
    this.#writes = new WriteRate(shares.management_writes, clock);
    this.#turns = new WriteTurns(clock);
  }

  /** Takes a slot before the body is read; `leave` returns it when the work has ended. */
  enter(account: string, { method, isImport, isExport, waitsForOthers, whileSuspended }: WorkKind): Place {
    const requests = waitsForOthers === true ? this.#waits : this.#requests;
    const taken = requests.take(account);
    if (taken !== 'taken') return refused(taken, `management requests of this account ${whatTheyDo(waitsForOthers)}`);
    const leaveRequest = () => requests.giveBack(account);
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

  /** Runs a write in the database when it is the account's turn; a refusal when that takes too long. */
  async write(account: string, work: () => Promise<HandlerResult>): Promise<HandlerResult> {
    return (await this.#turns.run(account, work)) ?? { problem: noTurn };
  }
}

const whatTheyDo = (waitsForOthers: true | undefined) =>
  waitsForOthers === true ? 'wait for another process' : 'are at work';

/** Nothing of it was done. */
const noTurn = problem(429, 'account_busy', 'earlier changes of this account are still being made', 1);

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

type Waiting = { readonly begin: () => void; readonly cancel: Cancel };

/** Runs at most `writesAtOnce` writes of one account at a time; the others wait in order, `turnWaitMs` at most. */
export class WriteTurns {
  readonly #clock: Clock;
  /** How many of an account run: between one and `writesAtOnce`. */
  readonly #running = new Map<string, number>();
  /** Only of accounts of which `writesAtOnce` run. */
  readonly #waiting = new Map<string, Set<Waiting>>();

  constructor(clock: Clock = systemClock) {
    this.#clock = clock;
  }

  /** Null: its turn did not come in time, and it is not run. */
  async run<T>(account: string, work: () => Promise<T>): Promise<T | null> {
    if (!(await this.#turn(account))) return null;
    try {
      return await work();
    } finally {
      this.#next(account);
    }
  }

  #turn(account: string): Promise<boolean> {
    const running = this.#running.get(account) ?? 0;
    if (running < limits.management.writesAtOnce) {
      this.#running.set(account, running + 1);
      return Promise.resolve(true);
    }
    const waiting = this.#waiting.get(account) ?? new Set();
    this.#waiting.set(account, waiting);
    return new Promise((resolve) => {
      const cancel = this.#clock.after(limits.management.turnWaitMs, () => {
        waiting.delete(one);
        resolve(false);
      });
      const one: Waiting = { begin: () => resolve(true), cancel };
      waiting.add(one);
    });
  }

  /** The place of one that has ended goes to the one that has waited longest. */
  #next(account: string): void {
    const waiting = this.#waiting.get(account) ?? new Set();
    for (const next of waiting) {
      waiting.delete(next);
      next.cancel();
      return next.begin();
    }
    this.#waiting.delete(account);
    const running = (this.#running.get(account) ?? 1) - 1;
    if (running === 0) this.#running.delete(account);
    else this.#running.set(account, running);
  }
}

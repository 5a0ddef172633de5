// How much each account has waiting in SCHEDULED: one record per account in the bucket `scheduled` with the units due
// in each hour, written by compare-and-set before a message is published. So the bound holds over threads, nodes and
// crashes: a crash after the count leaves a unit counted until its hour is over. Nothing is subtracted when messages
// leave; past hours no longer count. No message passes uncounted.
import { assert } from '../../platform/assert.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import type { Share } from '../../platform/limits-shares.ts';
import { limits } from '../../platform/limits.ts';
import { secretBytes } from '../../platform/random.ts';
import { metrics } from '../../platform/telemetry.ts';
import { expectSequence } from './bucket.ts';
import type { Bus } from './connect.ts';
import type { Publisher } from './publisher.ts';
import { streamOfBucket, subjectInBucket } from './streams.ts';
import { hourOf } from './subjects.ts';

/** account_full: the account is at its share · unavailable: unknown; the message may or may not be counted. */
export type ScheduledTaken = 'taken' | 'account_full' | 'unavailable';

/** For an account at its share: its units, and when the first counted hour ends. */
export type FullShare = { readonly units: number; readonly perAccount: number; readonly availableAtMs: number };
type Done = (taken: ScheduledTaken, full?: FullShare) => void;

/** Units of messages due in one hour since 1970. */
type Units = { readonly hour: number; readonly units: number };
type Asked = Units & {
  readonly endsAtMs: number;
  readonly done: Done;
};
type Hours = ReadonlyMap<number, number>;
/** The record as last read or written. */
type Known = { readonly revision: number; readonly hours: Hours; readonly mark: string; readonly readAtMs: number };
type Account = { known: Known | null; asked: Asked[]; returned: Units[]; working: boolean };

const stream = streamOfBucket('scheduled');
const { countMs, accountsMax, refusalMs, gatheredMax, unitBytes, recordBytes } = limits.scheduled;
const markBytes = 6;
const hourMs = 3_600_000;

/** The units of a message: usually one; a message of ten segments takes four. */
export function unitsOf(payload: Uint8Array): number {
  return Math.ceil((payload.length + recordBytes) / unitBytes);
}

export class ScheduledShares {
  readonly #bus: Bus;
  readonly #publisher: Publisher;
  readonly #clock: Clock;
  readonly #accounts = new Map<string, Account>();
  #perAccount: number;

  constructor(bus: Bus, publisher: Publisher, share: Share, clock: Clock = systemClock) {
    this.#bus = bus;
    this.#publisher = publisher;
    this.#perAccount = share.perAccount;
    this.#clock = clock;
    for (const reason of ['account_full', 'unavailable'])
      metrics.sharedBoundRefusals.inc({ bound: 'scheduled_messages', reason }, 0);
  }

  /** Calls `done` once, within countMs and never before returning; `full` comes with 'account_full'. */
  take(accountId: string, dueAtMs: number, units: number, done: Done): void {
    const account = this.#accountOf(accountId);
    const endsAtMs = this.#clock.monotonicMs() + countMs;
    account.asked.push({ hour: hourOf(Math.floor(dueAtMs / 1_000)), units, endsAtMs, done });
    void this.#work(accountId, account);
  }

  /** Returns units of a message that was certainly not published. A crash before the next `take` loses it. */
  giveBack(accountId: string, dueAtMs: number, units: number): void {
    const account = this.#accountOf(accountId);
    account.returned.push({ hour: hourOf(Math.floor(dueAtMs / 1_000)), units });
    void this.#work(accountId, account);
  }

  async #work(accountId: string, account: Account): Promise<void> {
    if (account.working) return;
    account.working = true;
    // All requests of this turn of the event loop share one write.
    await Promise.resolve();
    try {
      while (account.asked.length > 0 || account.returned.length > 0) await this.#count(accountId, account);
    } finally {
      account.working = false;
    }
  }

  /** One write for all requests that came meanwhile. */
  async #count(accountId: string, account: Account): Promise<void> {
    const asked = account.asked.splice(0, gatheredMax);
    const returned = account.returned.splice(0);
    const endsAtMs = asked[0]?.endsAtMs ?? this.#clock.monotonicMs() + countMs;
    try {
      for (let tries = 0; this.#clock.monotonicMs() < endsAtMs; tries += 1) {
        account.known ??= await this.#read(accountId, endsAtMs);
        const { known } = account;
        const { hours, taken, refused } = decide(known.hours, asked, returned, this.#hourNow(), this.#perAccount);
        if (refused.length > 0 && this.#clock.monotonicMs() - known.readAtMs > refusalMs) {
          // Others may have given back units since.
          account.known = null;
          continue;
        }
        if (taken.length > 0 || returned.length > 0) {
          account.known = await this.#write(accountId, known, hours, endsAtMs);
          if (account.known === null) {
            // Another thread or node was first: back off at random, longer with each try.
            await this.#clock.sleep((secretBytes(1)[0] ?? 0) % (2 + 2 * tries));
            continue;
          }
        }
        for (const each of refused) this.#refuse(each, 'account_full', fullShareOf(hours, this.#perAccount));
        for (const each of taken) each.done('taken');
        return;
      }
    } catch (error) {
      ignoring(error, 'the scheduled messages of an account cannot be counted now: scheduled messages are refused');
    }
    account.known = null;
    for (const each of asked) this.#refuse(each, 'unavailable');
  }

  async #read(accountId: string, endsAtMs: number): Promise<Known> {
    const query = { last_by_subj: subjectInBucket('scheduled', accountId) };
    const leftMs = Math.max(1, endsAtMs - this.#clock.monotonicMs());
    const readAtMs = this.#clock.monotonicMs();
    const stored = await withDeadline(
      'what an account has scheduled',
      leftMs,
      this.#bus.manager.streams.getMessage(stream, query),
      this.#clock,
    );
    if (stored === null) return { revision: 0, hours: new Map(), mark: '', readAtMs };
    return { revision: stored.seq, ...recordOf(stored.data), readAtMs };
  }

  /** Null: another process has written since the read. */
  async #write(accountId: string, known: Known, hours: Hours, endsAtMs: number): Promise<Known | null> {
    const mark = secretBytes(markBytes).toString('hex');
    const payload = Buffer.from(JSON.stringify({ mark, hours: Object.fromEntries(hours) }));
    const result = await this.#publisher.publishOne(
      subjectInBucket('scheduled', accountId),
      payload,
      null,
      expectSequence(known.revision),
    );
    const readAtMs = this.#clock.monotonicMs();
    if (result.ok) return { revision: result.seq, hours, mark, readAtMs };
    if (result.failure !== 'conflict') throw new Error(`not counted: ${result.failure}`);
    const now = await this.#read(accountId, endsAtMs);
    // The first try was stored although no answer came.
    return now.mark === mark ? now : null;
  }

  #refuse({ done }: Asked, reason: 'account_full' | 'unavailable', full?: FullShare): void {
    metrics.sharedBoundRefusals.inc({ bound: 'scheduled_messages', reason });
    done(reason, full);
  }

  #hourNow(): number {
    return hourOf(Math.floor(this.#clock.nowMs() / 1_000));
  }

  #accountOf(accountId: string): Account {
    let account = this.#accounts.get(accountId);
    if (account !== undefined) return account;
    account = { known: null, asked: [], returned: [], working: false };
    this.#accounts.set(accountId, account);
    if (this.#accounts.size > accountsMax) this.#forgetOne();
    return account;
  }

  /** A forgotten account is read again when needed. */
  #forgetOne(): void {
    for (const [accountId, { working, asked, returned }] of this.#accounts) {
      if (working || asked.length > 0 || returned.length > 0) continue;
      this.#accounts.delete(accountId);
      return;
    }
  }
}

/** The new hours: without those that are over and the units given back, and with each request that fits. */
export function decide<Asks extends Units>(
  before: Hours,
  asked: readonly Asks[],
  returned: readonly Units[],
  hourNow: number,
  perAccount: number,
): { readonly hours: Hours; readonly taken: readonly Asks[]; readonly refused: readonly Asks[] } {
  const hours = new Map([...before].filter(([hour, units]) => hour >= hourNow && units > 0));
  for (const { hour, units } of returned) {
    const left = Math.max(0, (hours.get(hour) ?? 0) - units);
    if (left === 0) hours.delete(hour);
    else hours.set(hour, left);
  }
  let sum = [...hours.values()].reduce((total, units) => total + units, 0);
  const taken: Asks[] = [];
  const refused: Asks[] = [];
  for (const each of asked) {
    if (sum + each.units > perAccount) {
      refused.push(each);
      continue;
    }
    sum += each.units;
    hours.set(each.hour, (hours.get(each.hour) ?? 0) + each.units);
    taken.push(each);
  }
  return { hours, taken, refused };
}

function fullShareOf(hours: Hours, perAccount: number): FullShare {
  const units = [...hours.values()].reduce((total, each) => total + each, 0);
  return { units, perAccount, availableAtMs: (Math.min(...hours.keys()) + 1) * hourMs };
}

function recordOf(data: Uint8Array): { readonly hours: Hours; readonly mark: string } {
  const { mark, hours } = JSON.parse(Buffer.from(data).toString('utf8')) as { mark?: unknown; hours?: unknown };
  assert(typeof mark === 'string' && typeof hours === 'object' && hours !== null, 'not a count of scheduled messages');
  const counted = Object.entries(hours).map(([hour, units]) => [Number(hour), Number(units)] as const);
  assert(counted.flat().every(Number.isSafeInteger), 'not a count of scheduled messages');
  return { mark, hours: new Map(counted) };
}

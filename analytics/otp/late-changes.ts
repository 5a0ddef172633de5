// Notes in the event store that rows of one-time passwords changed in a time that may have been summarized (summarizer.ts).
// A recorder calls it when its rows can be read and before they are acked. So a note is never there before its rows, and
// rows never stay without one: what is killed between the two is recorded again. Rows of the present, which are nearly all,
// cost no insert.
import type { Clock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { messagesAfterMs, messagesBeforeMs } from '../reports/otp-rows.ts';
import type { Engine } from '../store/engine.ts';
import { tsvRow } from '../store/tab-separated.ts';

const { spanMs, lateMs, beforeExpiryMs } = limits.otpSummaries;
const dayMs = 86_400_000;

/** Ten minutes of starts of one account and mode. */
export type OtpTime = { readonly accountId: string; readonly livemode: boolean; readonly fromMs: number };

/** The times whose one-time passwords a set of rows is about, each once. */
export class ChangedTimes {
  readonly #live = new Map<string, Set<number>>();
  readonly #test = new Map<string, Set<number>>();

  /** A row of `otps`. */
  ofOtp(accountId: string, livemode: boolean, startedAtMs: number): void {
    this.#add(accountId, livemode, Math.floor(startedAtMs / spanMs));
  }

  /** A row of `otp_messages`: its one-time password was started some minutes around. */
  ofMessage(accountId: string, livemode: boolean, acceptedAtMs: number): void {
    const last = Math.floor((acceptedAtMs + messagesBeforeMs) / spanMs);
    for (let nth = Math.floor((acceptedAtMs - messagesAfterMs) / spanMs); nth <= last; nth += 1) {
      this.#add(accountId, livemode, nth);
    }
  }

  #add(accountId: string, livemode: boolean, nth: number): void {
    const byAccount = livemode ? this.#live : this.#test;
    const known = byAccount.get(accountId);
    if (known === undefined) byAccount.set(accountId, new Set([nth]));
    else known.add(nth);
  }

  *all(): Iterable<OtpTime> {
    for (const [livemode, byAccount] of [[true, this.#live] as const, [false, this.#test] as const]) {
      for (const [accountId, times] of byAccount) {
        for (const nth of times) yield { accountId, livemode, fromMs: nth * spanMs };
      }
    }
  }
}

export type LateChanges = {
  /** Resolves when the late ones of these changes are noted. */
  note(changed: ChangedTimes): Promise<void>;
  /** The same for all of these. */
  noteAll(times: readonly OtpTime[]): Promise<void>;
  /** All up to this time is being summarized: its changes are late from now on. */
  summarizing(toMs: number): void;
  /** Those noted since the last call, some twice. Not `isAll`: there were more. */
  taken(): { readonly times: readonly OtpTime[]; readonly isAll: boolean };
};

/** Of times whose rows expire nothing is noted: their summary stays as it is. */
export function keptFromMs(historyDays: number, clock: Clock): number {
  return Math.ceil((clock.nowMs() - historyDays * dayMs + beforeExpiryMs) / spanMs) * spanMs;
}

export function lateChangesOver(engine: Engine, historyDays: number, clock: Clock): LateChanges {
  let noted: OtpTime[] = [];
  let isAll = true;
  let summarizedToMs = 0;

  async function noteAll(late: readonly OtpTime[]): Promise<void> {
    if (late.length === 0) return;
    const rows = late.map((time) => tsvRow([time.accountId, time.livemode, time.fromMs / 1_000, 1]));
    await engine.insert(into, Buffer.from(rows.join('')));
    noted.push(...late);
    if (noted.length <= notedMax) return;
    noted = noted.slice(-notedMax);
    isAll = false;
  }

  return {
    note(changed) {
      // The rows can be read by now: what is no late change is summarized later. A clock that was ahead may have summarized
      // more.
      const lateBeforeMs = Math.max(clock.nowMs() - lateMs, summarizedToMs) - spanMs;
      const fromMs = keptFromMs(historyDays, clock);
      return noteAll([...changed.all()].filter((time) => time.fromMs <= lateBeforeMs && time.fromMs >= fromMs));
    },
    noteAll,
    summarizing(toMs) {
      summarizedToMs = Math.max(summarizedToMs, toMs);
    },
    taken() {
      const taken = { times: noted, isAll };
      noted = [];
      isAll = true;
      return taken;
    },
  };
}

/** Two with the same rows are two changes, also where a server would take the second one for a repeat of the first. */
const into = 'otp_late_changes (account_id, livemode, ten_minutes, changes) SETTINGS insert_deduplicate = 0';

const notedMax = limits.otpSummaries.lateAtOnceMax;

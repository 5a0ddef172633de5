// Which clicks are kept. A client that knows a link needs no key and may open it in a loop, so clicks of one code and
// of one account have a rate, and all together a part of CLICKS: messages with links need the rest of it. A request
// beyond these bounds is redirected all the same; its click is lost and counted.
import type { StreamSpace } from '../../cluster/bus/stream-space.ts';
import type { AccountId } from '../../model/ids.ts';
import { type CodePlace, codeNumber } from '../../model/link-code.ts';
import { type Clock, epochUs } from '../../platform/clock.ts';
import { type Pace, paceOf, takeTurn } from '../../platform/gcra.ts';
import type { Share } from '../../platform/limits-shares.ts';
import { limits } from '../../platform/limits.ts';
import { RateTable } from '../../platform/rate-table.ts';
import { RotatingMap } from '../../platform/rotating-map.ts';
import { metrics } from '../../platform/telemetry.ts';

type Parts = {
  /** Of CLICKS. */
  readonly space: Pick<StreamSpace, 'isFull'>;
  /** `clicks_kept`, counted in memory that the threads of this process share. */
  readonly share: Share;
  readonly rateMemory: SharedArrayBuffer;
  readonly clock: Clock;
};

/** `lost`: by the bound that was reached. */
type Taken = { readonly kept: number; readonly lost: Readonly<Record<'account' | 'full', number>> };

const { codePerSecond, codeBurst, codesWatchedMax } = limits.clicks;
const codePace = paceOf(codePerSecond, 1_000_000, codeBurst);
/** After this long without a click a whole burst is available again. */
const codeMemoryMs = Math.ceil((codeBurst / codePerSecond) * 1_000);
const hourUs = 3_600_000_000;

export class ClickBounds {
  readonly #space: Pick<StreamSpace, 'isFull'>;
  readonly #clock: Clock;
  readonly #codes: RotatingMap<number, number>;
  readonly #table: RateTable;
  readonly #ofEach: Pace;
  readonly #ofAll: Pace;

  constructor({ space, share: { perAccount, total }, rateMemory, clock }: Parts) {
    this.#space = space;
    this.#clock = clock;
    this.#codes = new RotatingMap(codeMemoryMs, codesWatchedMax / 2, clock);
    this.#table = new RateTable(rateMemory);
    this.#ofEach = paceOf(perAccount, hourUs, perAccount);
    this.#ofAll = paceOf(total, hourUs, total);
    for (const reason of ['account_full', 'full']) metrics.sharedBoundRefusals.inc({ bound: 'clicks_kept', reason }, 0);
  }

  /** Why the click of a redirect is not kept; null: it may be. A link that is opened in a loop takes nothing of its account's rate. */
  refuse(place: CodePlace): 'code' | 'full' | null {
    if (!this.#takeOfCode(place, epochUs(this.#clock.monotonicMs()))) return 'code';
    return this.#space.isFull ? 'full' : null;
  }

  /** Of so many clicks of an account, how many may be kept. They are counted together: each count takes a microsecond or two. */
  take(accountId: AccountId, count: number): Taken {
    const nowUs = epochUs(this.#clock.monotonicMs());
    const name = `clicks ${accountId}`;
    const own = this.#taken(name, this.#ofEach, nowUs, count);
    const kept = this.#taken('clicks', this.#ofAll, nowUs, own);
    if (kept < own) this.#table.giveBack(name, this.#ofEach, nowUs, own - kept);
    const lost = { account: count - own, full: own - kept };
    if (lost.account > 0)
      metrics.sharedBoundRefusals.inc({ bound: 'clicks_kept', reason: 'account_full' }, lost.account);
    if (lost.full > 0) metrics.sharedBoundRefusals.inc({ bound: 'clicks_kept', reason: 'full' }, lost.full);
    return { kept, lost };
  }

  #taken(name: string, pace: Pace, nowUs: number, count: number): number {
    if (count === 0) return 0;
    const verdict = this.#table.take(name, pace, nowUs, count);
    if (verdict === null || verdict.ok) return count;
    const left = Math.min(count, verdict.remaining);
    return left > 0 && this.#table.take(name, pace, nowUs, left)?.ok !== false ? left : 0;
  }

  #takeOfCode(place: CodePlace, nowUs: number): boolean {
    const code = codeNumber(place);
    const turn = takeTurn(codePace, this.#codes.get(code) ?? 0, nowUs);
    if (turn.ok) this.#codes.set(code, turn.arrivalUs);
    return turn.ok;
  }
}

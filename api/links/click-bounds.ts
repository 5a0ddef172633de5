// Which clicks are kept. A client that knows a link needs no key and may open it in a loop, so clicks of one code and
// of one account have a rate, and all together a part of CLICKS: messages with links need the rest of it. What is beyond
// is redirected all the same, and its click is lost and counted.
import type { StreamSpace } from '../../cluster/bus/stream-space.ts';
import type { AccountId } from '../../model/ids.ts';
import type { CodePlace } from '../../model/link-code.ts';
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

  /** Null when the click is to be kept; else why not. One link that is opened in a loop takes nothing of its account's rate. */
  refuse(place: CodePlace, accountId: AccountId): 'code' | 'account' | 'full' | null {
    const nowUs = epochUs(this.#clock.monotonicMs());
    if (!this.#takeOfCode(place, nowUs)) return 'code';
    if (this.#space.isFull) return 'full';
    if (this.#table.take(`clicks ${accountId}`, this.#ofEach, nowUs)?.ok === false) {
      metrics.sharedBoundRefusals.inc({ bound: 'clicks_kept', reason: 'account_full' });
      return 'account';
    }
    if (this.#table.take('clicks', this.#ofAll, nowUs)?.ok !== false) return null;
    metrics.sharedBoundRefusals.inc({ bound: 'clicks_kept', reason: 'full' });
    return 'full';
  }

  #takeOfCode({ series, index }: CodePlace, nowUs: number): boolean {
    const code = series * limits.links.seriesSizeMax + index;
    const turn = takeTurn(codePace, this.#codes.get(code) ?? 0, nowUs);
    if (turn.ok) this.#codes.set(code, turn.arrivalUs);
    return turn.ok;
  }
}

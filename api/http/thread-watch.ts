// Detects blocked listening threads. Each thread reports once a second to the process's main thread, which carries no
// traffic. A blocked thread cannot be ended alone, because uWebSockets.js ends the process with it: after a while the
// role exits and the supervisor restarts it. Silence is counted in checks of the main thread, not in time, so that a
// process that was suspended as a whole has no blocked thread.
import { limits } from '../../platform/limits.ts';

const { reportLooks, giveUpLooks } = limits.http.blockedThread;

export type Blocked = {
  readonly index: number;
  readonly looks: number;
  /** It will not come back: the role ends. */
  readonly isHopeless: boolean;
};

export class ThreadWatch {
  readonly #silentLooks = new Map<number, number>();

  /** A thread said that it turns; from the first time on it is watched. */
  heard(index: number): void {
    this.#silentLooks.set(index, 0);
  }

  /** Once for each time in which a thread should have been heard. */
  look(): void {
    for (const [index, looks] of this.#silentLooks) this.#silentLooks.set(index, looks + 1);
  }

  /** The thread that has been silent longest, if it is blocked; null while all turn. */
  blocked(): Blocked | null {
    let worst: Blocked | null = null;
    for (const [index, looks] of this.#silentLooks) {
      if (looks >= reportLooks && looks > (worst?.looks ?? 0))
        worst = { index, looks, isHopeless: looks >= giveUpLooks };
    }
    return worst;
  }
}

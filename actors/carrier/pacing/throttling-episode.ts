// Tells in the log that a carrier takes clearly less than its contract says, once for as long as it does: complaints come
// and go by the second, a contract that is wrong stays. It slows nothing itself.
import type { Pace } from '../../../cluster/operator-commands/contract.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';

export class ThrottlingEpisode {
  readonly #carrier: string;
  /** At its whole rate since then; null while no spell is told of. */
  #wholeSinceMs: number | null = null;

  constructor(carrier: string) {
    this.#carrier = carrier;
  }

  /** Every second. Gives what was told. */
  look({ perS, ofPerS, slowedBy }: Pace, nowMs: number): 'began' | 'ended' | null {
    const { slowedShare, slowedEndMs } = limits.carrierHealth;
    const carrier = this.#carrier;
    if (this.#wholeSinceMs === null) {
      if (slowedBy === '' || perS >= slowedShare * ofPerS) return null;
      this.#wholeSinceMs = nowMs;
      const facts = { carrier, status: slowedBy, perS: Math.round(perS), ofPerS };
      log.warn({ alarm: 'carrier_throttles', ...facts }, 'the carrier takes less than its contract says');
      return 'began';
    }
    if (slowedBy !== '') this.#wholeSinceMs = nowMs;
    if (nowMs - this.#wholeSinceMs < slowedEndMs) return null;
    this.#wholeSinceMs = null;
    log.warn({ carrier, ofPerS }, 'the carrier takes its whole contract again');
    return 'ended';
  }
}

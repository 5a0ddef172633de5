// Logs once that a carrier accepts clearly less than its contract, for as long as it does: single throttled seconds
// pass, a wrong contract stays. It does not lower the rate.
import type { Pace } from '../../../cluster/operator-commands/contract.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';

export class ThrottlingEpisode {
  readonly #carrier: string;
  /** At its whole rate since then; null while no episode is logged. */
  #wholeSinceMs: number | null = null;

  constructor(carrier: string) {
    this.#carrier = carrier;
  }

  /** Called every second. Returns what was logged. */
  look({ perS, ofPerS, slowedBy }: Pace, nowMs: number): 'began' | 'ended' | null {
    const { slowedShare, slowedEndMs } = limits.carrierHealth;
    const carrier = this.#carrier;
    if (this.#wholeSinceMs === null) {
      if (slowedBy === '' || perS >= slowedShare * ofPerS) return null;
      this.#wholeSinceMs = nowMs;
      const facts = { carrier, status: slowedBy, perS: Math.round(perS), ofPerS };
      log.warn({ alarm: 'carrier_throttles', ...facts }, 'the carrier accepts less than its contract');
      return 'began';
    }
    if (slowedBy !== '') this.#wholeSinceMs = nowMs;
    if (nowMs - this.#wholeSinceMs < slowedEndMs) return null;
    this.#wholeSinceMs = null;
    log.warn({ carrier, ofPerS }, 'the carrier accepts its whole contract again');
    return 'ended';
  }
}

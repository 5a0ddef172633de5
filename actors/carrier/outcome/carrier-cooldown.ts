// What a refusal asks for on behalf of the carrier, whatever becomes of the message: less of its rate, a rest, or none of
// our traffic until somebody has looked. The same for a refusal in time and for one that comes late.
import type { CarrierConfig } from '../../../config/configuration.ts';
import type { Clock } from '../../../platform/clock.ts';
import { log } from '../../../platform/log.ts';
import type { Pacing } from '../pacing/pacing.ts';
import type { Outcome } from './outcome.ts';

export type CooldownParts = {
  readonly carrier: Pick<CarrierConfig, 'name'>;
  readonly pacing: Pick<Pacing, 'pauseUntil' | 'slowDown'>;
  readonly clock: Clock;
};

export function coolDownCarrier({ carrier, pacing, clock }: CooldownParts, outcome: Outcome, statusName: string): void {
  const nowMs = clock.monotonicMs();
  if (outcome.action === 'stop') {
    log.error(
      { alarm: 'carrier_refuses_us', carrier: carrier.name, status: statusName },
      'the carrier refuses this account',
    );
    return pacing.pauseUntil(nowMs + outcome.afterMs);
  }
  if (outcome.action !== 'later' && outcome.action !== 'next') return;
  if (outcome.slower) pacing.slowDown(nowMs, statusName);
  if (outcome.pauseMs > 0) pacing.pauseUntil(nowMs + outcome.pauseMs);
}

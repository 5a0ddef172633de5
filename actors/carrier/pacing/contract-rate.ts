// What the contract with a carrier allows, as heliograph.yaml says it.
import type { CarrierConfig } from '../../../config/configuration.ts';

/** Segments per second over all its binds. */
export function contractOf(carrier: Pick<CarrierConfig, 'tps' | 'tpsScope' | 'binds'>): number {
  return carrier.tpsScope === 'bind' ? carrier.tps * bindCount(carrier) : carrier.tps;
}

function bindCount({ binds }: Pick<CarrierConfig, 'binds'>): number {
  return binds.filter((bind) => bind.type !== 'receiver').reduce((sum, bind) => sum + bind.count, 0);
}

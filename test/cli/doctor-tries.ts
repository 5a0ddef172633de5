// The doctor's connection test, and a simulator for it, for the tests of both kinds.
import { onTestFinished } from 'vitest';
import { type CarrierCheck, examineCarriers } from '../../cli/doctor-carriers.ts';
import type { BindConfig } from '../../config/configuration.ts';
import type { SimulatorOptions } from '../../smpp/simulator/options.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';
import { carrierWith } from '../support/carrier-harness.ts';

/** Ends with the test. */
export async function simulator(options: Partial<SimulatorOptions> = {}): Promise<Simulator> {
  const started = await startSimulator({ magic: false, ...options });
  onTestFinished(() => started.close());
  return started;
}

export async function look(port: number, bind: Partial<BindConfig> = {}, changes: Partial<CarrierCheck> = {}) {
  const check = {
    carriers: [carrierWith({ port }, { bind })],
    force: false,
    natsUrl: null,
    isRunning: false,
    // A step without an answer takes this long; an answered one must not, even on a busy machine.
    stepMs: 2_000,
    ...changes,
  };
  return examineCarriers(check);
}

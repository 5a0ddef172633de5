// The shape of heliograph.yaml after parsing: camelCase, every default filled in, every reference checked. Its types are
// those of the schema (schema.ts), which says what each key means; a role can import them without loading the parser.
// heliograph.yaml explains the keys to operators.
import type { z } from 'zod';
import type { BindConfig } from './bind-schema.ts';
import type { CarrierConfig, configurationSchema } from './schema.ts';

export type { BindConfig } from './bind-schema.ts';
export type { CountryConfig } from './country-schema.ts';
export { sandboxCarrierName } from './sandbox.ts';
export type { CarrierConfig, CarrierErrorAction, SimulatorConfig } from './schema.ts';

export type Configuration = z.infer<ReturnType<typeof configurationSchema>>;
export type TlsConfig = Exclude<BindConfig['tls'], false>;

/** Carriers that are not simulated: messages to them may reach a handset. */
export function realCarriers(carriers: readonly Pick<CarrierConfig, 'name' | 'simulate'>[]): string[] {
  return carriers.filter(({ simulate }) => simulate === null).map(({ name }) => name);
}

/** Ports of the simulators by carrier; the supervisor passes them to the roles. */
export type SimulatedPorts = Record<string, number>;

/** The binds of a carrier: one entry per session, `count` expanded. */
export function bindsOf(carrier: CarrierConfig, simulated: SimulatedPorts): (BindConfig & { name: string })[] {
  const port = simulated[carrier.name];
  return carrier.binds
    .flatMap((bind) => Array.from({ length: bind.count }, () => ({ ...bind, count: 1 })))
    .map((bind, index) => ({
      ...bind,
      port: carrier.simulate !== null && port !== undefined ? port : bind.port,
      name: `${carrier.name}/${index + 1}`,
    }));
}

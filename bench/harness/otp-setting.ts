// What the OTP bench measures: the whole product with three carriers, each an SMSC peer of its own, with or without second
// copies.
import { writeFileSync } from 'node:fs';
import { join } from 'node:path';
import { until } from '../../platform/deadline.ts';
import type { WholeSystem } from '../../test/support/whole-system.ts';
import { type SmscPeer, startSmscPeer } from './smsc-peer.ts';

export const carriers = [
  { name: 'small', prefix: '13', tps: 200 },
  { name: 'middle', prefix: '15', tps: 500 },
  { name: 'large', prefix: '17', tps: 1_000 },
] as const;
export type CarrierName = (typeof carriers)[number]['name'];
export const tpsOfAll = carriers.reduce((sum, { tps }) => sum + tps, 0);

export const usualHandset = 'lognormal:250,0.4';
export const heavyHandset = 'lognormal:250,0.7';
/** The share of codes that is entered. */
export const verifiedShare = 0.75;

export type Setting = {
  readonly system: WholeSystem;
  readonly smscPeers: Readonly<Record<CarrierName, SmscPeer>>;
  /** OTP a second. */
  readonly rate: number;
  readonly seed: number;
};

export function startPeer(name: CarrierName): Promise<SmscPeer> {
  const tps = carriers.find((each) => each.name === name)?.tps ?? 0;
  return startSmscPeer(name, { tps, latencyMs: usualHandset, responseMs: 'lognormal:15,0.4' });
}

/** Switches second copies on or off in the running system; resolves when that is in effect. */
export async function setHedging({ system, smscPeers }: Setting, isOn: boolean): Promise<void> {
  const reloads = () => system.metric('heliograph_config_reloads_total');
  const before = await reloads();
  writeFileSync(join(system.dataDir, 'heliograph.yaml'), configuration(smscPeers, isOn));
  await until('the configuration is in effect', async () => (await reloads()) > before, { limitMs: 30_000 });
}

export function configuration(smscPeers: Readonly<Record<CarrierName, SmscPeer>>, isHedging = true): string {
  const carrier = ({ name, tps }: (typeof carriers)[number]) => {
    const { port, systemId, password } = smscPeers[name];
    return `
  - name: ${name}
    tps: ${tps}
    classes: [otp, transactional, promotional]
    binds:
      - { host: 127.0.0.1, port: ${port}, system_id: ${systemId}, password: ${password}, type: transceiver, window: 100, count: 2 }`;
  };
  return `country:
  name: Bench
  calling_code: "+880"
  national_lengths: [10]
  prefixes: { ${carriers.map(({ prefix, name }) => `"${prefix}": ${name}`).join(', ')} }
carriers:${carriers.map(carrier).join('')}
routing:
  fallback: [large, middle, small]
otp:
  hedging: { enabled: ${isHedging} }
webhooks:
  allow_networks: [127.0.0.0/8]
  allow_http: true
actors: { threads: 1 }
ingress: { threads: 1 }
`;
}

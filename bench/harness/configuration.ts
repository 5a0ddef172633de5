// The whole product for a bench, and its heliograph.yaml with carriers that are SMSC peers, one thread of each kind.
import { endSystems } from '../../test/support/system.ts';
import { type WholeSystem, startWholeSystem } from '../../test/support/whole-system.ts';
import { withStarted } from './bench.ts';
import type { BenchResult } from './report.ts';
import type { SmscPeer } from './smsc-peer.ts';

/** Starts the product, and stops it and the peers when `work` ends. */
export async function withSystem(
  configuration: string,
  smscPeers: Readonly<Record<string, SmscPeer>>,
  work: (system: WholeSystem) => Promise<BenchResult>,
): Promise<BenchResult> {
  try {
    return await withStarted(startWholeSystem(configuration, { newDatabase: true }), work);
  } finally {
    await Promise.all(Object.values(smscPeers).map((smscPeer) => smscPeer.stop()));
    await endSystems();
  }
}

export type BenchCarrier = {
  readonly name: string;
  /** First digits of the national numbers that it serves. */
  readonly prefix: string;
  readonly tps: number;
  readonly window?: number;
};

/** Each of `carriers` is the peer of its name; `more`: other sections. */
export function configurationWith<Carrier extends BenchCarrier>(
  carriers: readonly Carrier[],
  smscPeers: Readonly<Record<Carrier['name'], SmscPeer>>,
  more = '',
): string {
  const carrier = ({ name, tps, window = 100 }: Carrier) => {
    const { port, systemId, password } = smscPeers[name as Carrier['name']];
    return `
  - name: ${name}
    tps: ${tps}
    classes: [otp, transactional, promotional]
    binds:
      - { host: 127.0.0.1, port: ${port}, system_id: ${systemId}, password: ${password}, type: transceiver, window: ${window}, count: 2 }`;
  };
  return `country:
  name: Bench
  calling_code: "+880"
  national_lengths: [10]
  prefixes: { ${carriers.map(({ prefix, name }) => `"${prefix}": ${name}`).join(', ')} }
carriers:${carriers.map(carrier).join('')}
actors: { threads: 1 }
ingress: { threads: 1 }
${more}`;
}

/** Webhooks may go to this machine. */
export const webhooksHere = 'webhooks: { allow_networks: [127.0.0.0/8], allow_http: true }\n';

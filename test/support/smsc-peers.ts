// Three carriers for tests of the whole system, each a simulator in this process: their receipts and message ids have
// different forms, as in reality. Also the configuration that binds to them.
import { parseLatency } from '../../smpp/simulator/latency.ts';
import type { SimulatorOptions } from '../../smpp/simulator/options.ts';
import { type Simulator, startSimulator } from '../../smpp/simulator/simulator.ts';

export type CarrierName = 'alpha' | 'beta' | 'gamma';
export const carrierNames: readonly CarrierName[] = ['alpha', 'beta', 'gamma'];
/** The first national digits of each carrier's numbers. */
export const prefixOf: Readonly<Record<CarrierName, string>> = { alpha: '17', beta: '19', gamma: '18' };

const forms: Readonly<Record<CarrierName, Pick<SimulatorOptions, 'receipts' | 'ids'>>> = {
  alpha: { receipts: 'text', ids: 'decimal' },
  beta: { receipts: 'tlv', ids: 'hex' },
  gamma: { receipts: 'text', ids: 'resp-hex-receipt-decimal' },
};

export type SmscPeers = {
  readonly carriers: Readonly<Record<CarrierName, Simulator>>;
  /** heliograph.yaml for them. */
  readonly configuration: string;
  /** How often the message with this nonce came, over all carriers. */
  countOf(nonce: string): number;
  /** Whether the carrier received a message to this number with all its segments. */
  hasWhole(carrier: CarrierName, to: string): boolean;
  /** Submits the carriers accepted, by segment. */
  taken(): number;
  close(): Promise<void>;
};

export type SmscPeerOptions = { readonly responseMs?: string; readonly receiptMs?: string; readonly window?: number };

export async function startSmscPeers(options: SmscPeerOptions = {}): Promise<SmscPeers> {
  const response = parseLatency(options.responseMs ?? 'uniform:2,15')!;
  const latency = parseLatency(options.receiptMs ?? 'uniform:20,200')!;
  const start = (name: CarrierName) =>
    startSimulator({
      ...forms[name],
      accounts: [{ systemId: name, password: 'test', tps: 0 }],
      magic: false,
      response,
      latency,
      recordMax: 50_000,
    });
  const carriers = { alpha: await start('alpha'), beta: await start('beta'), gamma: await start('gamma') };
  const all = Object.values(carriers);
  return {
    carriers,
    configuration: configurationFor(carriers, options.window ?? 50),
    countOf: (nonce) => all.reduce((sum, simulator) => sum + simulator.nonceCount(nonce), 0),
    hasWhole: (carrier, to) =>
      carriers[carrier].messages({ destination: to.slice(1) }).some(({ parts, partsTotal }) => parts === partsTotal),
    taken: () => all.reduce((sum, simulator) => sum + simulator.stats().submits.accepted, 0),
    async close() {
      await Promise.all(all.map((simulator) => simulator.close()));
    },
  };
}

/** The carriers are in the test's process: a machine that stalls it for seconds must not cost their sessions. */
function configurationFor(carriers: SmscPeers['carriers'], window: number): string {
  const carrier = (name: CarrierName) => `
  - name: ${name}
    tps: 5000
    enquire_link_s: 30
    binds:
      - { host: 127.0.0.1, port: ${carriers[name].port}, system_id: ${name}, password: test, window: ${window}, count: 2 }`;
  const prefixes = carrierNames.map((name) => `"${prefixOf[name]}": ${name}`).join(', ');
  return `country:
  name: Testland
  calling_code: "+880"
  national_lengths: [10]
  prefixes: { ${prefixes} }
carriers:${carrierNames.map(carrier).join('')}
actors: { threads: 1 }
ingress: { threads: 1 }
`;
}

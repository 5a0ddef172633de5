// The options of a simulator with their defaults; command.ts parses the command line.
import type { OnReceiptAcked } from './counters.ts';
import type { InboundForm } from './inbound.ts';
import { type Clock, systemClock } from '../../platform/clock.ts';
import { limits } from '../../platform/limits.ts';
import { type Random, systemRandom } from '../../platform/random.ts';
import type { FaultArgs, FaultName } from './faults.ts';
import { type Latency, parseLatency } from './latency.ts';
import { type AlphabetOptions, plainAlphabet } from './reading.ts';

export const receiptForms = ['text', 'tlv', 'both'] as const;
export type ReceiptForm = (typeof receiptForms)[number];
/** The form of message ids; the last has hex in the response and decimal in the receipt, as some carriers do. */
export const idStyles = ['decimal', 'hex', 'resp-hex-receipt-decimal'] as const;
export type IdStyle = (typeof idStyles)[number];

/**
 * `tps`: submits of the account in any one second over all its sessions; 0 is no limit. With `systemType` a bind with
 * another system_type is refused.
 */
export type AccountOptions = { systemId: string; password: string; tps: number; systemType?: string | undefined };

export type SimulatorOptions = {
  host: string;
  /** 0 takes a free port. */
  port: number;
  statsPort: number;
  /** Every request to the HTTP server must have it as a Bearer; undefined: none. */
  token: string | undefined;
  accounts: AccountOptions[];
  /** Further binds of one account get ESME_RALYBND; 0 is no limit. */
  bindsMax: number;
  /** From the response to the receipt, and from the submit to its response. */
  latency: Latency;
  response: Latency;
  receipts: ReceiptForm;
  ids: IdStyle;
  /** The first id; for ids beyond 2^53. */
  idsFrom: bigint | undefined;
  magic: boolean;
  /** Inbound messages per second to each account that can receive. */
  moPerS: number;
  /** Their fields; {n} in the text counts them. */
  mo: { from: string; to: string; text: string; as: InboundForm };
  recordMax: number;
  onReceiptAcked: OnReceiptAcked;
  /** The text of each submit that it accepts, as octets of its alphabet without header. */
  onText: (octets: Buffer) => void;
  alphabet: AlphabetOptions;
  /** PEM: the port uses TLS. With `ca` clients need a certificate of that authority. */
  tls: { cert: string; key: string; ca?: string | undefined } | undefined;
  faults: { name: FaultName; args: FaultArgs }[];
  /** The file that keeps pending receipts over a stop (pending.ts); undefined: they are lost. */
  pendingFile: string | undefined;
  clock: Clock;
  random: Random;
};

export function withDefaults(options: Partial<SimulatorOptions>): SimulatorOptions {
  return {
    host: '127.0.0.1',
    port: 0,
    statsPort: 0,
    token: undefined,
    accounts: [{ systemId: 'heliograph', password: 'sandbox', tps: 0 }],
    bindsMax: 0,
    latency: parseLatency('lognormal:250,0.4')!,
    response: parseLatency('fixed:0')!,
    receipts: 'text',
    ids: 'decimal',
    idsFrom: undefined,
    magic: true,
    moPerS: 0,
    mo: { from: '+8801700000000', to: '16000', text: 'inbound {n}', as: 'udh' },
    recordMax: limits.simulator.recordMax,
    onReceiptAcked: () => {},
    onText: () => {},
    alphabet: plainAlphabet,
    tls: undefined,
    faults: [],
    pendingFile: undefined,
    clock: systemClock,
    random: systemRandom,
    ...options,
  };
}

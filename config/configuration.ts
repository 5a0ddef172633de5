// The shape of heliograph.yaml after parsing: camelCase, every default filled in, every reference checked. Types
// only, so that a role can import it without loading the parser. heliograph.yaml explains the keys to operators;
// schema.ts has the error texts.

import type { Category } from '../model/message.ts';
import type { DoNotDisturbRules, KeywordRules, QuietRule } from '../policy/country/contract.ts';
import type { SenderKind } from '../model/sender.ts';
import type { AccountQueueMax } from '../platform/limits-lanes.ts';
import type { StreamMb } from '../platform/limits-streams.ts';
import type { Shares } from '../platform/limits-shares.ts';
import type { WireConfig } from './wire.ts';

export type Configuration = {
  country: CountryConfig;
  /** Real and simulated carriers in file order; the sandbox carrier is always among them. */
  carriers: CarrierConfig[];
  /** First match wins; a number no route matches goes by `country.prefixes`. */
  routes: RouteConfig[];
  routing: RoutingConfig;
  retention: RetentionConfig;
  limits: LimitsConfig;
  actors: {
    threads: number;
    /** Lost sessions of which a node keeps files; 0: none. */
    flightDumps: number;
  };
  ingress: {
    threads: number;
    /** Networks whose word about a client's address is taken. */
    trustedProxies: string[];
    proxyHeader: 'x-forwarded-for' | 'forwarded';
  };
  /** What no account may send. */
  content: { words: string[]; linksDenied: string[]; linksAllowed: string[] };
};

/** The country's rules with all defaults, and how the operator named the pack they came from. */
export type CountryConfig = {
  pack: string | null;
  name: string;
  /** With the plus sign: `+880`. */
  callingCode: string;
  /** How many digits a number may have after the calling code. */
  nationalLengths: number[];
  /** Longest national prefix wins: `{ '17': 'alpha' }` for +88017… */
  prefixes: Record<string, string>;
  /** What the pack calls carriers → ours; null: none of ours. */
  carrierNames: Record<string, string | null>;
  lengthsByPrefix: Record<string, number[]>;
  trunkPrefix: string;
  quietHours: QuietRule[];
  doNotDisturb: DoNotDisturbRules;
  keywords: KeywordRules;
};

export type CarrierConfig = {
  /** Lower-case letters, digits and dashes: it becomes a NATS subject token and a metric label. */
  name: string;
  /** Segments (submit_sm) per second the contract allows. */
  tps: number;
  /** Whether `tps` counts over the whole carrier account or for each bind. */
  tpsScope: 'carrier' | 'bind';
  /** Set when the bundled simulator plays this carrier; then `binds` point to it. */
  simulate: SimulatorConfig | null;
  classes: Category[];
  /** Kinds of sender it shows as they are; a message with another kind goes another way. */
  senders: SenderKind[];
  /** Per segment, in any unit; what routes that choose the cheapest compare. */
  cost: number;
  /** Its share where a route shares out by weight. */
  weight: number;
  receiptId: 'auto' | 'raw' | 'decimal' | 'hex';
  /** TON and NPI to use instead of what the number's form suggests. */
  addr: { sourceTon: number | null; sourceNpi: number | null; destTon: number | null; destNpi: number | null };
  enquireLinkMs: number;
  responseTimerMs: number;
  /** How its PDUs are to look. */
  wire: WireConfig;
  /** Overrides of the outcome table, by command_status name (`ESME_RSYSERR`) or number as text (`1025`). */
  errors: Record<string, CarrierErrorAction>;
  binds: BindConfig[];
};

/**
 * later: try again · next: the next carrier of the message's plan, and reject when there is none · reject: give the
 * message up · stop: stop the carrier and call a person.
 */
export type CarrierErrorAction = 'later' | 'next' | 'reject' | 'stop';

export type BindConfig = {
  /** For a simulated carrier `127.0.0.1` and port 0: the port is chosen at start, see `bindsOf`. */
  host: string;
  port: number;
  systemId: string;
  password: string;
  systemType: string;
  type: 'transceiver' | 'transmitter' | 'receiver';
  /** Submits that may wait for a response on one session. */
  window: number;
  /** Sessions opened with these credentials. */
  count: number;
  tls: false | TlsConfig;
  /** 0x33, 0x34 or 0x50: the version of SMPP the bind names. */
  interfaceVersion: number;
  /** Which addresses a receiving bind stands for, where the carrier asks for it. */
  addressRange: { ton: number; npi: number; range: string };
};

/** Files are read at each connection, so that a renewed certificate needs no restart. */
export type TlsConfig = {
  /** Authorities to trust instead of the system's. */
  caFile: string | null;
  /** Our own certificate and its key, for carriers that ask for one. */
  certFile: string | null;
  keyFile: string | null;
  /** The name the certificate must show, when it is not `host`. */
  serverName: string | null;
  verify: boolean;
};

/** How the bundled simulator plays a carrier; the same words as the options of `heliograph smsc`. */
export type SimulatorConfig = {
  /** More submits than this in one second are throttled. */
  tps: number;
  /** Time until the receipt: `fixed:10`, `uniform:5,50` or `lognormal:250,0.4`. */
  latencyMs: string;
  /** Time until submit_sm_resp, in the same notation. */
  responseMs: string;
  receipts: 'text' | 'tlv' | 'both';
  ids: 'decimal' | 'hex' | 'resp-hex-receipt-decimal';
  /** The last four digits of a number decide what happens to it. */
  magic: boolean;
};

export type RouteConfig = {
  /** Of the E.164 number, with the plus sign. */
  prefix: string;
  /** Empty: every class. */
  classes: Category[];
  /** In the order they are tried, when `choose` is listed. */
  carriers: string[];
  choose: 'listed' | 'cheapest' | 'weighted';
};

export type RoutingConfig = {
  /** Carriers behind the number's own, in order; empty: nobody else may take it. */
  fallback: string[];
  /** Without a bound bind for this long a carrier is weak: OTP goes other ways. */
  otpFailoverAfterMs: number;
  /** And for this long it is down: everything goes other ways. */
  othersFailoverAfterMs: number;
};

export type RetentionConfig = {
  /** How long delivery events stay in ClickHouse. */
  historyDays: number;
};

export type LimitsConfig = {
  /** Messages that may wait in one MT stream before the ingress answers 503. */
  queueMessagesMax: number;
  /** Messages of one account that may wait for one carrier in one lane before it answers 429. */
  accountQueueMax: AccountQueueMax;
  /** Copies of every stream and bucket. */
  streamReplicas: number;
  /** What single streams may hold; the defaults of platform/limits-streams.ts without it. */
  streamMb?: StreamMb;
  /** Disk the embedded nats-server may use for all streams. */
  streamStoreMbMax: number;
  /** The longest a stop may wait for the carriers' answers, with all that goes with it. */
  drainMsMax: number;
  /** What accounts share, and how much of it one may use: platform/limits-shares.ts. */
  shares: Shares;
  /** How long API keys live that are made without an end; null: for ever. */
  apiKeyDaysDefault: number | null;
};

/** The carrier test keys always use. It exists in every configuration. */
export const sandboxCarrierName = 'sandbox';

/** Carriers that the simulator does not play: what is sent to them may reach a handset. */
export function realCarriers(carriers: readonly Pick<CarrierConfig, 'name' | 'simulate'>[]): string[] {
  return carriers.filter(({ simulate }) => simulate === null).map(({ name }) => name);
}

/** Where the simulator listens for each simulated carrier; the supervisor hands it to the roles. */
export type SimulatedPorts = Record<string, number>;

/** The binds of a carrier, ready to connect to: one entry per session, `count` unfolded. */
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

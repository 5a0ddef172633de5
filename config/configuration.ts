// The shape of heliograph.yaml after parsing: camelCase, every default filled in, every reference checked. Types
// only, so that a role can import it without loading the parser. heliograph.yaml explains the keys to operators;
// schema.ts has the error texts.

import type { Category } from '../model/message.ts';
import type { RouteChoice } from '../policy/contract.ts';
import type { DoNotDisturbRules, KeywordRules, QuietRule } from '../policy/country/contract.ts';
import type { OtpRules } from '../policy/otp/contract.ts';
import type { SenderKind } from '../model/sender.ts';
import type { AccountQueueMax } from '../platform/limits-lanes.ts';
import type { StreamMb } from '../platform/limits-streams.ts';
import type { Shares } from '../platform/limits-shares.ts';
import type { WireConfig } from './wire.ts';

export type Configuration = {
  country: CountryConfig;
  /** Real and simulated carriers in file order; the sandbox carrier is always among them. */
  carriers: CarrierConfig[];
  /** First match wins; a number without a matching route follows `country.prefixes`. */
  routes: RouteConfig[];
  routing: RoutingConfig;
  retention: RetentionConfig;
  limits: LimitsConfig;
  actors: {
    threads: number;
    /** How many lost sessions a node keeps a dump file of; 0: none. */
    flightDumps: number;
  };
  ingress: {
    threads: number;
    /** Networks of proxies whose header with the client's address is trusted. */
    trustedProxies: string[];
    proxyHeader: 'x-forwarded-for' | 'forwarded';
  };
  /** Texts and limits of one-time passwords. */
  otp: OtpRules;
  webhooks: {
    /** Networks of the operator's own that webhooks may be sent to; all others that are not public are refused. */
    allowNetworks: string[];
    /** Endpoints of live messages may have http: URLs. */
    allowHttp: boolean;
  };
  /** What no account may send. */
  content: { words: string[]; linksDenied: string[]; linksAllowed: string[] };
  links: LinksConfig;
  analytics: {
    /** SQL of the operator over HTTP, with the embedded ClickHouse only; null: off. */
    sqlEndpoint: { port: number } | null;
  };
};

/** The country's rules with all defaults, and the pack they came from. */
export type CountryConfig = {
  pack: string | null;
  name: string;
  /** With the plus sign: `+880`. */
  callingCode: string;
  /** Allowed numbers of digits after the calling code. */
  nationalLengths: number[];
  /** Longest national prefix wins: `{ '17': 'alpha' }` for +88017… */
  prefixes: Record<string, string>;
  /** Carrier names of the pack → ours; null: none of ours. */
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
  /** Set when the bundled simulator replaces this carrier; then `binds` point to it. */
  simulate: SimulatorConfig | null;
  classes: Category[];
  /** Kinds of sender it transmits unchanged; messages with another kind are routed elsewhere. */
  senders: SenderKind[];
  /** Cost per segment in any unit; routes with `choose: cheapest` compare it. */
  cost: number;
  /** Its weight on routes with `choose: weighted`. */
  weight: number;
  receiptId: 'auto' | 'raw' | 'decimal' | 'hex';
  /** TON and NPI that replace those derived from the number's form. */
  addr: { sourceTon: number | null; sourceNpi: number | null; destTon: number | null; destNpi: number | null };
  enquireLinkMs: number;
  responseTimerMs: number;
  /** Encoding of its PDUs. */
  wire: WireConfig;
  /** Overrides of the outcome table, by the name of the command_status: `ESME_RSYSERR`, `0x00000501`. */
  errors: Record<string, CarrierErrorAction>;
  binds: BindConfig[];
};

/**
 * later: retry · next: the next carrier of the message's plan, or reject without one · reject: reject the message ·
 * stop: stop the carrier and raise an alarm.
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
  /** interface_version of the bind: 0x33, 0x34 or 0x50. */
  interfaceVersion: number;
  /** address_range of a receiving bind (SMPP 3.4, 5.2.7), where the carrier requires it. */
  addressRange: { ton: number; npi: number; range: string };
};

/** Files are read for each connection, so that a renewed certificate needs no restart. */
export type TlsConfig = {
  /** Trusted authorities instead of the system's. */
  caFile: string | null;
  /** Our own certificate and its key, for carriers that require one. */
  certFile: string | null;
  keyFile: string | null;
  /** The name that the certificate must have, when it is not `host`. */
  serverName: string | null;
  verify: boolean;
};

/** How the bundled simulator behaves as a carrier; names as in the options of `heliograph smsc`. */
export type SimulatorConfig = {
  /** Further submits in one second are throttled. */
  tps: number;
  /** Time until the receipt: `fixed:10`, `uniform:5,50` or `lognormal:250,0.4`. */
  latencyMs: string;
  /** Time until submit_sm_resp, in the same notation. */
  responseMs: string;
  receipts: 'text' | 'tlv' | 'both';
  ids: 'decimal' | 'hex' | 'resp-hex-receipt-decimal';
  /** Whether the last four digits of a number decide its outcome. */
  magic: boolean;
};

type RouteConfig = {
  /** Prefix of the E.164 number, with the plus sign. */
  prefix: string;
  /** Empty: every class. */
  classes: Category[];
  /** In the order they are tried, when `choose` is listed. */
  carriers: string[];
  choose: RouteChoice;
};

type RoutingConfig = {
  /** Alternatives after the number's own carrier, in order; empty: no other carrier. */
  fallback: string[];
  /** A carrier without a bound bind for this long is weak: OTP avoids it. */
  otpFailoverAfterMs: number;
  /** After this long it is down: all messages avoid it. */
  othersFailoverAfterMs: number;
};

export type LinksConfig = {
  /** `https://sms.example.com`, without a slash at the end; null: this machine's own HTTP port. */
  baseUrl: string | null;
  /** Accounts with a domain of their own. */
  accounts: Record<string, string>;
  /** Where an unknown or expired code leads; null: to an answer that says so. */
  fallbackUrl: string | null;
  /** Whether ClickHouse gets the addresses of those who click. */
  storeAddresses: boolean;
};

/** Days. docs/retention.md has the classes of data. */
export type RetentionConfig = {
  /** Delivery events of live messages. */
  historyDays: number;
  /** Delivery events of test messages. */
  testHistoryDays: number;
  /** Clicks on short links, and the messages of their codes. */
  clicksDays: number;
  /** Texts of subscribers, where an account keeps them. */
  inboundTextDays: number;
  /** Numbers of subscribers in full. */
  numbersClearDays: number;
  /** Events that a webhook endpoint does not take. */
  webhookDays: number;
};

export type LimitsConfig = {
  /** Messages that may wait in one MT stream before the ingress answers 503. */
  queueMessagesMax: number;
  /** Messages of one account that may wait for one carrier in one lane before it answers 429. */
  accountQueueMax: AccountQueueMax;
  /** Copies of every stream and bucket. */
  streamReplicas: number;
  /** Sizes of single streams; absent: the defaults of platform/limits-streams.ts. */
  streamMb?: StreamMb;
  /** Disk the embedded nats-server may use for all streams. */
  streamStoreMbMax: number;
  /** The longest that a stop waits for responses of carriers, including all steps of the drain. */
  drainMsMax: number;
  /** Bounds that accounts share: platform/limits-shares.ts. */
  shares: Shares;
  /** How long a short link leads on, in days. */
  linkDays: number;
  /** How long WEBHOOK_LOG keeps what an endpoint does not take: `retention.webhook_days`. */
  webhookDays?: number;
  /** How long what was sent to webhook endpoints is kept to be looked at, in days. */
  webhookAttemptDays: number;
  /** Default lifetime of API keys; null: unlimited. */
  apiKeyDaysDefault: number | null;
};

/** The carrier of test keys. It exists in every configuration. */
export const sandboxCarrierName = 'sandbox';

/** Carriers that are not simulated: messages to them may reach a handset. */
export function realCarriers(carriers: readonly Pick<CarrierConfig, 'name' | 'simulate'>[]): string[] {
  return carriers.filter(({ simulate }) => simulate === null).map(({ name }) => name);
}

/** Ports of the simulator by carrier; the supervisor passes them to the roles. */
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

// The schema of heliograph.yaml: every key, its bounds, its default. Unknown keys are refused, so that a misspelt key
// is not silently replaced by its default. Each value has the text that states what was expected.
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { nameOfStatus, statusOf } from '../model/command-status.ts';
import { categories } from '../model/message.ts';
import { senderKinds } from '../model/sender.ts';
import { limits } from '../platform/limits.ts';
import { linksSchema } from './links-schema.ts';
import { limitsSchema } from './limits-schema.ts';
import { bindOf, bindSchema, simulatedBind } from './bind-schema.ts';
import { type CountryConfig, type PackReader, countrySchema } from './country-schema.ts';
import { responseTimerSMax } from './drain-times.ts';
import { otpSchema } from './otp-schema.ts';
import { retentionSchema } from './retention-schema.ts';
import {
  carrierName,
  listOf,
  mapOf,
  numberFrom,
  oneOf,
  pattern,
  switchOr,
  textThat,
  whole,
  yesOrNo,
} from './fields.ts';
import { sandboxCarrierName } from './sandbox.ts';
import { wireKeys, wireOf } from './wire-schema.ts';
import { networkIntended, parseNetwork } from '../platform/ip-address.ts';
import { domainOf, wordsOf } from '../model/words-and-links.ts';

/** Parsed YAML → Configuration, with `sandbox` among the carriers. */
export function configurationSchema(env: Readonly<Record<string, string | undefined>>, readPack: PackReader) {
  return mapOf({ country: countrySchema(readPack), ...fileKeys }).transform(({ sandbox, ...file }) => {
    const carriers = file.carriers.map((carrier) => carrierOf(carrier, env, file.country));
    if (!carriers.some((carrier) => carrier.name === sandboxCarrierName))
      carriers.push(sandboxCarrier(sandbox, file.country));
    /** How long WEBHOOK_LOG keeps what an endpoint does not take. */
    const { webhookDays } = file.retention;
    return { ...file, carriers, limits: { ...file.limits, webhookDays } };
  });
}

const distribution = pattern(
  /^(fixed:\d+(\.\d+)?|uniform:\d+(\.\d+)?,\d+(\.\d+)?|lognormal:\d+(\.\d+)?,\d+(\.\d+)?)$/,
  'fixed:10, uniform:5,50 or lognormal:250,0.4',
);
const threadsExpected = { error: 'auto or a whole number from 1 to 64' };
/** On two cores one thread, because all other processes share them. */
const threads = z
  .union(
    [z.literal('auto', threadsExpected), z.int(threadsExpected).min(1, threadsExpected).max(64, threadsExpected)],
    threadsExpected,
  )
  .default('auto')
  .transform((wanted) =>
    wanted === 'auto' ? Math.max(1, Math.min(8, Math.floor(availableParallelism() / 2))) : wanted,
  );
const share = (max: number) => numberFrom(0, max, `a number from 0 to ${max}`);
const seconds = numberFrom(0.2, 3_600, 'seconds from 0.2 to 3600');
const ton = whole(0, 6).nullable().default(null);
const npi = whole(0, 18).nullable().default(null);

/** How the bundled simulator behaves as a carrier; names as in the options of `heliograph smsc`. */
const simulator = mapOf({
  /** Further submits in one second are throttled. */
  tps: whole(1, 100_000).optional(),
  /** Time until the receipt: `fixed:10`, `uniform:5,50` or `lognormal:250,0.4`. */
  latency_ms: distribution.default('lognormal:250,0.4'),
  /** Time until submit_sm_resp, in the same notation. */
  response_ms: distribution.default('fixed:1'),
  receipts: oneOf(['text', 'tlv', 'both']).default('both'),
  ids: oneOf(['decimal', 'hex', 'resp-hex-receipt-decimal']).default('decimal'),
  /** Whether the last four digits of a number decide its outcome. */
  magic: yesOrNo.default(false),
});

/**
 * later: retry · throttle: retry, at a lower rate; an OTP goes to the next carrier that does well · next: the next carrier of the message's plan, or reject without one · reject: reject the message ·
 * stop: stop the carrier and raise an alarm.
 */
const errorActions = ['later', 'throttle', 'next', 'reject', 'stop'] as const;
export type CarrierErrorAction = (typeof errorActions)[number];

const carrier = mapOf({
  /** Lower-case letters, digits and dashes: it becomes a NATS subject token and a metric label. */
  name: carrierName,
  /** Segments (submit_sm) per second the contract allows. */
  tps: whole(1, 100_000),
  /** Whether `tps` counts over the whole carrier account or for each bind. */
  tps_scope: oneOf(['carrier', 'bind']).default('carrier'),
  simulate: switchOr(simulator, 'true, false or options of the simulator').default(false),
  classes: listOf(oneOf(categories), 3, 1).default([...categories]),
  /** Kinds of sender it transmits unchanged; messages with another kind are routed elsewhere. */
  senders: listOf(oneOf(senderKinds), 3, 1).default([...senderKinds]),
  /** Cost per segment in any unit; routes with `choose: cheapest` compare it. */
  cost: share(1_000_000).default(0),
  /** Its weight on routes with `choose: weighted`. */
  weight: share(1_000).default(1),
  receipt_id: oneOf(['auto', 'raw', 'decimal', 'hex']).default('auto'),
  /** TON and NPI that replace those derived from the number's form. */
  addr_ton: ton,
  addr_npi: npi,
  source_addr_ton: ton,
  source_addr_npi: npi,
  enquire_link_s: whole(1, 3_600).default(30),
  response_timer_s: whole(1, responseTimerSMax).default(10),
  ...wireKeys,
  /** Overrides of the outcome table, by the name of the command_status: `ESME_RSYSERR`, `0x00000501`. */
  errors: z
    .record(
      textThat(
        (key) => statusOf(key) !== null,
        'a command_status: a name of SMPP such as ESME_RTHROTTLED, or a number such as 1281 or 0x501',
      ),
      oneOf(errorActions),
      { error: 'a map of command_status to later, throttle, next, reject or stop' },
    )
    .transform((errors, context) => {
      const byName: Record<string, CarrierErrorAction> = {};
      for (const [key, action] of Object.entries(errors)) {
        const name = nameOfStatus(statusOf(key) ?? 0);
        if (byName[name] !== undefined) context.addIssue(`each command_status once: ${key} is ${name}`);
        byName[name] = action;
      }
      return byName;
    })
    .default({}),
  binds: listOf(bindSchema, 16).default([]),
});

const { networksMax } = limits.access;
const { wordsMax, wordCharsMax, wordsInPhraseMax, domainsMax, domainCharsMax } = limits.content;

const network = textThat(
  (text) => parseNetwork(text) !== null || networkIntended(text) !== null,
  'a network such as 10.0.0.0/8 or 2001:db8::/32, or one address',
).superRefine((text, context) => {
  const intended = networkIntended(text);
  if (intended !== null) context.addIssue(`${intended}: it has bits set behind its prefix`);
});
const phrase = textThat((text) => {
  if (text.length > wordCharsMax) return false;
  const words = wordsOf(text);
  return words.length > 0 && words.length <= wordsInPhraseMax;
}, `1 to ${wordsInPhraseMax} words, at most ${wordCharsMax} characters`);
const domain = textThat(
  (text) => text.length <= domainCharsMax && domainOf(text) !== null,
  'a domain such as example.com',
);

const fileKeys = {
  carriers: listOf(carrier, 64),
  sandbox: simulator.prefault({}),
  /** First match wins; a number without a matching route follows `country.prefixes`. */
  routes: listOf(
    mapOf({
      /** Prefix of the E.164 number, with the plus sign. */
      prefix: pattern(/^\+\d{1,15}$/, 'the first digits of an E.164 number in quotes, such as "+88017"'),
      /** Empty: every class. */
      classes: listOf(oneOf(categories), 3).default([]),
      /** In the order they are tried, when `choose` is listed. */
      carriers: listOf(carrierName, 16, 1),
      choose: oneOf(['listed', 'cheapest', 'weighted', 'conversion']).default('listed'),
    }),
    1_000,
  ).default([]),
  routing: mapOf({
    /** Alternatives after the number's own carrier, in order; empty: no other carrier. */
    fallback: listOf(carrierName, 16).default([]),
    /** A carrier without a bound bind for this long is weak: OTP avoids it. */
    otp_failover_after_s: seconds.default(0.2),
    /** After this long it is down: all messages avoid it. */
    others_failover_after_s: seconds.default(30),
  })
    .transform(({ fallback, otpFailoverAfterS, othersFailoverAfterS }) => ({
      fallback,
      otpFailoverAfterMs: otpFailoverAfterS * 1_000,
      othersFailoverAfterMs: othersFailoverAfterS * 1_000,
    }))
    .prefault({}),
  retention: retentionSchema,
  limits: limitsSchema,
  actors: mapOf({
    threads,
    /** How many lost sessions a node keeps a dump file of; 0: none. */
    flight_dumps: whole(0, 1_000).default(40),
  }).prefault({}),
  ingress: mapOf({
    threads,
    /** Networks of proxies whose header with the client's address is trusted. */
    trusted_proxies: listOf(network, networksMax).default([]),
    proxy_header: oneOf(['x-forwarded-for', 'forwarded']).default('x-forwarded-for'),
  }).prefault({}),
  /** Texts and limits of one-time passwords. */
  otp: otpSchema,
  webhooks: mapOf({
    /** Networks of the operator's own that webhooks may be sent to; all others that are not public are refused. */
    allow_networks: listOf(network, networksMax).default([]),
    /** Endpoints of live messages may have http: URLs. */
    allow_http: yesOrNo.default(false),
  }).prefault({}),
  /** What no account may send. */
  content: mapOf({
    words: listOf(phrase, wordsMax * 10).default([]),
    links_denied: listOf(domain, domainsMax * 10).default([]),
    links_allowed: listOf(domain, domainsMax * 10).default([]),
  }).prefault({}),
  links: linksSchema,
  analytics: mapOf({
    /** SQL of the operator over HTTP, with the embedded ClickHouse only; null: off. */
    sql_endpoint: mapOf({ port: whole(1, 65_535) })
      .nullable()
      .default(null),
  }).prefault({}),
};

type CarrierFile = z.infer<typeof carrier>;
type SimulatorFile = z.infer<typeof simulator>;
export type SimulatorConfig = ReturnType<typeof simulatorOf>;
export type CarrierConfig = ReturnType<typeof carrierOf>;

function carrierOf(file: CarrierFile, env: Readonly<Record<string, string | undefined>>, country: CountryConfig) {
  const { name, tps, tpsScope, classes, senders, cost, weight, receiptId, errors } = file;
  const options = file.simulate === true ? simulator.parse({}) : file.simulate;
  /** Set when the bundled simulator replaces this carrier; then `binds` point to it. */
  const simulate = options === false ? null : simulatorOf(options, tps);
  return {
    ...{ name, tps, tpsScope, simulate, classes, senders, cost, weight, receiptId, errors },
    addr: {
      sourceTon: file.sourceAddrTon,
      sourceNpi: file.sourceAddrNpi,
      destTon: file.addrTon,
      destNpi: file.addrNpi,
    },
    enquireLinkMs: file.enquireLinkS * 1_000,
    responseTimerMs: file.responseTimerS * 1_000,
    wire: wireOf(file, country),
    binds: simulate === null ? file.binds.map((each) => bindOf(each, env)) : [simulatedBind(file.binds[0])],
  };
}

/** A real carrier counts whole seconds of its own clock; the simulated one is exactly as strict as the contract. */
const simulatorOf = (file: SimulatorFile, carrierTps: number) => ({ ...file, tps: file.tps ?? carrierTps });

function sandboxCarrier(file: SimulatorFile, country: CountryConfig) {
  const tps = file.tps ?? 500;
  const plain = carrier.parse({ name: sandboxCarrierName, tps, simulate: true });
  return { ...carrierOf(plain, {}, country), simulate: { ...simulatorOf(file, tps), magic: true } };
}

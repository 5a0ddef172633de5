// The schema of heliograph.yaml: every key, its bounds, its default. Unknown keys are refused, so that a misspelt key
// is not silently replaced by its default. Each value has the text that states what was expected.
import { availableParallelism } from 'node:os';
import { z } from 'zod';
import { nameOfStatus, statusOf } from '../model/command-status.ts';
import { categories } from '../model/message.ts';
import { senderKinds } from '../model/sender.ts';
import { limits } from '../platform/limits.ts';
import { linksOf, linksSchema } from './links-schema.ts';
import { limitsOf, limitsSchema } from './limits-schema.ts';
import {
  type CarrierConfig,
  type CarrierErrorAction,
  type Configuration,
  type SimulatorConfig,
  sandboxCarrierName,
} from './configuration.ts';
import { bindOf, bindSchema, simulatedBind } from './bind-schema.ts';
import { type PackReader, countrySchema } from './country-schema.ts';
import { responseTimerSMax } from './drain-times.ts';
import { otpSchema } from './otp-schema.ts';
import { retentionOf, retentionSchema } from './retention-schema.ts';
import { carrierName, listOf, mapOf, oneOf, pattern, whole, yesOrNo } from './fields.ts';
import { wireKeys, wireOf } from './wire-schema.ts';
import { parseNetwork } from '../platform/ip-address.ts';
import { domainOf, wordsOf } from '../model/words-and-links.ts';

/** Parsed YAML → Configuration, with `sandbox` among the carriers. */
export function configurationSchema(env: Record<string, string | undefined>, readPack: PackReader) {
  return fileSchema(readPack).transform((file): Configuration => {
    const carriers = file.carriers.map((carrier) => carrierOf(carrier, env, file.country));
    if (!carriers.some((carrier) => carrier.name === sandboxCarrierName))
      carriers.push(sandboxCarrier(file.sandbox, file.country));
    return {
      country: file.country,
      carriers,
      routes: file.routes,
      routing: {
        fallback: file.routing.fallback,
        otpFailoverAfterMs: file.routing.otp_failover_after_s * 1_000,
        othersFailoverAfterMs: file.routing.others_failover_after_s * 1_000,
      },
      retention: retentionOf(file.retention),
      limits: { ...limitsOf(file.limits), webhookDays: file.retention.webhook_days },
      actors: { threads: threadsOf(file.actors.threads), flightDumps: file.actors.flight_dumps },
      ingress: {
        threads: threadsOf(file.ingress.threads),
        trustedProxies: file.ingress.trusted_proxies,
        proxyHeader: file.ingress.proxy_header,
      },
      otp: file.otp,
      webhooks: { allowNetworks: file.webhooks.allow_networks, allowHttp: file.webhooks.allow_http },
      content: {
        words: file.content.words,
        linksDenied: file.content.links_denied,
        linksAllowed: file.content.links_allowed,
      },
      links: linksOf(file.links),
      analytics: { sqlEndpoint: file.analytics.sql_endpoint },
    };
  });
}

const distribution = pattern(
  /^(fixed:\d+(\.\d+)?|uniform:\d+(\.\d+)?,\d+(\.\d+)?|lognormal:\d+(\.\d+)?,\d+(\.\d+)?)$/,
  'fixed:10, uniform:5,50 or lognormal:250,0.4',
);
const threadsExpected = { error: 'auto or a whole number from 1 to 64' };
const threads = z.union(
  [z.literal('auto', threadsExpected), z.int(threadsExpected).min(1, threadsExpected).max(64, threadsExpected)],
  threadsExpected,
);
const share = (max: number) => {
  const error = `a number from 0 to ${max}`;
  return z.number({ error }).min(0, { error }).max(max, { error });
};
const seconds = z
  .number({ error: 'seconds from 0.2 to 3600' })
  .min(0.2, { error: 'seconds from 0.2 to 3600' })
  .max(3_600, { error: 'seconds from 0.2 to 3600' });
const ton = whole(0, 6).nullable().default(null);
const npi = whole(0, 18).nullable().default(null);

const simulator = mapOf({
  tps: whole(1, 100_000).optional(),
  latency_ms: distribution.default('lognormal:250,0.4'),
  response_ms: distribution.default('fixed:1'),
  receipts: oneOf(['text', 'tlv', 'both']).default('both'),
  ids: oneOf(['decimal', 'hex', 'resp-hex-receipt-decimal']).default('decimal'),
  magic: yesOrNo.default(false),
});

const carrier = mapOf({
  name: carrierName,
  tps: whole(1, 100_000),
  tps_scope: oneOf(['carrier', 'bind']).default('carrier'),
  simulate: z
    .union([z.boolean(), simulator], {
      error: (issue) =>
        typeof issue.input === 'object' && issue.input !== null ? undefined : 'true, false or options of the simulator',
    })
    .default(false),
  classes: listOf(oneOf(categories), 3, 1).default([...categories]),
  senders: listOf(oneOf(senderKinds), 3, 1).default([...senderKinds]),
  cost: share(1_000_000).default(0),
  weight: share(1_000).default(1),
  receipt_id: oneOf(['auto', 'raw', 'decimal', 'hex']).default('auto'),
  addr_ton: ton,
  addr_npi: npi,
  source_addr_ton: ton,
  source_addr_npi: npi,
  enquire_link_s: whole(1, 3_600).default(30),
  response_timer_s: whole(1, responseTimerSMax).default(10),
  ...wireKeys,
  errors: z
    .record(
      z.string().refine((key) => statusOf(key) !== null, {
        error: 'a command_status: a name of SMPP such as ESME_RTHROTTLED, or a number such as 1281 or 0x501',
      }),
      oneOf(['later', 'next', 'reject', 'stop']),
      { error: 'a map of command_status to later, next, reject or stop' },
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

const networkExpected = 'a network such as 10.0.0.0/8 or 2001:db8::/32, or one address';
const network = z
  .string({ error: networkExpected })
  .refine((text) => parseNetwork(text) !== null, { error: networkExpected });

const phraseExpected = `1 to ${wordsInPhraseMax} words, at most ${wordCharsMax} characters`;
const phrase = z.string({ error: phraseExpected }).refine(
  (text) => {
    if (text.length > wordCharsMax) return false;
    const words = wordsOf(text);
    return words.length > 0 && words.length <= wordsInPhraseMax;
  },
  { error: phraseExpected },
);

const domainExpected = 'a domain such as example.com';
const domain = z
  .string({ error: domainExpected })
  .refine((text) => text.length <= domainCharsMax && domainOf(text) !== null, { error: domainExpected });

const fileKeys = {
  carriers: listOf(carrier, 64),
  sandbox: simulator.prefault({}),
  routes: listOf(
    mapOf({
      prefix: pattern(/^\+\d{1,15}$/, 'the first digits of an E.164 number in quotes, such as "+88017"'),
      classes: listOf(oneOf(categories), 3).default([]),
      carriers: listOf(carrierName, 16, 1),
      choose: oneOf(['listed', 'cheapest', 'weighted', 'conversion']).default('listed'),
    }),
    1_000,
  ).default([]),
  routing: mapOf({
    fallback: listOf(carrierName, 16).default([]),
    otp_failover_after_s: seconds.default(1),
    others_failover_after_s: seconds.default(30),
  }).prefault({}),
  retention: retentionSchema,
  limits: limitsSchema,
  actors: mapOf({
    threads: threads.default('auto'),
    flight_dumps: whole(0, 1_000).default(40),
  }).prefault({}),
  ingress: mapOf({
    threads: threads.default('auto'),
    trusted_proxies: listOf(network, networksMax).default([]),
    proxy_header: oneOf(['x-forwarded-for', 'forwarded']).default('x-forwarded-for'),
  }).prefault({}),
  otp: otpSchema,
  webhooks: mapOf({
    allow_networks: listOf(network, networksMax).default([]),
    allow_http: yesOrNo.default(false),
  }).prefault({}),
  content: mapOf({
    words: listOf(phrase, wordsMax * 10).default([]),
    links_denied: listOf(domain, domainsMax * 10).default([]),
    links_allowed: listOf(domain, domainsMax * 10).default([]),
  }).prefault({}),
  links: linksSchema,
  analytics: mapOf({
    sql_endpoint: mapOf({ port: whole(1, 65_535) })
      .nullable()
      .default(null),
  }).prefault({}),
};
const fileSchema = (readPack: PackReader) => mapOf({ country: countrySchema(readPack), ...fileKeys });

type ConfigurationFile = z.infer<ReturnType<typeof fileSchema>>;
type CarrierFile = ConfigurationFile['carriers'][number];
type SimulatorFile = ConfigurationFile['sandbox'];

function carrierOf(
  file: CarrierFile,
  env: Record<string, string | undefined>,
  country: ConfigurationFile['country'],
): CarrierConfig {
  const simulate = file.simulate === false ? null : simulatorOf(file.simulate === true ? {} : file.simulate, file.tps);
  return {
    name: file.name,
    tps: file.tps,
    tpsScope: file.tps_scope,
    simulate,
    classes: file.classes,
    senders: file.senders,
    cost: file.cost,
    weight: file.weight,
    receiptId: file.receipt_id,
    addr: {
      sourceTon: file.source_addr_ton,
      sourceNpi: file.source_addr_npi,
      destTon: file.addr_ton,
      destNpi: file.addr_npi,
    },
    enquireLinkMs: file.enquire_link_s * 1_000,
    responseTimerMs: file.response_timer_s * 1_000,
    wire: wireOf(file, country),
    errors: file.errors,
    binds: simulate === null ? file.binds.map((each) => bindOf(each, env)) : [simulatedBind(file.binds[0])],
  };
}

function simulatorOf(file: Partial<SimulatorFile>, carrierTps: number): SimulatorConfig {
  const full = simulator.parse(file);
  return {
    // A real carrier counts whole seconds of its own clock; the simulated one is exactly as strict as the contract.
    tps: full.tps ?? carrierTps,
    latencyMs: full.latency_ms,
    responseMs: full.response_ms,
    receipts: full.receipts,
    ids: full.ids,
    magic: full.magic,
  };
}

function sandboxCarrier(file: SimulatorFile, country: ConfigurationFile['country']): CarrierConfig {
  const tps = file.tps ?? 500;
  const plain = carrier.parse({ name: sandboxCarrierName, tps, simulate: true });
  return {
    ...carrierOf(plain, {}, country),
    simulate: { ...simulatorOf(file, tps), magic: true, latencyMs: file.latency_ms },
  };
}

/** On two cores one thread, because all other processes share them. */
function threadsOf(wanted: 'auto' | number): number {
  return wanted === 'auto' ? Math.max(1, Math.min(8, Math.floor(availableParallelism() / 2))) : wanted;
}

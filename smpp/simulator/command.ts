// `heliograph smsc`: the simulator on the command line. It parses the options, starts, prints one line with its ports,
// and stops on SIGINT and SIGTERM. Wrong options throw SetupError.
import { once } from 'node:events';
import { readFileSync } from 'node:fs';
import { parseArgs } from 'node:util';
import { SetupError, messageOf } from '../../platform/errors.ts';
import { seededRandom, systemRandom } from '../../platform/random.ts';
import { faultNames, parseFault } from './faults.ts';
import { parseLatency } from './latency.ts';
import { inboundForms } from './inbound.ts';
import { type AccountOptions, idStyles, receiptForms, type SimulatorOptions, withDefaults } from './options.ts';
import { startSimulator } from './simulator.ts';

/** Runs until a signal. Throws SetupError for invalid options. */
export async function runSimulatorCommand(argv: string[]): Promise<void> {
  const { values } = readArguments(argv);
  if (values.help) {
    process.stdout.write(helpText);
    return;
  }
  const options = optionsOf(values);
  const simulator = await startSimulator(options).catch((error) => {
    if (error instanceof SetupError) throw error;
    throw new SetupError(`the simulator cannot listen: ${messageOf(error)}`, error);
  });
  // Before a caller can know that it is ready: a signal right after that must not end it without its pending file.
  const stopped = Promise.race([once(process, 'SIGINT'), once(process, 'SIGTERM')]);
  const { port, statsPort } = simulator;
  const ready = { ready: true, port, stats_port: statsPort, pid: process.pid };
  process.stdout.write(
    values.json
      ? `${JSON.stringify(ready)}\n`
      : `SMSC simulator: SMPP 3.4 on ${options.host}:${port}, statistics on http://127.0.0.1:${statsPort}/stats\n`,
  );
  await stopped;
  await simulator.close();
}

const usual = withDefaults({});
const flags = {
  host: { type: 'string', default: usual.host },
  port: { type: 'string', default: '2776' },
  'stats-port': { type: 'string', default: '0' },
  'token-file': { type: 'string' },
  'system-id': { type: 'string', default: 'heliograph' },
  password: { type: 'string', default: 'sandbox' },
  tps: { type: 'string', default: '0' },
  account: { type: 'string', multiple: true },
  'system-type': { type: 'string' },
  gsm7: { type: 'string', default: 'unpacked' },
  'gsm7-data-coding': { type: 'string', default: '0' },
  'tls-cert': { type: 'string' },
  'tls-key': { type: 'string' },
  'tls-ca': { type: 'string' },
  'binds-max': { type: 'string', default: '0' },
  'latency-ms': { type: 'string', default: 'lognormal:250,0.4' },
  'response-ms': { type: 'string', default: 'fixed:0' },
  receipts: { type: 'string', default: usual.receipts },
  ids: { type: 'string', default: usual.ids },
  'ids-from': { type: 'string' },
  magic: { type: 'boolean' },
  'no-magic': { type: 'boolean' },
  mo: { type: 'string', default: '0' },
  'mo-from': { type: 'string', default: usual.mo.from },
  'mo-to': { type: 'string', default: usual.mo.to },
  'mo-text': { type: 'string', default: usual.mo.text },
  'mo-as': { type: 'string', default: usual.mo.as },
  'record-max': { type: 'string', default: String(usual.recordMax) },
  fault: { type: 'string', multiple: true },
  'pending-file': { type: 'string' },
  seed: { type: 'string' },
  json: { type: 'boolean' },
  help: { type: 'boolean', short: 'h' },
} as const;

type Values = ReturnType<typeof readArguments>['values'];

function readArguments(argv: string[]) {
  try {
    return parseArgs({ args: argv, options: flags, allowPositionals: false });
  } catch (error) {
    throw new SetupError(`${messageOf(error)} (see --help)`, error);
  }
}

function optionsOf(values: Values): Partial<SimulatorOptions> {
  const idsFrom = values['ids-from'];
  if (idsFrom !== undefined && !/^\d{1,19}$/.test(idsFrom)) refuse('ids-from', idsFrom, 'up to 19 digits');
  return {
    host: values.host,
    port: count('port', values.port, 65_535),
    statsPort: count('stats-port', values['stats-port'], 65_535),
    token: tokenOf(values['token-file']),
    accounts: accountsOf(values),
    alphabet: {
      gsm7Form: oneOf('gsm7', values.gsm7, ['unpacked', 'packed']),
      gsm7DataCoding: count('gsm7-data-coding', values['gsm7-data-coding'], 255),
    },
    tls: tlsOf(values),
    magic: !values['no-magic'],
    pendingFile: values['pending-file'],
    random: values.seed === undefined ? systemRandom : seededRandom(count('seed', values.seed)),
    faults: (values.fault ?? []).map((text) => {
      return parseFault(text) ?? refuse('fault', text, `one of ${faultNames.join(', ')}, with :N where it takes one`);
    }),
    bindsMax: count('binds-max', values['binds-max']),
    latency: latency('latency-ms', values['latency-ms']),
    response: latency('response-ms', values['response-ms']),
    receipts: oneOf('receipts', values.receipts, receiptForms),
    ids: oneOf('ids', values.ids, idStyles),
    idsFrom: idsFrom === undefined ? undefined : BigInt(idsFrom),
    moPerS: count('mo', values.mo, 1_000),
    mo: {
      from: values['mo-from'],
      to: values['mo-to'],
      text: values['mo-text'],
      as: oneOf('mo-as', values['mo-as'], inboundForms),
    },
    recordMax: count('record-max', values['record-max'], 10_000_000),
  };
}

function accountsOf(values: Values): AccountOptions[] {
  const first = {
    systemId: values['system-id'],
    password: values.password,
    tps: count('tps', values.tps, 1_000_000),
    systemType: values['system-type'],
  };
  const others = (values.account ?? []).map((text) => {
    const match = /^([^:]{1,15}):([^:]{0,8})(?::(\d{1,7}))?$/.exec(text);
    if (!match) return refuse('account', text, 'system-id:password or system-id:password:tps');
    return { systemId: match[1]!, password: match[2]!, tps: Number(match[3] ?? 0) };
  });
  return [first, ...others];
}

/** From a file, because every user of the machine can read a command line. */
function tokenOf(path: string | undefined): string | undefined {
  if (path === undefined) return undefined;
  const token = read('token-file', path, 'a file with a token').trim();
  return /^\S{16,256}$/.test(token)
    ? token
    : refuse('token-file', path, 'one line of 16 to 256 characters without spaces');
}

function tlsOf(values: Values): SimulatorOptions['tls'] {
  const [cert, key, ca] = (['tls-cert', 'tls-key', 'tls-ca'] as const).map((name) => {
    const path = values[name];
    return path === undefined ? undefined : read(name, path, 'a PEM file');
  });
  if (cert === undefined && key === undefined && ca === undefined) return undefined;
  if (cert === undefined || key === undefined) return refuse('tls-cert', 'alone', '--tls-cert and --tls-key together');
  return { cert, key, ca };
}

function read(name: string, path: string, expected: string): string {
  try {
    return readFileSync(path, 'utf8');
  } catch (error) {
    return refuse(name, path, `${expected} (${messageOf(error)})`);
  }
}

function count(name: string, text: string, max = Number.MAX_SAFE_INTEGER): number {
  const value = Number(text);
  if (/^\d+$/.test(text) && value <= max) return value;
  return refuse(name, text, `a whole number from 0 to ${max}`);
}

function latency(name: string, text: string) {
  return parseLatency(text) ?? refuse(name, text, 'fixed:MS, uniform:FROM,TO or lognormal:MEDIAN,SIGMA');
}

function oneOf<T extends string>(name: string, text: string, choices: readonly T[]): T {
  return choices.find((choice) => choice === text) ?? refuse(name, text, choices.join(', '));
}

function refuse(name: string, text: string, expected: string): never {
  throw new SetupError(`--${name} ${text}: expected ${expected}`);
}

const helpText = `heliograph smsc: an SMSC simulator, SMPP 3.4 over TCP

  --port N             listen here (2776; 0 takes a free port)
  --host H             on this address (127.0.0.1)
  --system-id ID       the account's system id (heliograph)
  --password P         and password (sandbox)
  --tps N              more submits than this in any one second answer ESME_RTHROTTLED (0: no limit)
  --account ID:P[:N]   another account, with its own limit; may be repeated
  --system-type T      binds that name another system_type are refused
  --gsm7 F             unpacked or packed septets (unpacked)
  --gsm7-data-coding N which data_coding is GSM-7, besides 0
  --tls-cert FILE      speak TLS with this certificate (PEM) and --tls-key FILE;
                       with --tls-ca FILE clients need a certificate of that authority
  --binds-max N        more binds of one account answer ESME_RALYBND (0: no limit)
  --latency-ms D       from the response to the receipt (lognormal:250,0.4)
  --response-ms D      from the submit to its response (fixed:0)
                       D is fixed:MS, uniform:FROM,TO or lognormal:MEDIAN,SIGMA
  --receipts F         text, tlv or both (text)
  --ids F              decimal, hex or resp-hex-receipt-decimal (decimal)
  --ids-from N         the first message id
  --no-magic           treat numbers that end in 0000 to 0007 like all others
  --mo N               send N messages from subscribers per second to each bound account
  --mo-text T          their text, {n} counts them (inbound {n}); long texts go in parts
  --mo-from N          from this number (+8801700000000)
  --mo-to N            to this number or short code (16000)
  --mo-as F            how long texts go: udh, udh8, sar or message_payload (udh)
  --record-max N       keep this many submits for GET /messages (10000)
  --fault NAME[:N]     start with a fault; may be repeated:
                       ${faultNames.slice(0, 11).join(', ')},
                       ${faultNames.slice(11).join(', ')}
  --pending-file FILE     keep receipts that are still to come over a stop and the next start;
                       without it, and over a kill -9, they are lost
  --stats-port N       counters as JSON over HTTP (0 takes a free port):
                       GET /stats /messages /binds /nonces, POST /fault /mo /reset,
                       DELETE /fault
  --token-file FILE    all of these need the token in this file (Authorization: Bearer)
  --seed N             repeatable latencies and garbage
  --json               print one JSON line when ready
`;

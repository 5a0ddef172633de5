// Text of heliograph.yaml → Configuration, or BadConfiguration with every problem: YAML syntax first, then the schema,
// then what a schema cannot check (duplicate names, unknown carriers, a missing secret, PDU settings that contradict each
// other). It also reads country packs: those of Heliograph by name (bd, fr), an operator's own by file.
import { type Configuration, sandboxCarrierName, type CarrierConfig } from './configuration.ts';
import { BadConfiguration, readOrRefuse, shown } from './bad-configuration.ts';
import { type Place, problemAt, problemsOf, readYaml } from './yaml-file.ts';
import { configurationSchema } from './schema.ts';
import { storeMbNeeded } from '../platform/limits-streams.ts';
import { existsSync } from 'node:fs';
import { dirname, join } from 'node:path';
import { mayBeIn } from '../model/e164.ts';
import { type PackFile, type PackReader, packSchema } from './country-schema.ts';

export function parseConfiguration(
  text: string,
  fileName: string,
  env: Record<string, string | undefined> = {},
): Configuration {
  const { place, content } = readYaml(text, fileName);
  const parsed = configurationSchema(env, packReader(fileName)).safeParse(content);
  if (!parsed.success) throw new BadConfiguration(problemsOf(place, parsed.error.issues));
  const problems = crossProblems(place, parsed.data, content as FileContent, env);
  if (problems.length > 0) throw new BadConfiguration(problems);
  return parsed.data;
}

/** Only the keys used below; the schema has checked their types. */
type FileContent = {
  country: { pack?: string; prefixes?: Record<string, string> };
  limits?: { stream_store_mb_max?: number };
  carriers: { name: string; simulate?: unknown; binds?: { password?: string; password_env?: string }[] }[];
};

function crossProblems(
  place: Place,
  configuration: Configuration,
  content: FileContent,
  env: Record<string, string | undefined>,
): string[] {
  const problems: string[] = [];
  const add = (path: PropertyKey[], text: string, onKey = false) => problems.push(problemAt(place, path, text, onKey));
  // A live message routed to the sandbox would be reported as delivered without reaching a handset.
  const names = configuration.carriers.map(({ name }) => name).filter((name) => name !== sandboxCarrierName);
  const known = `one of the carriers ${[...new Set(names)].join(', ')}`;
  const wrong = (carrier: string) =>
    carrier === sandboxCarrierName
      ? `found "${carrier}", which is for test keys only, expected ${known}`
      : `found "${carrier}", expected ${known}`;
  const check = (carrier: string, path: PropertyKey[]) => {
    if (!names.includes(carrier)) add(path, wrong(carrier));
  };

  content.carriers.forEach((carrier, index) => {
    const path = ['carriers', index];
    const first = content.carriers.findIndex((other) => other.name === carrier.name);
    if (first < index)
      add([...path, 'name'], `found "${carrier.name}" a second time (first carriers[${first}]), expected another name`);
    const simulated = carrier.simulate !== undefined && carrier.simulate !== false;
    if (carrier.name === sandboxCarrierName && !simulated) {
      add(
        [...path, 'name'],
        `the carrier "${sandboxCarrierName}" takes the test keys and must be simulated, expected "simulate: true"`,
      );
    }
    if (!simulated && (carrier.binds ?? []).length === 0)
      add(path, 'missing binds, expected at least one bind or "simulate: true"');
    (carrier.binds ?? []).forEach((bind, bindIndex) => {
      const at = [...path, 'binds', bindIndex];
      if (bind.password_env !== undefined && bind.password !== undefined) {
        add([...at, 'password_env'], 'found password as well, expected only one of password and password_env');
      } else if (bind.password_env !== undefined && env[bind.password_env] === undefined) {
        add(
          [...at, 'password_env'],
          `the environment variable ${bind.password_env} is not set, expected the password in it`,
        );
      } else if (bind.password_env === undefined && bind.password === undefined) {
        add(at, 'missing password, expected password or password_env');
      }
    });
  });
  // The carriers of the file come first, in its order; only the sandbox may follow.
  configuration.carriers.slice(0, content.carriers.length).forEach((carrier, index) => {
    for (const { path, text } of wireProblems(carrier)) add(['carriers', index, ...path], text);
  });
  for (const [prefix, carrier] of Object.entries(configuration.country.prefixes)) {
    if (names.includes(carrier)) continue;
    const { pack, prefixes } = content.country;
    if (pack === undefined || prefixes?.[prefix] !== undefined) {
      add(['country', 'prefixes', prefix], wrong(carrier));
    } else {
      add(
        ['country', 'carriers'],
        `the pack "${pack}" gives the prefix ${prefix} to "${carrier}", expected a line that says which carrier that is (or null): ${known}`,
      );
    }
  }
  configuration.routes.forEach((route, index) => {
    route.carriers.forEach((carrier, at) => check(carrier, ['routes', index, 'carriers', at]));
    if (route.choose === 'conversion' && route.classes.join() !== 'otp') {
      const found = `found "conversion" for ${route.classes.length === 0 ? 'every class' : route.classes.join(', ')}`;
      add(['routes', index, 'choose'], `${found}, expected classes: [otp]: other messages have no code to be entered`);
    }
  });
  configuration.routing.fallback.forEach((carrier, at) => check(carrier, ['routing', 'fallback', at]));
  const { callingCode } = configuration.country;
  const { destinations, safeList } = configuration.otp.guard;
  for (const [name, prefixes] of Object.entries({ destinations, safe_list: safeList })) {
    prefixes.forEach((prefix, at) => {
      if (mayBeIn(callingCode, prefix)) return;
      const expected = `expected a prefix of ${callingCode}, the calling code of country, or no such entry`;
      add(['otp', 'guard', name, at], `found "${prefix}", where no number can be reached, ${expected}`);
    });
  }
  const { streamStoreMbMax, streamMb, shares } = configuration.limits;
  const reservedMb = storeMbNeeded(streamMb, shares);
  if (reservedMb > streamStoreMbMax) {
    const asked = content.limits?.stream_store_mb_max === undefined ? ['limits'] : ['limits', 'stream_store_mb_max'];
    add(
      asked,
      `all streams and buckets may hold ${reservedMb} MiB, expected stream_store_mb_max of that or more, found ${streamStoreMbMax}`,
    );
  }
  return problems;
}

type WireProblem = { path: string[]; text: string };

function wireProblems({ wire, binds }: CarrierConfig): WireProblem[] {
  const problems: WireProblem[] = [];
  const { gsm7DataCoding, ucs2DataCoding, latin1DataCoding, latin1, concatenation } = wire.text;
  const same = (key: string, value: number) => {
    problems.push({ path: ['text', key], text: `found ${value} for two alphabets, expected one data_coding for each` });
  };
  if (gsm7DataCoding === ucs2DataCoding) same('ucs2_data_coding', ucs2DataCoding);
  if (latin1 !== 'never' && latin1DataCoding === gsm7DataCoding) same('latin1_data_coding', latin1DataCoding);
  if (latin1 !== 'never' && latin1DataCoding === ucs2DataCoding) same('latin1_data_coding', latin1DataCoding);
  // Optional parameters exist since 3.4 (SMPP 3.4 §3.2.5.1): a carrier of 3.3 refuses or ignores them.
  if (binds.every(({ interfaceVersion }) => interfaceVersion >= 0x34)) return problems;
  const before = 'which a bind with interface_version 0x33 cannot send';
  if (wire.tlvs.length > 0)
    problems.push({ path: ['tlvs'], text: `found optional parameters, ${before}, expected none` });
  if (concatenation !== 'udh') {
    problems.push({ path: ['text', 'concatenation'], text: `found "${concatenation}", ${before}, expected udh` });
  }
  return problems;
}

const shippedFolder = join(import.meta.dirname, '../policy/country/packs');

/** Pack files are relative to the folder of `configFile`. */
function packReader(configFile: string): PackReader {
  return (pack) => {
    const isFile = /\.ya?ml$/.test(pack);
    if (!isFile && !/^[a-z]{2,8}$/.test(pack)) return null;
    const file = isFile ? join(dirname(configFile), pack) : join(shippedFolder, `${pack}.yaml`);
    return existsSync(file) ? readPack(file) : null;
  };
}

function readPack(file: string): PackFile {
  const { place, content } = readYaml(readOrRefuse(file), shown(file));
  const parsed = packSchema.safeParse(content);
  if (!parsed.success) throw new BadConfiguration(problemsOf(place, parsed.error.issues));
  return parsed.data;
}

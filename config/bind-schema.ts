// The schema of one bind in heliograph.yaml: address, credentials, TLS.
import { z } from 'zod';
import type { BindConfig, TlsConfig } from './configuration.ts';
import { mapOf, oneOf, pattern, whole, words, yesOrNo } from './fields.ts';

const file = words(1, 4_096, 'the path of a PEM file').nullable().default(null);

const tlsKeys = mapOf({
  ca_file: file,
  cert_file: file,
  key_file: file,
  server_name: words(1, 253, 'the name in the certificate').nullable().default(null),
  verify: yesOrNo.default(true),
}).refine((tls) => (tls.cert_file === null) === (tls.key_file === null), {
  error: 'cert_file and key_file together',
});

const versions = [0x33, 0x34, 0x50] as const;

export const bindSchema = mapOf({
  host: words(1, 253, 'a host name or address'),
  port: whole(1, 65_535).default(2775),
  system_id: words(1, 15),
  password: words(0, 64).optional(),
  password_env: pattern(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable').optional(),
  system_type: words(0, 12).default(''),
  interface_version: z.literal(versions, { error: '0x33, 0x34 or 0x50' }).default(0x34),
  address_range: mapOf({
    ton: whole(0, 6).default(0),
    npi: whole(0, 18).default(0),
    range: words(0, 40).default(''),
  }).prefault({}),
  type: oneOf(['transceiver', 'transmitter', 'receiver']).default('transceiver'),
  window: whole(1, 1_000).default(10),
  count: whole(1, 64).default(1),
  tls: z
    .union([z.boolean(), tlsKeys], {
      error: (issue) =>
        typeof issue.input === 'object' && issue.input !== null ? undefined : 'true, false or keys such as ca_file',
    })
    .default(false),
});

type BindFile = z.infer<typeof bindSchema>;

export function bindOf(from: BindFile, env: Record<string, string | undefined>): BindConfig {
  return {
    host: from.host,
    port: from.port,
    systemId: from.system_id,
    password: from.password_env === undefined ? (from.password ?? '') : (env[from.password_env] ?? ''),
    systemType: from.system_type,
    interfaceVersion: from.interface_version,
    addressRange: from.address_range,
    type: from.type,
    window: from.window,
    count: from.count,
    tls: tlsOf(from.tls),
  };
}

/** The bind to the simulator; the simulator reads its credentials from the same configuration. */
export function simulatedBind(listed = bindSchema.parse(simulatorDefaults)): BindConfig {
  const password = listed.password ?? 'simulate';
  return { ...bindOf(listed, {}), host: '127.0.0.1', port: 0, password, type: 'transceiver', tls: false };
}

const simulatorDefaults = { host: '127.0.0.1', system_id: 'heliograph', window: 100, count: 2 };

function tlsOf(from: BindFile['tls']): false | TlsConfig {
  if (from === false) return false;
  const keys = from === true ? tlsKeys.parse({}) : from;
  return {
    caFile: keys.ca_file,
    certFile: keys.cert_file,
    keyFile: keys.key_file,
    serverName: keys.server_name,
    verify: keys.verify,
  };
}

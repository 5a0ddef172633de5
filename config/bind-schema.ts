// The schema of one bind in heliograph.yaml: address, credentials, TLS.
import { z } from 'zod';
import { mapOf, oneOf, pattern, rawMapOf, switchOr, whole, words, yesOrNo } from './fields.ts';
import { camelFields } from '../platform/letter-case.ts';

const file = words(1, 4_096, 'the path of a PEM file').nullable().default(null);

/** Files are read for each connection, so that a renewed certificate needs no restart. */
const tlsSchema = rawMapOf({
  /** Trusted authorities instead of the system's. */
  ca_file: file,
  /** Our own certificate and its key, for carriers that require one. */
  cert_file: file,
  key_file: file,
  /** The name that the certificate must have, when it is not `host`. */
  server_name: words(1, 253, 'the name in the certificate').nullable().default(null),
  verify: yesOrNo.default(true),
}).refine((tls) => (tls.cert_file === null) === (tls.key_file === null), { error: 'cert_file and key_file together' });

const versions = [0x33, 0x34, 0x50] as const;

export const bindSchema = mapOf({
  /** For a simulated carrier `127.0.0.1` and port 0: the port is chosen at start, see `bindsOf`. */
  host: words(1, 253, 'a host name or address'),
  port: whole(1, 65_535).default(2775),
  system_id: words(1, 15),
  password: words(0, 64).optional(),
  password_env: pattern(/^[A-Za-z_][A-Za-z0-9_]*$/, 'the name of an environment variable').optional(),
  system_type: words(0, 12).default(''),
  /** interface_version of the bind: 0x33, 0x34 or 0x50. */
  interface_version: z.literal(versions, { error: '0x33, 0x34 or 0x50' }).default(0x34),
  /** address_range of a receiving bind (SMPP 3.4, 5.2.7), where the carrier requires it. */
  address_range: mapOf({
    ton: whole(0, 6).default(0),
    npi: whole(0, 18).default(0),
    range: words(0, 40).default(''),
  }).prefault({}),
  type: oneOf(['transceiver', 'transmitter', 'receiver']).default('transceiver'),
  /** Submits that may wait for a response on one session. */
  window: whole(1, 1_000).default(10),
  /** Sessions opened with these credentials. */
  count: whole(1, 64).default(1),
  tls: switchOr(tlsSchema, 'true, false or keys such as ca_file')
    .default(false)
    .transform((tls) => tls !== false && camelFields(tls === true ? tlsSchema.parse({}) : tls)),
});

type BindFile = z.infer<typeof bindSchema>;

export type BindConfig = ReturnType<typeof bindOf>;

export function bindOf(
  { passwordEnv, password = '', ...bind }: BindFile,
  env: Readonly<Record<string, string | undefined>>,
) {
  return { ...bind, password: passwordEnv === undefined ? password : (env[passwordEnv] ?? '') };
}

/** The bind to the simulator; the simulator reads its credentials from the same configuration. */
export function simulatedBind(listed = bindSchema.parse(simulatorDefaults)): BindConfig {
  const password = listed.password ?? 'simulate';
  return { ...bindOf(listed, {}), host: '127.0.0.1', port: 0, password, type: 'transceiver', tls: false };
}

const simulatorDefaults = { host: '127.0.0.1', system_id: 'heliograph', window: 100, count: 2 };

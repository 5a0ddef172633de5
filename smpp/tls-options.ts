// The TLS options of a session: files are read for each connection, so that a renewed certificate is used at the next
// reconnect. Verification is on by default, because the connection carries one-time codes.
import { readFileSync } from 'node:fs';
import { isIP } from 'node:net';
import type { ConnectionOptions } from 'node:tls';
import { messageOf } from '../platform/errors.ts';
import type { TlsSettings } from './session-contract.ts';

/** Options for tls.connect, or the reason why there are none. */
export function tlsOptions(settings: TlsSettings, host: string): ConnectionOptions | { ok: false; why: string } {
  const name = settings.serverName ?? host;
  const options: ConnectionOptions = { minVersion: 'TLSv1.2', rejectUnauthorized: settings.verify ?? true };
  // An IP address cannot be a server name indication; it is still compared with the certificate.
  if (isIP(name) === 0) options.servername = name;
  for (const [option, key, path] of [
    ['ca', 'ca_file', settings.caFile],
    ['cert', 'cert_file', settings.certFile],
    ['key', 'key_file', settings.keyFile],
  ] as const) {
    if (!path) continue;
    try {
      options[option] = readFileSync(path);
    } catch (error) {
      return { ok: false, why: `${key} cannot be read: ${messageOf(error)}` };
    }
  }
  return options;
}

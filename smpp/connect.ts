// Opens the TCP or TLS connection of a session. The owner has the timers; every failure, an unreadable certificate file
// included, is an 'error' event of the socket.
import net, { isIP } from 'node:net';
import tls, { type ConnectionOptions } from 'node:tls';
import { messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import type { SessionOptions, TlsSettings } from './session-contract.ts';
import { readFileSync } from 'node:fs';

export function connectSocket(
  options: Pick<SessionOptions, 'host' | 'port' | 'tls'>,
  onConnected: () => void,
): net.Socket {
  const { host, port } = options;
  // Missing in net's types but passed to the stream: 'drain' must fire at our own soft bound.
  const highWaterMark = { writableHighWaterMark: limits.smpp.writeBytesSoft };
  if (!options.tls) return net.connect({ host, port, noDelay: true, ...highWaterMark }, onConnected);
  const secure = tlsOptions(options.tls, host);
  if ('ok' in secure) return brokenSocket(secure.why);
  try {
    return tls.connect({ host, port, ...highWaterMark, ...secure }, onConnected);
  } catch (error) {
    // The files contain no certificate or no key.
    return brokenSocket(`TLS cannot be set up: ${messageOf(error)}`);
  }
}

function brokenSocket(why: string): net.Socket {
  const socket = new net.Socket();
  // In the next turn of the event loop: the owner must have its session before the first event.
  setImmediate(() => socket.destroy(new Error(why)));
  return socket;
}

/**
 * Options for tls.connect, or the reason why there are none. Files are read for each connection, so that a renewed
 * certificate is used at the next reconnect. Verification is on by default: the connection carries one-time codes.
 */
function tlsOptions(settings: TlsSettings, host: string): ConnectionOptions | { ok: false; why: string } {
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

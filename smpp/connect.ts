// Opens the TCP or TLS connection of a session. The owner has the timers; every failure, an unreadable certificate file
// included, is an 'error' event of the socket.
import net from 'node:net';
import tls from 'node:tls';
import { messageOf } from '../platform/errors.ts';
import { limits } from '../platform/limits.ts';
import type { SessionOptions } from './session-contract.ts';
import { tlsOptions } from './tls-options.ts';

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

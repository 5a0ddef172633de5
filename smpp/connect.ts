// Opens the TCP or TLS connection of a session. It only connects: timers are its owner's, and whatever goes wrong,
// a bad certificate file included, comes out of the socket as its error.
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
  // Not in net's types, but passed on to the stream: 'drain' must come at our own soft bound.
  const highWaterMark = { writableHighWaterMark: limits.smpp.writeBytesSoft };
  if (!options.tls) return net.connect({ host, port, noDelay: true, ...highWaterMark }, onConnected);
  const secure = tlsOptions(options.tls, host);
  if ('ok' in secure) return brokenSocket(secure.why);
  try {
    return tls.connect({ host, port, ...highWaterMark, ...secure }, onConnected);
  } catch (error) {
    // What is in the files is no certificate or no key.
    return brokenSocket(`TLS cannot be set up: ${messageOf(error)}`);
  }
}

function brokenSocket(why: string): net.Socket {
  const socket = new net.Socket();
  // In the next turn: a session never speaks before it was given to its owner.
  setImmediate(() => socket.destroy(new Error(why)));
  return socket;
}

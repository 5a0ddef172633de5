// Opens the TCP or TLS connection of a session. It only connects: timers and errors are its owner's.
import net from 'node:net';
import tls from 'node:tls';
import { limits } from '../platform/limits.ts';
import type { SessionOptions } from './session-contract.ts';

export function connectSocket(
  options: Pick<SessionOptions, 'host' | 'port' | 'tls'>,
  onConnected: () => void,
): net.Socket {
  const { host, port } = options;
  if (options.tls) {
    const name = net.isIP(host) === 0 ? { servername: host } : {};
    return tls.connect({ host, port, ...name, ...options.tls }, onConnected);
  }
  // Not in net's types, but passed on to the stream: 'drain' must come at our own soft bound.
  const highWaterMark = { writableHighWaterMark: limits.smpp.writeBytesSoft };
  return net.connect({ host, port, noDelay: true, ...highWaterMark }, onConnected);
}

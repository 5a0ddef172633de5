// A client that writes octets on its own connection, because no HTTP library sends what these tests need: half a
// request, a slow body, a client that does not read.
import { type Socket, connect } from 'node:net';
import { ignoring } from '../../../platform/errors.ts';

export type RawClient = {
  readonly socket: Socket;
  /** What came back so far. */
  text: string;
  isClosed: boolean;
};

export function rawClient(port: number, ...pieces: readonly (string | Buffer)[]): RawClient {
  const socket = connect(port, '127.0.0.1');
  const client: RawClient = { socket, text: '', isClosed: false };
  socket.on('data', (chunk: Buffer) => {
    client.text += chunk.toString('latin1');
  });
  socket.on('error', (error) => ignoring(error, 'the server cut a hostile connection'));
  socket.on('close', () => {
    client.isClosed = true;
  });
  for (const piece of pieces) socket.write(piece);
  return client;
}

export function requestHead(method: string, path: string, headers: readonly string[] = []): string {
  return [`${method} ${path} HTTP/1.1`, 'host: here', ...headers, '', ''].join('\r\n');
}

/** The status of the first answer; null before it came. */
export function statusOf({ text }: RawClient): number | null {
  const found = /^HTTP\/1\.1 (\d{3}) /.exec(text);
  return found === null ? null : Number(found[1]);
}

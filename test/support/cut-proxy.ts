// A TCP proxy between one process and NATS that stops forwarding at a chosen moment: when the process has sent `when`,
// either that and everything after it is dropped, or the server's answers are, until it is mended.
import { type Socket, connect, createServer } from 'node:net';
import { once } from 'node:events';
import { ignoring } from '../../platform/errors.ts';

export type Cut = {
  /** Searched in what the process sends, for the n-th occurrence. */
  readonly when: string;
  readonly times: number;
  /** requests: it never arrives. answers: it arrives, but is not answered. */
  readonly what: 'requests' | 'answers';
};

export type CutProxy = { readonly url: string; readonly isCut: () => boolean; mend(): void; close(): void };

export async function cutProxy(natsUrl: string, cut: Cut): Promise<CutProxy> {
  const target = new URL(natsUrl);
  const sockets = new Set<Socket>();
  let isCut = false;
  let seen = 0;
  const server = createServer((client) => {
    const upstream = connect(Number(target.port), target.hostname);
    for (const socket of [client, upstream]) {
      sockets.add(socket);
      socket.setNoDelay(true);
      socket.on('error', (error) => ignoring(error, 'a proxied connection broke'));
      socket.on('close', () => {
        client.destroy();
        upstream.destroy();
      });
    }
    client.on('data', (chunk: Buffer) => {
      if (isCut && cut.what === 'requests') return;
      const at = isCut ? -1 : findCut(chunk.toString('latin1'));
      if (at < 0) return void upstream.write(chunk);
      isCut = true;
      upstream.write(cut.what === 'requests' ? chunk.subarray(0, at) : chunk);
    });
    upstream.on('data', (chunk: Buffer) => {
      if (!isCut || cut.what === 'requests') client.write(chunk);
    });
  });
  function findCut(text: string): number {
    for (let at = text.indexOf(cut.when); at >= 0; at = text.indexOf(cut.when, at + 1)) {
      seen += 1;
      if (seen === cut.times) return at;
    }
    return -1;
  }
  server.listen(0, '127.0.0.1');
  await once(server, 'listening');
  const address = server.address();
  const here = new URL(natsUrl);
  here.port = String(typeof address === 'object' && address !== null ? address.port : 0);
  return {
    url: here.toString(),
    isCut: () => isCut,
    /** The process connects again, and nothing is dropped any more. */
    mend() {
      isCut = false;
      for (const socket of sockets) socket.destroy();
    },
    close() {
      server.close();
      for (const socket of sockets) socket.destroy();
    },
  };
}

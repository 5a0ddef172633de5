// Listens on a port, 0 for a free one, and resolves with its number. Rejects when the port is in use.
import type net from 'node:net';

export function listen(server: net.Server, port: number, host: string): Promise<number> {
  return new Promise((resolve, reject) => {
    server.once('error', reject);
    server.listen(port, host, () => {
      server.off('error', reject);
      resolve((server.address() as net.AddressInfo).port);
    });
  });
}

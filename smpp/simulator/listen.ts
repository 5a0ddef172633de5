// Binds a server to its port, 0 for a free one, and says which it got. Rejects when the port is taken.
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

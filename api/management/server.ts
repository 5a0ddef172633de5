// The management API on a loopback port of its own: the ingress forwards to it what is not hot. Every connection
// has deadlines, so that a stuck peer holds nothing for long.
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { type ManagementParts, managementApp } from './app.ts';

export type ManagementApi = {
  readonly port: number;
  /** Stops taking requests, lets those under way finish until the deadline, then cuts them off. */
  close(deadlineMs: number): Promise<void>;
};

export async function startManagementApi(
  options: ManagementParts & {
    /** 0: any free one. */
    port: number;
  },
): Promise<ManagementApi> {
  const app = managementApp(options);
  const listening = Promise.withResolvers<number>();
  const server = serve(
    {
      fetch: app.fetch,
      hostname: '127.0.0.1',
      port: options.port,
      overrideGlobalObjects: false,
      serverOptions: {
        requestTimeout: 15_000,
        headersTimeout: 10_000,
        // Longer than the ingress keeps an idle connection: it must be the one to close.
        keepAliveTimeout: 75_000,
        maxHeaderSize: 32 * 1024,
      },
    },
    (address) => listening.resolve(address.port),
  ) as Server;
  server.once('error', listening.reject);
  server.maxConnections = 512;
  const port = await listening.promise;

  return {
    port,
    async close(deadlineMs) {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await withDeadline('closing the management API', deadlineMs, closed).catch((error: unknown) => {
        ignoring(error, 'requests were cut off at the end of the drain');
        server.closeAllConnections();
      });
    },
  };
}

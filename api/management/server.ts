// The management API on a loopback port of its own; the ingress forwards to it all routes that are not hot. Every
// connection has deadlines, so that a stuck peer holds nothing for long.
import { createHash, timingSafeEqual } from 'node:crypto';
import type { Server } from 'node:http';
import { serve } from '@hono/node-server';
import { withDeadline } from '../../platform/deadline.ts';
import { ignoring } from '../../platform/errors.ts';
import { ingressSecretHeader } from '../http/forward.ts';
import { problem, problemBody, problemContentType } from '../problem.ts';
import { requestIdOf } from '../request-headers.ts';
import { type ManagementParts, managementApp } from './app.ts';

export type ManagementApi = Awaited<ReturnType<typeof startManagementApi>>;

export async function startManagementApi(
  options: ManagementParts & {
    /** 0: any free port. */
    port: number;
    /** Only requests with this secret are served: they have passed the ingress's gates. '': no secret is required. */
    secret: string;
  },
) {
  const app = managementApp(options);
  const isOurs = asksForSecret(options.secret);
  const listening = Promise.withResolvers<number>();
  const server = serve(
    {
      fetch: (request: Request) => (isOurs(request) ? app.fetch(request) : notOurs(request)),
      hostname: '127.0.0.1',
      port: options.port,
      overrideGlobalObjects: false,
      serverOptions: {
        requestTimeout: 15_000,
        headersTimeout: 10_000,
        // Longer than the ingress keeps an idle connection, so that the ingress closes it.
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
    /** Refuses new requests, waits for running ones until the deadline, then closes their connections. */
    async close(deadlineMs: number): Promise<void> {
      const closed = new Promise<void>((resolve) => server.close(() => resolve()));
      server.closeIdleConnections();
      await withDeadline('closing the management API', deadlineMs, closed).catch((error: unknown) => {
        ignoring(error, 'the connections of running requests were closed at the end of the drain');
        server.closeAllConnections();
      });
    },
  };
}

function asksForSecret(secret: string): (request: Request) => boolean {
  if (secret === '') return () => true;
  const expected = digestOf(secret);
  return (request) => timingSafeEqual(digestOf(request.headers.get(ingressSecretHeader) ?? ''), expected);
}

const digestOf = (text: string) => createHash('sha256').update(text).digest();

/** A client on this machine that bypassed the ingress: its networks and rates were not checked. */
function notOurs(request: Request): Response {
  const refusal = problem(403, 'ingress_only', 'use the public API: this port serves only its ingress');
  const requestId = requestIdOf(request.headers.get('x-request-id') ?? '');
  return new Response(problemBody(refusal, requestId), {
    status: refusal.status,
    headers: { 'content-type': problemContentType, 'cache-control': 'no-store', 'x-request-id': requestId },
  });
}

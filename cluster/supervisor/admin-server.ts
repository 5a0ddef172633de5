// The operator's port: /metrics merged over all processes and threads, /health/live, /health/ready. It asks the
// children and holds no state. It has no authentication: by default it listens on loopback, and there answers only to
// loopback host names, so that no web page in a local browser can read it through DNS rebinding.
import { type IncomingMessage, type Server, type ServerResponse, createServer } from 'node:http';
import { AggregatorRegistry } from 'prom-client';
import { SetupError, ignoring } from '../../platform/errors.ts';
import { log } from '../../platform/log.ts';
import { currentMetrics, metricsContentType } from '../../platform/metric-registry.ts';
import { isLoopback } from '../../config/loopback.ts';
import type { MetricObject } from './messages.ts';
import type { SupervisionTree } from './supervision-tree.ts';

type AdminParts = {
  readonly tree: SupervisionTree;
  /** Why the configuration file on disk is not in effect; null when it is. */
  readonly configurationRefused: () => readonly string[] | null;
};

export async function startAdminServer(host: string, port: number, parts: AdminParts) {
  let stopping = false;
  const onLoopback = isLoopback(host);
  const server = createServer((request, response) => {
    if (onLoopback && !isLoopback(nameIn(request.headers.host))) {
      const fix = `ask as http://127.0.0.1:${port}, or set HELIOGRAPH_ADMIN_HOST to the address others may ask`;
      return sendJson(response, 421, { status: 'misdirected', fix });
    }
    route(request, response, parts, stopping).catch((error) => {
      log.error({ error: (error as Error).message }, 'admin request failed');
      if (!response.headersSent) response.writeHead(500);
      response.end();
    });
  });
  server.requestTimeout = 5_000;
  server.headersTimeout = 5_000;
  server.maxConnections = 64;
  await listen(server, host, port);
  const address = server.address();
  return {
    port: typeof address === 'object' && address !== null ? address.port : port,
    /** Readiness fails from now on: load balancers stop sending before the drain begins. */
    announceStop() {
      stopping = true;
    },
    close() {
      return new Promise<void>((resolve) => {
        server.close(() => resolve());
        server.closeAllConnections();
      });
    },
  };
}

/** A client too old to send a Host header is not a browser. */
function nameIn(host: string | undefined): string {
  return host === undefined ? 'localhost' : host.replace(/:\d*$/, '');
}

function listen(server: Server, host: string, port: number): Promise<void> {
  return new Promise((resolve, reject) => {
    server.once('error', (error: NodeJS.ErrnoException) => {
      const why = error.code === 'EADDRINUSE' ? 'is taken by another process' : `cannot be used (${error.code})`;
      reject(new SetupError(`Port ${port} on ${host} ${why}: set HELIOGRAPH_ADMIN_PORT to a free one`, error));
    });
    server.listen(port, host, () => {
      server.removeAllListeners('error');
      server.on('error', (error) => ignoring(error, 'admin server'));
      resolve();
    });
  });
}

async function route(
  request: IncomingMessage,
  response: ServerResponse,
  { tree, configurationRefused }: AdminParts,
  stopping: boolean,
): Promise<void> {
  if (request.method !== 'GET' && request.method !== 'HEAD') {
    return sendJson(response, 405, { status: 'method_not_allowed' });
  }
  switch ((request.url ?? '').split('?')[0]) {
    case '/health/live':
      return sendJson(response, 200, { status: 'live' });
    case '/health/ready': {
      const children = tree.status;
      const ready = !stopping && children.every((child) => child.ready);
      const status = stopping ? 'stopping' : ready ? 'ready' : 'not_ready';
      // Still ready with a bad file on disk: the configuration in effect works.
      const refused = configurationRefused();
      const configuration = refused === null ? { inEffect: true } : { inEffect: false, problems: refused };
      return sendJson(response, ready ? 200 : 503, { status, children, configuration });
    }
    case '/metrics': {
      const merged = AggregatorRegistry.aggregate(await collect(tree));
      response.writeHead(200, { 'content-type': metricsContentType });
      response.end(await merged.metrics());
      return;
    }
    default:
      return sendJson(response, 404, { status: 'not_found', paths: ['/metrics', '/health/live', '/health/ready'] });
  }
}

/** A child that does not answer in time is left out of this answer. One that hangs is not asked: `child_up` is 0 then. */
async function collect(tree: SupervisionTree): Promise<MetricObject[][]> {
  const own = await currentMetrics();
  return [own, ...(await Promise.all(tree.children.map((child) => child.metrics()))).flat()];
}

function sendJson(response: ServerResponse, status: number, body: unknown): void {
  response.writeHead(status, { 'content-type': 'application/json', 'cache-control': 'no-store' });
  response.end(`${JSON.stringify(body)}\n`);
}

// The management API as one Hono app: request ids, the bound on requests, the endpoints, the pages, and an answer for
// every other path. server.ts opens the socket.
import { Hono } from 'hono';
import type { Shares } from '../../platform/limits-shares.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { problem } from '../problem.ts';
import { requestIdOf } from '../request-headers.ts';
import { openApiDocument } from './document.ts';
import type { Endpoint, HandlerParts } from './endpoint.ts';
import { type KnownPath, knownPathOf, refuseUnrouted } from './known-routes.ts';
import { servePages } from './pages/pages.ts';
import type { IdempotentWrite } from './idempotent-write.ts';
import { answerProblem } from './refuse.ts';
import { accountEndpoints } from './routes/account.ts';
import { apiKeyEndpoints } from './routes/api-keys.ts';
import { auditEndpoints } from './routes/audit.ts';
import { carrierEndpoints } from './routes/carriers.ts';
import { hotEndpoints } from './routes/hot.ts';
import { linkEndpoints } from './routes/links.ts';
import { otpGuardEndpoints } from './routes/otp-guard.ts';
import { otpUnlockEndpoints } from './routes/otp-unlock.ts';
import { exportEndpoints } from './routes/exports.ts';
import { reportEndpoints } from './routes/reports.ts';
import { senderEndpoints } from './routes/senders.ts';
import { suppressionEndpoints } from './routes/suppressions.ts';
import { templateEndpoints } from './routes/templates.ts';
import { webhookDeliveryEndpoints } from './routes/webhook-deliveries.ts';
import { webhookEndpoints } from './routes/webhooks.ts';
import { testEventEndpoints } from './routes/test-events.ts';
import { problemOfError, serveEndpoint } from './serve.ts';
import { SharedWork } from './shared-work.ts';
import type { Variables } from './refuse.ts';

const apiVersion = '0.1.0';

/** Every route of v1 in this version, hot ones included, in the order of the documentation. */
export const endpoints: readonly Endpoint[] = [
  ...hotEndpoints,
  ...accountEndpoints,
  ...apiKeyEndpoints,
  ...senderEndpoints,
  ...templateEndpoints,
  ...suppressionEndpoints,
  ...linkEndpoints,
  ...otpUnlockEndpoints,
  ...otpGuardEndpoints,
  ...webhookEndpoints,
  ...webhookDeliveryEndpoints,
  ...testEventEndpoints,
  ...carrierEndpoints,
  ...reportEndpoints,
  ...exportEndpoints,
  ...auditEndpoints,
];

const pagePaths: readonly KnownPath[] = [
  '/openapi.json',
  '/docs',
  '/docs/errors',
  '/docs/assets/{file}',
  '/health/live',
  '/health/ready',
].map((path) => ({ method: 'GET', path }));

export type ManagementParts = HandlerParts & { readonly idempotentWrite: IdempotentWrite; readonly shares: Shares };

export function managementApp({ idempotentWrite, shares, ...handlers }: ManagementParts): Hono<Variables> {
  const parts = { handlers, idempotentWrite, work: new SharedWork(shares) };
  const app = new Hono<Variables>();
  const known = [...endpoints.map(knownPathOf), ...pagePaths];
  let inFlight = 0;

  app.use(async (c, next) => {
    c.set('requestId', requestIdOf(c.req.header('x-request-id') ?? ''));
    c.header('x-request-id', c.get('requestId'));
    // No cache may keep an answer, such as a new key; the pages override this.
    c.header('cache-control', 'no-store');
    c.header('x-content-type-options', 'nosniff');
    if (inFlight >= limits.management.requestsInFlightMax) {
      return answerProblem(c, problem(503, 'overloaded', 'too many management requests are running', 1));
    }
    inFlight += 1;
    try {
      await next();
    } finally {
      inFlight -= 1;
      metrics.managementRequests.inc({ status: c.res.status });
    }
  });

  for (const each of endpoints) serveEndpoint(app, parts, each);
  servePages(app, () => openApiDocument(endpoints, apiVersion));

  app.notFound((c) => {
    const method = c.req.method === 'HEAD' ? 'GET' : c.req.method;
    const { problem: refusal, allow } = refuseUnrouted(method, c.req.path, known);
    return answerProblem(c, refusal, allow === undefined ? {} : { allow });
  });
  app.onError((error, c) => answerProblem(c, problemOfError(error, c.get('requestId'))));
  return app;
}

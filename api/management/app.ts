// The management API as one Hono app: request ids, the bound on requests, the endpoints, the pages, and an answer
// for every other path. It opens no socket: server.ts does.
import { Hono } from 'hono';
import type { Directory } from '../../cluster/directory/contract.ts';
import type { Store } from '../../cluster/store/store.ts';
import { newRequestId } from '../../model/ids.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import { problem } from '../problem.ts';
import { openApiDocument } from './document.ts';
import type { Endpoint } from './endpoint.ts';
import { type KnownPath, knownPathOf, refuseUnrouted } from './known-routes.ts';
import { servePages } from './pages/pages.ts';
import { answerProblem } from './refuse.ts';
import { accountHandlers, getAccount } from './routes/account.ts';
import { accountSettingsHandlers, getAccountSettings, patchAccountSettings } from './routes/account-settings.ts';
import { apiKeyHandlers, deleteApiKey, getApiKeys, postApiKey } from './routes/api-keys.ts';
import { deleteSms, getSms, listSms, postBatch, postSms } from './routes/hot.ts';
import { deleteSenderById, getSenders, postSender, senderHandlers } from './routes/senders.ts';
import {
  deleteSuppression,
  getSuppressions,
  importSuppressions,
  postSuppression,
  suppressionHandlers,
} from './routes/suppressions.ts';
import { deleteTemplateById, getTemplate, getTemplates, postTemplate, templateHandlers } from './routes/templates.ts';
import { type Variables, problemOfError, serveEndpoint } from './serve.ts';

export const apiVersion = '0.1.0';

/** Every route of v1 in this version, hot ones included, in the order of the documentation. */
export const endpoints: readonly Endpoint[] = [
  postSms,
  postBatch,
  getSms,
  listSms,
  deleteSms,
  getAccount,
  getAccountSettings,
  patchAccountSettings,
  getApiKeys,
  postApiKey,
  deleteApiKey,
  getSenders,
  postSender,
  deleteSenderById,
  getTemplates,
  getTemplate,
  postTemplate,
  deleteTemplateById,
  getSuppressions,
  postSuppression,
  importSuppressions,
  deleteSuppression,
];

const pagePaths: readonly KnownPath[] = [
  '/openapi.json',
  '/docs',
  '/docs/errors',
  '/docs/assets/{file}',
  '/health/live',
  '/health/ready',
].map((path) => ({ method: 'GET', path }));

/** The id is made by the ingress; one from elsewhere is taken when it can do no harm in a log or header. */
const safeRequestId = /^[A-Za-z0-9._:-]{1,128}$/;

export function managementApp(store: Store, directory: Directory): Hono<Variables> {
  const app = new Hono<Variables>();
  const known = [...endpoints.map(knownPathOf), ...pagePaths];
  let inFlight = 0;

  app.use(async (c, next) => {
    const given = c.req.header('x-request-id') ?? '';
    c.set('requestId', safeRequestId.test(given) ? given : newRequestId());
    c.header('x-request-id', c.get('requestId'));
    if (inFlight >= limits.management.requestsInFlightMax) {
      return answerProblem(c, problem(503, 'overloaded', 'too many management requests wait for an answer', [], 1));
    }
    inFlight += 1;
    try {
      await next();
    } finally {
      inFlight -= 1;
      metrics.managementRequests.inc({ status: c.res.status });
    }
  });

  const account = accountHandlers(store);
  const keys = apiKeyHandlers(store, directory);
  const senders = senderHandlers(store);
  const settings = accountSettingsHandlers(store);
  const templates = templateHandlers(store);
  const suppressions = suppressionHandlers(store);
  serveEndpoint(app, directory, getAccount, account.get);
  serveEndpoint(app, directory, getApiKeys, keys.list);
  serveEndpoint(app, directory, postApiKey, keys.create);
  serveEndpoint(app, directory, deleteApiKey, keys.revoke);
  serveEndpoint(app, directory, getSenders, senders.list);
  serveEndpoint(app, directory, postSender, senders.create);
  serveEndpoint(app, directory, deleteSenderById, senders.remove);
  serveEndpoint(app, directory, getAccountSettings, settings.get);
  serveEndpoint(app, directory, patchAccountSettings, settings.change);
  serveEndpoint(app, directory, getTemplates, templates.list);
  serveEndpoint(app, directory, getTemplate, templates.get);
  serveEndpoint(app, directory, postTemplate, templates.create);
  serveEndpoint(app, directory, deleteTemplateById, templates.remove);
  serveEndpoint(app, directory, getSuppressions, suppressions.list);
  serveEndpoint(app, directory, postSuppression, suppressions.add);
  serveEndpoint(app, directory, importSuppressions, suppressions.import);
  serveEndpoint(app, directory, deleteSuppression, suppressions.remove);
  servePages(app, () => openApiDocument(endpoints, apiVersion));

  app.notFound((c) => {
    const method = c.req.method === 'HEAD' ? 'GET' : c.req.method;
    const { problem: refusal, allow } = refuseUnrouted(method, c.req.path, known);
    return answerProblem(c, refusal, allow === undefined ? {} : { allow });
  });
  app.onError((error, c) => answerProblem(c, problemOfError(error, c.get('requestId'))));
  return app;
}

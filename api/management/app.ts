// The management API as one Hono app: request ids, the bound on requests, the endpoints, the pages, and an answer
// for every other path. It opens no socket: server.ts does.
import { Hono } from 'hono';
import type { Directory } from '../../directory/contract.ts';
import type { Store } from '../../control/store/store.ts';
import type { Shares } from '../../platform/limits-shares.ts';
import { limits } from '../../platform/limits.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { ContentRules } from '../../policy/admission/content-rules.ts';
import { problem } from '../problem.ts';
import { requestIdOf } from '../request-id.ts';
import { openApiDocument } from './document.ts';
import type { Endpoint } from './endpoint.ts';
import { type KnownPath, knownPathOf, refuseUnrouted } from './known-routes.ts';
import { servePages } from './pages/pages.ts';
import type { IdempotentWrite } from './idempotent-write.ts';
import { answerProblem } from './refuse.ts';
import { accountHandlers, getAccount } from './routes/account.ts';
import { accountSettingsHandlers, getAccountSettings, patchAccountSettings } from './routes/account-settings.ts';
import { auditHandlers, getAudit } from './routes/audit.ts';
import { apiKeyHandlers, deleteApiKey, getApiKey, getApiKeys, patchApiKey, postApiKey } from './routes/api-keys.ts';
import {
  type CarrierOperations,
  carrierHandlers,
  carrierCommands,
  getCarrier,
  getCarriers,
} from './routes/carriers.ts';
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
import { problemOfError, serveEndpoint } from './serve.ts';
import { SharedWork } from './shared-work.ts';
import type { Variables } from './variables.ts';

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
  getApiKey,
  patchApiKey,
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
  getCarriers,
  getCarrier,
  ...Object.values(carrierCommands).flat(),
  getAudit,
];

const pagePaths: readonly KnownPath[] = [
  '/openapi.json',
  '/docs',
  '/docs/errors',
  '/docs/assets/{file}',
  '/health/live',
  '/health/ready',
].map((path) => ({ method: 'GET', path }));

export type ManagementParts = {
  readonly store: Store;
  readonly directory: Directory;
  readonly idempotentWrite: IdempotentWrite;
  readonly operations: CarrierOperations;
  /** What no account may send, as it is configured now. */
  readonly content?: () => ContentRules;
  /** How long keys live that are made without an end; null: for ever. */
  readonly keyDaysDefault?: () => number | null;
  /** Left out: the defaults. */
  readonly shares?: Shares;
};

export function managementApp({
  store,
  directory,
  idempotentWrite,
  operations,
  content,
  keyDaysDefault,
  shares,
}: ManagementParts): Hono<Variables> {
  const parts = { directory, idempotentWrite, work: new SharedWork(shares) };
  const app = new Hono<Variables>();
  const known = [...endpoints.map(knownPathOf), ...pagePaths];
  let inFlight = 0;

  app.use(async (c, next) => {
    c.set('requestId', requestIdOf(c.req.header('x-request-id') ?? ''));
    c.header('x-request-id', c.get('requestId'));
    // A key that was just made is kept by no cache either; pages say otherwise of themselves.
    c.header('cache-control', 'no-store');
    c.header('x-content-type-options', 'nosniff');
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
  const keys = apiKeyHandlers(store, directory, keyDaysDefault);
  const senders = senderHandlers(store);
  const settings = accountSettingsHandlers(store, content);
  const templates = templateHandlers(store);
  const suppressions = suppressionHandlers(store);
  serveEndpoint(app, parts, getAccount, account.get);
  serveEndpoint(app, parts, getApiKeys, keys.list);
  serveEndpoint(app, parts, postApiKey, keys.create);
  serveEndpoint(app, parts, getApiKey, keys.get);
  serveEndpoint(app, parts, patchApiKey, keys.change);
  serveEndpoint(app, parts, deleteApiKey, keys.revoke);
  serveEndpoint(app, parts, getSenders, senders.list);
  serveEndpoint(app, parts, postSender, senders.create);
  serveEndpoint(app, parts, deleteSenderById, senders.remove);
  serveEndpoint(app, parts, getAccountSettings, settings.get);
  serveEndpoint(app, parts, patchAccountSettings, settings.change);
  serveEndpoint(app, parts, getTemplates, templates.list);
  serveEndpoint(app, parts, getTemplate, templates.get);
  serveEndpoint(app, parts, postTemplate, templates.create);
  serveEndpoint(app, parts, deleteTemplateById, templates.remove);
  serveEndpoint(app, parts, getSuppressions, suppressions.list);
  serveEndpoint(app, parts, postSuppression, suppressions.add);
  serveEndpoint(app, parts, importSuppressions, suppressions.import);
  serveEndpoint(app, parts, deleteSuppression, suppressions.remove);
  const carriers = carrierHandlers(operations);
  serveEndpoint(app, parts, getCarriers, carriers.list);
  serveEndpoint(app, parts, getCarrier, carriers.get);
  for (const verb of ['pause', 'drain', 'resume'] as const) {
    const [ofCarrier, ofBind] = carrierCommands[verb];
    serveEndpoint(app, parts, ofCarrier, carriers.command(verb));
    serveEndpoint(app, parts, ofBind, carriers.command(verb));
  }
  serveEndpoint(app, parts, getAudit, auditHandlers(store).list);
  servePages(app, () => openApiDocument(endpoints, apiVersion));

  app.notFound((c) => {
    const method = c.req.method === 'HEAD' ? 'GET' : c.req.method;
    const { problem: refusal, allow } = refuseUnrouted(method, c.req.path, known);
    return answerProblem(c, refusal, allow === undefined ? {} : { allow });
  });
  app.onError((error, c) => answerProblem(c, problemOfError(error, c.get('requestId'))));
  return app;
}

// The webhook endpoints of the account, in the mode of the calling key. What is written here goes to the database; what
// was sent, and what is to be sent again, the delivery process knows (webhook-deliveries.ts).
import type { z } from '@hono/zod-openapi';
import { readEndpointsFailing } from '../../../actors/webhook/endpoint-health.ts';
import {
  type StoredWebhook,
  type WebhookSettings,
  changeWebhook,
  createWebhook,
  deleteWebhook,
  findWebhook,
  listWebhooks,
  rotateWebhookSecret,
} from '../../../control/store/webhook-endpoints.ts';
import type { Page, PageRequest } from '../../../control/store/page.ts';
import { everyEventType } from '../../../model/webhook-endpoint.ts';
import { type TargetRules, targetProblem } from '../../../model/webhook-target.ts';
import { ignoring } from '../../../platform/errors.ts';
import { parseNetworks } from '../../../platform/ip-address.ts';
import { snakeFields } from '../../../platform/letter-case.ts';
import { limits } from '../../../platform/limits.ts';
import { type Problem, problem, wrongField } from '../../problem.ts';
import { answerPage } from '../cursor.ts';
import { type Endpoint, type HandlerContext, type HandlerParts, endpoint } from '../endpoint.ts';
import { aboutWebhooks, askedBy, idOf, noSuchWebhook } from '../own-webhook.ts';
import { deletedOf, idParams, listOf, pageQuery } from '../schemas/common.ts';
import {
  changeWebhookBody,
  createWebhookBody,
  healthShape,
  newWebhook,
  rotateSecretBody,
  rotatedWebhook,
  shownWebhook,
  webhook,
} from '../schemas/webhooks.ts';

export const webhookEndpoints: readonly Endpoint[] = [
  endpoint({
    ...aboutWebhooks,
    // How it fails.
    waitsForOthers: true,
    method: 'get',
    path: '/v1/webhooks',
    summary: 'List the webhook endpoints of the key’s mode, newest first',
    query: pageQuery,
    answer: { status: 200, description: 'A page of endpoints.', schema: listOf('WebhookList', shownWebhook) },
    handle: (context) =>
      answerPage(
        context.query,
        (page) => shownPage(context, page),
        (shown) => shown,
      ),
  }),
  endpoint({
    ...aboutWebhooks,
    // How it fails.
    waitsForOthers: true,
    method: 'get',
    path: '/v1/webhooks/{id}',
    summary: 'One webhook endpoint',
    params: idParams,
    answer: { status: 200, description: 'The endpoint, and how it fails.', schema: shownWebhook },
    async handle(context) {
      const found = await findWebhook(context.parts.store, idOf(context), askedBy(context));
      const [shown] = found === null ? [] : await withHealth(context, [found]);
      return shown === undefined ? noSuchWebhook : { body: shown };
    },
  }),
  endpoint({
    ...aboutWebhooks,
    method: 'post',
    path: '/v1/webhooks',
    summary: 'Register a webhook endpoint',
    description:
      'Events of the account go to it as POST requests, signed as Standard Webhooks has it. Only this answer contains the ' +
      'secret: a repeat under the same `Idempotency-Key` registers no second one and has null for `secret`. If the answer ' +
      'was lost, rotate the secret.',
    shownOnce: ['secret'],
    body: createWebhookBody,
    answer: { status: 201, description: 'The endpoint.', schema: newWebhook },
    problems: ['conflict'],
    async handle(context) {
      const { parts, body } = context;
      const settings = { ...defaults, ...settingsOf(body), url: body.url };
      const unfit = urlProblem(parts, body.url, context.principal.livemode);
      if (unfit !== null) return { problem: unfit };
      const created = await createWebhook(parts.store, parts.cipher, askedBy(context), {
        ...settings,
        url: new URL(body.url).href,
      });
      if (created.ok) return { body: { ...webhookShape(created.webhook), secret: created.secret } };
      const why = {
        too_many_webhooks: `an account has at most ${limits.webhooks.perAccountMax} endpoints`,
        account_not_found: 'the account no longer exists',
      };
      return { problem: problem(409, 'conflict', why[created.code]) };
    },
  }),
  endpoint({
    ...aboutWebhooks,
    method: 'patch',
    path: '/v1/webhooks/{id}',
    summary: 'Change, disable or enable a webhook endpoint',
    description: 'What is left out stays as it is.',
    params: idParams,
    body: changeWebhookBody,
    answer: { status: 200, description: 'The endpoint.', schema: webhook },
    async handle(context) {
      const { parts, body } = context;
      const unfit = body.url === undefined ? null : urlProblem(parts, body.url, context.principal.livemode);
      if (unfit !== null) return { problem: unfit };
      const changed = await changeWebhook(parts.store, idOf(context), askedBy(context), {
        ...settingsOf(body),
        ...(body.url === undefined ? {} : { url: new URL(body.url).href }),
        ...(body.status === undefined ? {} : { status: body.status }),
      });
      return changed === null ? noSuchWebhook : { body: webhookShape(changed) };
    },
  }),
  endpoint({
    ...aboutWebhooks,
    method: 'delete',
    path: '/v1/webhooks/{id}',
    summary: 'Delete a webhook endpoint',
    description: 'What still waits for it is not sent any more.',
    params: idParams,
    answer: { status: 200, description: 'The endpoint is deleted.', schema: deletedOf('webhook') },
    async handle(context) {
      const { id } = context.params;
      if (!(await deleteWebhook(context.parts.store, idOf(context), askedBy(context)))) return noSuchWebhook;
      return { body: { id, object: 'webhook', deleted: true } };
    },
  }),
  endpoint({
    ...aboutWebhooks,
    method: 'post',
    path: '/v1/webhooks/{id}/rotate-secret',
    summary: 'Replace the secret of a webhook endpoint',
    description:
      'During the overlap every request has a signature by each secret, so that the receiver can change over without ' +
      'losing one. As with a new endpoint, only this answer contains the secret.',
    shownOnce: ['secret'],
    params: idParams,
    body: rotateSecretBody,
    answer: { status: 200, description: 'The endpoint with its new secret.', schema: rotatedWebhook },
    problems: ['too_many_secrets'],
    async handle(context) {
      const { store, cipher } = context.parts;
      const overlapMs = context.body.overlap_seconds * 1_000;
      const rotated = await rotateWebhookSecret(store, cipher, idOf(context), { ...askedBy(context), overlapMs });
      if (rotated.ok) {
        const { webhook: of, secret, previousEndAtMs } = rotated;
        const previous_secrets_end_at = new Date(previousEndAtMs).toISOString();
        return { body: { ...webhookShape(of), secret, previous_secrets_end_at } };
      }
      if (rotated.code === 'not_found') return noSuchWebhook;
      const detail = `${limits.webhooks.secretsMax} secrets would sign at once: wait for the end of an earlier overlap, or use a shorter overlap_seconds (0 ends all others)`;
      return { problem: problem(409, 'too_many_secrets', detail) };
    },
  }),
];

const defaults = { events: [everyEventType], ordering: 'none', batch: null, description: '' } as const;

function settingsOf(body: Omit<z.infer<typeof changeWebhookBody>, 'url'>): Partial<Omit<WebhookSettings, 'url'>> {
  const { events, ordering, batch, description } = body;
  return {
    ...(events === undefined ? {} : { events }),
    ...(ordering === undefined ? {} : { ordering }),
    ...(batch === undefined ? {} : { batch: batch && { max: batch.max_events, waitMs: batch.max_wait_ms } }),
    ...(description === undefined ? {} : { description }),
  };
}

/** The address behind a name is checked before each request; this refuses what can never be right. */
function urlProblem({ webhooks }: HandlerParts, url: string, livemode: boolean): Problem | null {
  const { allowNetworks, allowHttp } = webhooks();
  const rules: TargetRules = { allowed: parseNetworks(allowNetworks) };
  const wrong = targetProblem(url, rules);
  if (wrong !== null) return wrongField('url', wrong);
  const { protocol, hash } = new URL(url);
  if (hash !== '' || url.endsWith('#'))
    return wrongField('url', 'must not contain a fragment (#…): it would not be sent');
  if (protocol === 'http:' && livemode && !allowHttp)
    return wrongField('url', 'must begin with https:// for live messages: their events contain numbers of people');
  return null;
}

async function shownPage(context: HandlerContext<unknown, unknown, unknown>, page: PageRequest): Promise<Page<object>> {
  const { items, next } = await listWebhooks(context.parts.store, askedBy(context), page);
  return { items: await withHealth(context, items), next };
}

/** How they fail is not in the database: without it the rest is shown. */
async function withHealth(
  { parts }: Pick<HandlerContext<unknown, unknown, unknown>, 'parts'>,
  all: readonly StoredWebhook[],
) {
  const failing = await readEndpointsFailing(parts.bus, all).catch((error: unknown) => {
    ignoring(error, 'how webhook endpoints fail cannot be read now');
    return null;
  });
  return all.map((each) => {
    const known = failing?.get(each.id);
    return { ...webhookShape(each), health: known === undefined ? null : healthShape(known) };
  });
}

function webhookShape(of: StoredWebhook): object {
  const { id, url, events, ordering, batch, description, livemode, status } = of;
  const { disabledReason, disabledAtMs, createdAtMs } = of;
  return {
    ...{ id, object: 'webhook', url, events, ordering, description, livemode, status },
    batch: batch && { max_events: batch.max, max_wait_ms: batch.waitMs },
    ...snakeFields({ disabledReason, disabledAtMs, createdAtMs }),
  };
}

// What was sent to a webhook endpoint, from the stream that keeps it; a test event, and events again, which the delivery
// process is asked for over NATS. Whose endpoint it is, the database says first.
import type { z } from '@hono/zod-openapi';
import {
  type DeliveriesAnswer,
  type DeliveryAttempt,
  type EndpointOf,
  type ReplayAnswer,
  type ReplayRequest,
  type TestAnswer,
  type TestRequest,
  webhookSubjects,
} from '../../../actors/webhook/contract.ts';
import { type AttemptsAsked, readAttempts } from '../../../actors/webhook/attempts/read-attempts.ts';
import { type StoredWebhook, findWebhook } from '../../../control/store/webhook-endpoints.ts';
import { subscribesTo, webhookTestType, webhookTypesOfEndpoints } from '../../../model/webhook-endpoint.ts';
import { momentOf } from '../../../model/moment.ts';
import { unreachable } from '../../../platform/assert.ts';
import { messageOf } from '../../../platform/errors.ts';
import { snakeFields } from '../../../platform/letter-case.ts';
import { limits } from '../../../platform/limits.ts';
import { log } from '../../../platform/log.ts';
import { type Problem, problem, wrongField } from '../../problem.ts';
import { askDelivery, natsSilent, unavailable } from '../ask-delivery.ts';
import { answerPage } from '../cursor.ts';
import { type Endpoint, type HandlerContext, type HandlerResult, endpoint } from '../endpoint.ts';
import { aboutWebhooks, askedBy, idOf, noSuchWebhook } from '../own-webhook.ts';
import { idParams } from '../schemas/common.ts';
import {
  attemptsQuery,
  healthShape,
  replayBody,
  replayed,
  webhookAttempt,
  webhookAttempts,
} from '../schemas/webhooks.ts';

export const webhookDeliveryEndpoints: readonly Endpoint[] = [
  endpoint({
    ...aboutWebhooks,
    waitsForOthers: true,
    method: 'get',
    path: '/v1/webhooks/{id}/deliveries',
    summary: 'The last requests to a webhook endpoint, newest first',
    description:
      'Each try with what was sent and answered, and whether the endpoint fails at the moment. Failures are kept, and of ' +
      'the successes of a busy endpoint a part.',
    params: idParams,
    query: attemptsQuery,
    answer: { status: 200, description: 'A page of attempts.', schema: webhookAttempts },
    problems: ['webhooks_unavailable'],
    handle: (context) => ofOwn(context, (of) => attempts(context, of)),
  }),
  endpoint({
    ...aboutWebhooks,
    waitsForOthers: true,
    method: 'post',
    path: '/v1/webhooks/{id}/test',
    summary: 'Send a test event to a webhook endpoint now',
    description:
      'An event of the type `webhook.test`, signed like all others; it is tried once, for five seconds, and disabled endpoints get it too.',
    params: idParams,
    answer: { status: 200, description: 'How it went.', schema: webhookAttempt },
    problems: ['webhooks_unavailable', 'webhooks_busy'],
    handle: (context) =>
      ofOwn(context, async (of, endpoint) => {
        const request: TestRequest = { ...of, endpoint };
        const asked = { subject: webhookSubjects.test, request, withinMs: limits.webhooks.askMs };
        const answer = await askDelivery<TestAnswer>(context.parts.bus, asked);
        return 'problem' in answer ? answer : { body: attemptShape(answer.attempt) };
      }),
  }),
  endpoint({
    ...aboutWebhooks,
    waitsForOthers: true,
    method: 'post',
    path: '/v1/webhooks/{id}/replay',
    summary: 'Send events to a webhook endpoint again',
    description:
      'Either one, by `event_id`, or all from `since` on: of messages, one-time passwords, blocks and clicks, of the types that ' +
      'the endpoint subscribes to. They have the `webhook-id` they had, so that a receiver that remembers ids takes none twice. ' +
      'What was answered 202 is sent also when Heliograph is restarted meanwhile.',
    params: idParams,
    body: replayBody,
    answer: { status: 202, description: 'They are being sent.', schema: replayed },
    problems: ['replay_running', 'recording_behind', 'webhooks_unavailable', 'webhooks_busy'],
    handle: (context) => ofOwn(context, (of, webhook) => replay(context, of, webhook)),
  }),
];

type Context = HandlerContext<unknown, unknown, z.infer<typeof idParams>>;

async function ofOwn(
  context: Context,
  work: (of: EndpointOf, webhook: StoredWebhook) => Promise<HandlerResult>,
): Promise<HandlerResult> {
  const { accountId } = context.account;
  const found = await findWebhook(context.parts.store, idOf(context), askedBy(context));
  return found === null ? noSuchWebhook : work({ accountId, endpointId: found.id }, found);
}

async function attempts(
  context: HandlerContext<unknown, z.infer<typeof attemptsQuery>, unknown>,
  of: EndpointOf,
): Promise<HandlerResult> {
  const { parts, query } = context;
  const asked = askedOf(query);
  if ('problem' in asked) return asked;
  const { askDeliveriesMs: withinMs } = limits.webhooks;
  const answer = await askDelivery<DeliveriesAnswer>(parts.bus, {
    ...{ subject: webhookSubjects.deliveries, request: of, withinMs },
  });
  if ('problem' in answer && answer.problem === natsSilent) return answer;
  const health = 'problem' in answer ? null : answer.health;
  const read = async ({ limit, after }: { limit: number; after: string | null }) => {
    const found = await readAttempts(parts.bus, parts.cipher, of, { ...asked, before: after, limit });
    return { items: found.attempts, next: found.hasMore ? (found.attempts.at(-1)?.id ?? null) : null };
  };
  try {
    const page = await answerPage(query, read, attemptShape);
    return 'problem' in page
      ? page
      : { body: { ...page.body, health: health && healthShape(health), waiting: health && health.parked } };
  } catch (error) {
    // They are in a stream: no process is asked for them.
    log.warn({ error: messageOf(error) }, 'NATS did not answer with the attempts at a webhook endpoint');
    return { problem: natsSilent };
  }
}

type Asked = Omit<AttemptsAsked, 'before' | 'limit'>;

function askedOf(query: z.infer<typeof attemptsQuery>): Asked | { readonly problem: Problem } {
  const { result, error = null, event_id: eventId = null, type = null } = query;
  if (result === 'succeeded' && error !== null) {
    return { problem: wrongField('error', 'must be left out beside result=succeeded') };
  }
  const sinceMs = momentOf(query.since ?? '');
  const untilMs = momentOf(query.until ?? '');
  if (sinceMs !== null && untilMs !== null && untilMs <= sinceMs) {
    return { problem: wrongField('until', 'must be after since') };
  }
  const succeeded = result === undefined ? null : result === 'succeeded';
  return { succeeded, error, eventId, type, sinceMs, untilMs };
}

async function replay(
  context: HandlerContext<z.infer<typeof replayBody>, unknown, unknown>,
  of: EndpointOf,
  webhook: StoredWebhook,
): Promise<HandlerResult> {
  const wanted = wantedOf(context.body, context.parts.store.clock.nowMs());
  if ('problem' in wanted) return wanted;
  const request: ReplayRequest = { ...of, endpoint: webhook, ...wanted };
  const asked = { subject: webhookSubjects.replay, request, withinMs: limits.webhooks.askMs };
  const answer = await askDelivery<ReplayAnswer>(context.parts.bus, asked);
  if ('problem' in answer) return answer;
  if (answer.ok) {
    const left = webhookTypesOfEndpoints.filter((type) => subscribesTo(webhook, type));
    return {
      body: { object: 'webhook_replay', webhook: of.endpointId, events: answer.events, not_replayed: left },
    };
  }
  switch (answer.why) {
    case 'not_found':
      return { problem: problem(404, 'not_found', notInHistory) };
    case 'running':
      return {
        problem: problem(409, 'replay_running', 'an earlier replay to this endpoint still runs: wait for its end'),
      };
    case 'not_searched':
      return {
        problem: wrongField(
          'since',
          'the history is too long for the search: say with since and until when it happened',
        ),
      };
    case 'behind':
      return { problem: behind(answer.behindMs) };
    case 'event_store_away':
      return { problem: unavailable('the event store, which has the events, did not answer in time') };
    case 'not_taken':
      return {
        problem: unavailable(
          'the delivery process cannot take the event now: it stops, has no room for it, or does not know the endpoint yet',
        ),
      };
    default:
      return unreachable(answer);
  }
}

const notInHistory =
  'this endpoint had no such event in the time that events are kept; ' +
  `events of ${webhookTypesOfEndpoints.join(', ')} and ${webhookTestType} are not kept`;

/** `behindMs` null: nobody knows, because no node records at the moment. */
function behind(behindMs: number | null): Problem {
  const seconds = Math.max(1, Math.ceil((behindMs ?? 0) / 1_000));
  const by = behindMs === null ? '' : ` by ${seconds} s`;
  const detail = `recording is behind${by}, so events of the time asked for would be left out: ask again, or for a time with an earlier \`until\``;
  return problem(503, 'recording_behind', detail, Math.min(seconds, limits.webhooks.replayRetryAfterSMax));
}

type Wanted = Omit<ReplayRequest, keyof EndpointOf | 'endpoint'>;

/** An event, or all of a time. */
function wantedOf(
  { event_id, since, until }: z.infer<typeof replayBody>,
  nowMs: number,
): Wanted | { readonly problem: Problem } {
  if (event_id === undefined && since === undefined) {
    return { problem: wrongField('event_id', 'expected event_id or since') };
  }
  const eventId = event_id ?? null;
  const sinceMs = momentOf(since ?? '');
  const untilMs = momentOf(until ?? '');
  if (sinceMs !== null && sinceMs >= nowMs) return { problem: wrongField('since', 'must be in the past') };
  if (untilMs !== null && untilMs <= (sinceMs ?? 0)) return { problem: wrongField('until', 'must be after since') };
  // One that happened by the clock of another machine.
  const presentMs = eventId === null ? nowMs : nowMs + limits.queries.idAheadMsMax;
  return { eventId, sinceMs: sinceMs ?? 0, untilMs: untilMs ?? presentMs };
}

function attemptShape(of: DeliveryAttempt): object {
  const { id, webhookId, eventIds, type, atMs, url, attempt, error, detail, status, latencyMs } = of;
  const { request, response } = of;
  return {
    ...{ id, object: 'webhook_attempt', succeeded: error === null },
    ...snakeFields({ webhookId, eventIds, type, atMs, url, attempt, error, detail, status, response, latencyMs }),
    request: { headers: request.headers, body: request.body, body_chars: request.bodyChars },
  };
}

// DELETE /v1/sms/{id}: cancels a scheduled message. Whether the cancel came before the release is decided on the bus
// (cluster/bus/cancellations.ts), never by the status that was read; the status only says when the message is due. The
// answer waits until the `canceled` event is durable, so that the next read shows it.
import type { HttpRequest } from 'uWebSockets.js';
import { onceWithin } from '../../acceptance/accept.ts';
import type { Principal } from '../../acceptance/principal.ts';
import { refusalOfFailure } from '../../acceptance/refusal.ts';
import type { MessageView } from '../../analytics/contract.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { Cancellations } from '../../cluster/bus/cancellations.ts';
import type { EventWriter } from '../../cluster/bus/event-writer.ts';
import { type DeliveryEvent, canceledEvent } from '../../model/delivery-event.ts';
import { isMessageId, type MessageId } from '../../model/ids.ts';
import { unreachable } from '../../platform/assert.ts';
import { limits } from '../../platform/limits.ts';
import { type Problem, problem } from '../problem.ts';
import { admitReader } from './access.ts';
import { readAutomaticKey } from './automatic-key.ts';
import type { Exchange } from './exchange.ts';
import type { KeyedRequest } from '../../acceptance/idempotency/requests.ts';
import { foundMessage } from './read-sms.ts';
import { messageNotFound, messageShape } from './sms-answer.ts';
import type { StatusQueryClient } from './status-query-client.ts';
import { type WriteParts, answerOutcome, keyedRequest, readKey, refuseWith } from './write-request.ts';

export type CancelSmsParts = WriteParts & {
  readonly cipher: BodyCipher;
  readonly cancellations: Cancellations;
  readonly events: EventWriter;
  readonly queries: StatusQueryClient;
};

export function cancelSms(parts: CancelSmsParts, exchange: Exchange, req: HttpRequest): void {
  const id = req.getParameter(0) ?? '';
  const refuse = (refusal: Problem) => refuseWith(exchange, refusal);
  const authenticated = admitReader(parts.access, exchange, req, 'sms:send');
  if (!authenticated.ok) return refuse(authenticated.problem);
  const { principal } = authenticated;
  const key = readKey(exchange, req);
  if (typeof key !== 'string') return refuse(key);
  parts.answerThrown(exchange, async () => {
    if (!isMessageId(id)) return refuse(messageNotFound);
    const automatic = readAutomaticKey(key, parts.clock.nowMs());
    if (automatic !== null && 'problem' in automatic) return refuse(automatic.problem);
    // Canceling is idempotent: a retry needs no stored answer.
    if (key === '' || automatic !== null) {
      const result = await cancel(parts, principal, id);
      return typeof result === 'string' ? exchange.json(200, result) : refuse(result);
    }
    const write = { principal, body: noBody, idempotencyKey: key };
    const keyed: KeyedRequest = keyedRequest(parts, `DELETE /v1/sms/${id}`, write, (kept) =>
      parts.cipher.open(kept, keyed.place.hash).toString('utf8'),
    );
    const outcome = await parts.idempotent.run(keyed, async () => {
      const result = await cancel(parts, principal, id);
      // Canceling again is harmless, so the key is freed at once, whatever the first try did.
      if (typeof result !== 'string') return { refusal: result, isPublished: 'no' };
      return { body: result, kept: parts.cipher.seal(Buffer.from(result), keyed.place.hash) };
    });
    const answered = answerOutcome(exchange, outcome, 200);
    if (answered !== 'answered') refuse(answered);
  });
}

/** The body of the 200, or the problem. */
async function cancel(parts: CancelSmsParts, principal: Principal, id: MessageId): Promise<string | Problem> {
  const { accountId } = principal.account;
  const reply = await parts.queries.get({ accountId, messageId: id, withEvent: true }, 'urgent');
  const found = foundMessage(reply, principal, dueUnknown);
  if ('code' in found) return found;
  const { message, event } = found;
  if (event === undefined || message.refused) return messageNotFound;
  if (message.status === 'canceled') return JSON.stringify(messageShape(message));
  if (message.status !== 'scheduled' || message.scheduledAtMs === null) return onItsWay(message.status);
  const result = await parts.cancellations.cancel(id, message.scheduledAtMs);
  switch (result) {
    case 'canceled':
      return publishCanceled(parts, message, event);
    case 'too_late':
      return onItsWay('on its way');
    case 'full':
      return problem(503, 'queue_full', 'too many messages that are due in the same second were canceled', 5);
    case 'unavailable':
      return problem(503, 'overloaded', 'the cancel may or may not have been stored: repeat the request', 1);
    default:
      return unreachable(result);
  }
}

const dueUnknown = problem(503, 'status_unavailable', 'the time at which the message is due cannot be read now', 2);

function publishCanceled(parts: CancelSmsParts, message: MessageView, event: DeliveryEvent): Promise<string | Problem> {
  const atMs = parts.clock.nowMs();
  const canceled = { status: 'canceled', atMs, carrier: null, error: null } as const;
  const shown: MessageView = { ...message, status: 'canceled', history: [...message.history, canceled] };
  return new Promise((resolve) => {
    const answer = onceWithin(parts.clock, limits.http.scheduledMs, (late) => {
      if (late === null) return resolve(JSON.stringify(messageShape(shown)));
      resolve(problem(503, 'overloaded', notDurable, 1));
    });
    parts.events.write(canceledEvent(event, atMs), (durable) =>
      answer(durable ? null : refusalOfFailure('unavailable')),
    );
  });
}

const notDurable = 'the message is canceled, but its event is not durable yet: repeat the request';

function onItsWay(status: string): Problem {
  return problem(409, 'not_cancelable', `the message is already ${status}: only a scheduled message can be canceled`);
}

const noBody = Buffer.alloc(0);

// The bodies of the hot routes' answers. The 202 is concatenated by hand, at a third of the cost of JSON.stringify,
// with its fields in the documented order.
import type { MessageView } from '../../analytics/contract.ts';
import type { Message } from '../../model/message.ts';
import type { Admitted } from '../../policy/contract.ts';
import { problem } from '../problem.ts';

/** What the 202 says of a message. */
export type AcceptedFacts = Pick<
  Message,
  | 'messageId'
  | 'recipient'
  | 'sender'
  | 'category'
  | 'encoding'
  | 'segments'
  | 'livemode'
  | 'clientReference'
  | 'acceptedAtMs'
  | 'scheduledAtMs'
>;

/** The body of the 202, and of its replays. `ucs2_because` is there only when a character forced UCS-2. */
export function acceptedBody(message: AcceptedFacts, ucs2Because: Admitted['ucs2Because'] = null): string {
  const reference = message.clientReference === null ? 'null' : JSON.stringify(message.clientReference);
  const because = ucs2Because === null ? '' : `,"ucs2_because":${JSON.stringify(ucs2Shape(ucs2Because))}`;
  // Ids, numbers, categories and encodings hold nothing that JSON would have to escape; the rest goes through it.
  return (
    `{"id":"${message.messageId}","object":"sms","status":"${acceptedStatus(message)}","to":"${message.recipient}"` +
    `,"from":${JSON.stringify(message.sender)},"category":"${message.category}","encoding":"${message.encoding}"` +
    `,"segments":${message.segments}${because},"livemode":${message.livemode},"client_reference":${reference}` +
    `,"created_at":"${isoTime(message.acceptedAtMs)}"` +
    (message.scheduledAtMs === null ? '}' : `,"scheduled_at":"${new Date(message.scheduledAtMs).toISOString()}"}`)
  );
}

/** The character that forced UCS-2, also by its code point: a no-break space looks like any other. */
export function ucs2Shape({ character, index }: NonNullable<Admitted['ucs2Because']>): object {
  const point = (character.codePointAt(0) ?? 0).toString(16).toUpperCase().padStart(4, '0');
  return { character, code_point: `U+${point}`, index };
}

/** What a message is right after the ingress took it. */
export function acceptedStatus(message: Pick<Message, 'scheduledAtMs'>): 'scheduled' | 'accepted' {
  return message.scheduledAtMs === null ? 'accepted' : 'scheduled';
}

/** One message as `GET /v1/sms/{id}` shows it. */
export function messageShape(view: MessageView): Record<string, unknown> {
  return {
    id: view.id,
    object: view.refused ? 'refused_request' : 'sms',
    direction: 'outbound',
    status: view.status,
    to: view.to,
    from: view.from,
    category: view.category,
    encoding: view.encoding,
    segments: view.segments,
    livemode: view.livemode,
    client_reference: view.clientReference,
    created_at: isoTime(view.acceptedAtMs),
    ...(view.scheduledAtMs === null ? {} : { scheduled_at: isoTime(view.scheduledAtMs) }),
    history: view.history.map((entry) => ({
      status: entry.status,
      at: isoTime(entry.atMs),
      carrier: entry.carrier,
      error: entry.error,
    })),
    timing_ms: {
      accepted_to_submitted: difference(view.scheduledAtMs ?? view.acceptedAtMs, view.submittedAtMs),
      submitted_to_delivered: difference(view.submittedAtMs, view.deliveredAtMs),
    },
    error: view.error,
  };
}

function difference(fromMs: number | null, toMs: number | null): number | null {
  return fromMs === null || toMs === null ? null : toMs - fromMs;
}

// Thousands of messages share a second: only their milliseconds differ.
let slidingWindow = -1;
let lastText = '';
function isoTime(ms: number): string {
  const second = Math.floor(ms / 1_000);
  if (second !== slidingWindow) {
    slidingWindow = second;
    lastText = new Date(second * 1_000).toISOString().slice(0, 20);
  }
  return `${lastText}${String(Math.floor(ms) - second * 1_000).padStart(3, '0')}Z`;
}

/** The same for another account's message, so that ids reveal nothing. */
export const messageNotFound = problem(
  404,
  'not_found',
  'no message of this account and of this mode (live or test) has this id',
);

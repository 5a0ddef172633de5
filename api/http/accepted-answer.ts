// The 202 of one message, and what is kept of it under an idempotency key: only what does not follow from the request, which
// the repeat brings along. Some ten octets instead of three hundred, and no number of anybody.
import { Packr } from 'msgpackr';
import type { MessageId } from '../../model/ids.ts';
import type { Message } from '../../model/message.ts';
import type { Admitted, SmsRequest } from '../../policy/contract.ts';
import { acceptedBody } from './sms-answer.ts';

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
type Ucs2Because = Admitted['ucs2Because'];

const packr = new Packr({ useRecords: false });
const version = 1;

export function keptOfAccepted(message: AcceptedFacts, ucs2Because: Ucs2Because, createdAtMs: number): Buffer {
  return packr.pack([
    version,
    message.encoding === 'ucs2',
    message.segments,
    message.acceptedAtMs - createdAtMs,
    message.scheduledAtMs,
    ...(ucs2Because === null ? [] : [ucs2Because.character, ucs2Because.index]),
  ]);
}

/** The body of the 202, from what was kept of it and the same request. Throws at a version that this one cannot read. */
export function acceptedAgain(kept: Buffer, { request, livemode, messageId, createdAtMs }: Repeat): string {
  const at = packr.unpack(kept) as readonly unknown[];
  if (at[0] !== version) throw new Error('an answer under an idempotency key of an unknown version');
  const facts: AcceptedFacts = {
    messageId,
    recipient: request.to,
    sender: request.from,
    category: request.category,
    encoding: at[1] === true ? 'ucs2' : 'gsm7',
    segments: Number(at[2]),
    livemode,
    clientReference: request.clientReference,
    acceptedAtMs: createdAtMs + Number(at[3]),
    scheduledAtMs: at[4] === null ? null : Number(at[4]),
  };
  return acceptedBody(facts, at.length > 5 ? { character: String(at[5]), index: Number(at[6]) } : null);
}

type Repeat = {
  readonly request: SmsRequest;
  readonly livemode: boolean;
  readonly messageId: MessageId;
  readonly createdAtMs: number;
};

// One message from a subscriber as `GET /v1/sms` shows it. Its text is present only where the account keeps it; the
// event store has it sealed, and it is opened here.
import type { InboundView, MessageView } from '../../analytics/contract.ts';
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import { bodyOf } from '../../model/records/message-record.ts';
import type { MessageBody } from '../../model/message.ts';
import { ignoring } from '../../platform/errors.ts';

export function inboundShape(view: MessageView, inbound: InboundView, cipher: BodyCipher): Record<string, unknown> {
  const body = inbound.sealedBody === null ? null : opened(inbound.sealedBody, view.id, cipher);
  const receivedAt = new Date(view.acceptedAtMs).toISOString();
  return {
    id: view.id,
    object: 'sms',
    direction: 'inbound',
    status: view.status,
    to: view.to,
    from: view.from,
    text: body !== null && 'text' in body ? body.text : null,
    ...(body !== null && 'octets' in body
      ? { binary: { data_coding: body.dataCoding, octets: Buffer.from(body.octets).toString('base64') } }
      : {}),
    keyword: inbound.keyword,
    encoding: view.encoding,
    segments: view.segments,
    segments_received: inbound.parts,
    livemode: view.livemode,
    carrier: view.carrier,
    created_at: receivedAt,
  };
}

/** Null when it was sealed with a body key that this installation has no more. */
function opened(sealed: string, id: string, cipher: BodyCipher): MessageBody | null {
  try {
    return bodyOf(cipher.open(Buffer.from(sealed, 'base64'), id));
  } catch (error) {
    ignoring(error, 'the body of a message from a subscriber cannot be opened with the present key');
    return null;
  }
}

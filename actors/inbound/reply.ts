// The answer to a keyword: an ordinary transactional message of the account, from the number the keyword was sent to,
// over the carrier that delivered it. Its id follows from the asker, the keyword and the first asker of this minute,
// so that a repeat, or two machines that answer each other, get no second one; from that moment on it is listed. The
// opt-out that it confirms does not block it.
import type { BodyCipher } from '../../model/records/body-cipher.ts';
import type { EventWriter } from '../../cluster/bus/event-writer.ts';
import { encodeMessage, messageRecordId } from '../../model/records/message-record.ts';
import type { Publisher } from '../../cluster/bus/publisher.ts';
import { messageSubject } from '../../cluster/bus/subjects.ts';
import { acceptedEvent } from '../../model/delivery-event.ts';
import { type AccountId, type MessageId, derivedMessageId, keywordReplyKeyId } from '../../model/ids.ts';
import type { Keyword } from '../../model/keyword.ts';
import type { Message } from '../../model/message.ts';
import { segmentText } from '../../model/text/segments.ts';
import { assert } from '../../platform/assert.ts';
import { RetryLater, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';
import type { ReplyTurns } from './reply-turns.ts';

export type Reply = {
  readonly accountId: AccountId;
  readonly sender: string;
  /** E.164. */
  readonly to: string;
  readonly text: string;
  readonly keyword: Keyword;
  readonly carrier: string;
  readonly livemode: boolean;
  readonly receivedAtMs: number;
  readonly messageId: MessageId;
};

export type ReplyParts = {
  readonly publisher: Publisher;
  readonly cipher: BodyCipher;
  readonly events: EventWriter;
  /** Which moment a turn belongs to: the first that was said of it, for all nodes and for ever after. */
  readonly turns: Pick<ReplyTurns, 'firstOf'>;
};

/** Resolves when it is accepted, or given up because there has been no room for it for a while. */
export async function sendReply(parts: ReplyParts, reply: Reply, deliveries: number): Promise<void> {
  const { keyword, carrier } = reply;
  const failure = await publishReply(parts, reply);
  if (failure === null) return;
  if (deliveries < limits.inbound.replyTriesMax) {
    throw new RetryLater(`the answer found no room (${failure})`, limits.bus.nakDelayMsMax);
  }
  metrics.keywordReplies.inc({ keyword, ended: 'given_up' });
  log.warn({ keyword, carrier, failure }, 'a keyword is not answered: no room');
}

/** Null when it is accepted, else why not. */
async function publishReply({ publisher, cipher, events, turns }: ReplyParts, reply: Reply): Promise<string | null> {
  let askedAtMs: number;
  try {
    askedAtMs = await turns.firstOf(turnOf(reply), reply.receivedAtMs);
  } catch (error) {
    return messageOf(error);
  }
  const message = messageOfReply({ ...reply, receivedAtMs: askedAtMs });
  const subject = messageSubject(message.category, message.carrier, message.accountId);
  const result = await publisher.publishOne(subject, encodeMessage(message, cipher), messageRecordId(message));
  if (!result.ok) return result.failure;
  metrics.keywordReplies.inc({ keyword: reply.keyword, ended: result.duplicate ? 'repeat' : 'accepted' });
  // Not waited for: the message's intent stands for it.
  events.write(acceptedEvent(message), () => {});
  return null;
}

/** Within a turn the same keyword to the same number is answered once per subscriber. */
function turnOf({ accountId, keyword, to, sender, receivedAtMs }: Reply): string {
  return `${accountId} ${keyword} ${to} ${sender} ${Math.floor(receivedAtMs / limits.inbound.replyEveryMs)}`;
}

/** `receivedAtMs`: of the message that asked first. */
export function messageOfReply(reply: Reply): Message {
  const { accountId, sender, to, text, keyword, carrier, livemode, receivedAtMs, messageId } = reply;
  const segmented = segmentText(text);
  assert(segmented.ok, 'a text of our own choice of encoding always has one');
  return {
    messageId: derivedMessageId(accountId, `keyword ${keyword} ${to} ${sender}`, receivedAtMs),
    hop: 0,
    delays: 0,
    accountId,
    keyId: keywordReplyKeyId,
    channel: 'sms',
    category: 'transactional',
    carrier,
    // Another carrier may not have this number.
    plan: [],
    sender,
    senderTonNpi: null,
    recipient: to,
    recipientTonNpi: null,
    body: { text },
    encoding: segmented.encoding,
    shift: segmented.shift,
    segments: segmented.segments.length,
    registeredDelivery: 1,
    acceptedAtMs: receivedAtMs,
    scheduledAtMs: null,
    validUntilMs: receivedAtMs + limits.inbound.replyValidityMs,
    clientReference: null,
    campaignId: null,
    variantId: null,
    templateId: null,
    livemode,
    priceMicros: null,
    priceVersion: null,
    trace: [`answer to the keyword ${keyword} in ${messageId}`],
    resends: 0,
  };
}

// Sends the answer to a keyword: a transactional message of the account, from the number the keyword was sent to, over
// the carrier that delivered it. Its id is derived from the subscriber, the keyword and the first time of this turn, so
// that a repeat, or two systems that answer each other, get no second one; it is listed under that time. The opt-out
// that it confirms does not block it.
import { createHash } from 'node:crypto';
import type { KV } from '@nats-io/kv';
import { type PublishParts, publishNow, buildMessage } from '../../acceptance/accept.ts';
import { readEntry, replace } from '../../cluster/bus/bucket.ts';
import { messageSubject } from '../../cluster/bus/subjects.ts';
import { type AccountId, type MessageId, derivedMessageId, keywordReplyKeyId } from '../../model/ids.ts';
import type { Keyword } from '../../model/keyword.ts';
import type { Message } from '../../model/message.ts';
import { segmentText } from '../../model/text/segments.ts';
import { assert } from '../../platform/assert.ts';
import type { Admitted } from '../../policy/contract.ts';
import { RetryLater, messageOf } from '../../platform/errors.ts';
import { limits } from '../../platform/limits.ts';
import { log } from '../../platform/log.ts';
import { metrics } from '../../platform/telemetry.ts';

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

export type ReplyParts = PublishParts & {
  /** The bucket `inbound`, for the first time of a turn. */
  readonly turns: KV;
};

/** Resolves when it is accepted, or given up because there was no capacity for a while. */
export async function sendReply(parts: ReplyParts, reply: Reply, deliveries: number): Promise<void> {
  const { keyword, carrier } = reply;
  const failure = await publishReply(parts, reply);
  if (failure === null) return;
  if (deliveries < limits.inbound.replyTriesMax) {
    throw new RetryLater(`the answer found no room (${failure})`, limits.bus.nakDelayMsMax);
  }
  metrics.keywordReplies.inc({ keyword, ended: 'given_up' });
  log.warn({ keyword, carrier, failure }, 'a keyword is not answered: no capacity');
}

/** Null when it is accepted, else why not. */
async function publishReply(parts: ReplyParts, reply: Reply): Promise<string | null> {
  let askedAtMs: number;
  try {
    askedAtMs = await firstOfTurn(parts.turns, turnOf(reply), reply.receivedAtMs);
  } catch (error) {
    return messageOf(error);
  }
  const message = messageOfReply({ ...reply, receivedAtMs: askedAtMs });
  // An answer is queued behind the other messages of its account.
  const subject = messageSubject(message.category, message.carrier, message.accountId);
  return new Promise((resolve) => {
    publishNow(parts, subject, message, (refused, isRepeat) => {
      if (refused === null) {
        metrics.keywordReplies.inc({ keyword: reply.keyword, ended: isRepeat ? 'repeat' : 'accepted' });
      }
      resolve(refused === null ? null : refused.code);
    });
  });
}

/** Within a turn the same keyword to the same number is answered once per subscriber. */
function turnOf({ accountId, keyword, to, sender, receivedAtMs }: Reply): string {
  return `${accountId} ${keyword} ${to} ${sender} ${Math.floor(receivedAtMs / limits.inbound.replyEveryMs)}`;
}

/** No client sends it, so no gate is checked. `receivedAtMs`: of the first message of the turn. */
export function messageOfReply(reply: Reply): Message {
  const { accountId, sender, to, text, keyword, carrier, livemode, receivedAtMs, messageId } = reply;
  const segmented = segmentText(text);
  assert(segmented.ok, 'a text of our own choice of encoding always has one');
  const admitted: Admitted = {
    ok: true,
    text,
    templateId: null,
    links: [],
    encoding: segmented.encoding,
    shift: segmented.shift,
    segments: segmented.segments.length,
    ucs2Because: null,
    // Another carrier may not have this number.
    route: { excluded: [], nationalTables: [], planFor: () => ({ carrier, others: [], candidates: [], trace: [] }) },
    notBeforeMs: null,
    callback: null,
    trace: [`answer to the keyword ${keyword} in ${messageId}`],
  };
  return buildMessage(
    { id: keywordReplyKeyId, account: { accountId }, livemode },
    { to, from: sender, category: 'transactional', clientReference: null, validitySeconds: replyValidityMs / 1_000 },
    admitted,
    {
      messageId: derivedMessageId(accountId, `keyword ${keyword} ${to} ${sender}`, receivedAtMs),
      acceptedAtMs: receivedAtMs,
    },
  );
}

const { replyValidityMs } = limits.inbound;

/**
 * The first time of a keyword's answer: one entry of the bucket `inbound` per minute, written by compare-and-set, so
 * that repeats and other nodes find the same time. It expires after a day; only then could a repeat of the same message
 * be answered as a new one. Resolves with `atMs`, unless an earlier time was written; rejects when it is not known.
 */
export async function firstOfTurn(bucket: KV, turn: string, atMs: number): Promise<number> {
  const key = `reply.${createHash('sha256').update(turn).digest('base64url').slice(0, 22)}`;
  if ((await replace(bucket, key, String(atMs), 0)) !== 'conflict') return atMs;
  const { entry } = await readEntry(bucket, key);
  const firstAtMs = Number(entry?.string());
  // A replica that does not have it yet.
  if (!Number.isSafeInteger(firstAtMs) || firstAtMs <= 0) {
    throw new RetryLater('who asked first is not known yet', limits.bus.nakDelayMsMax);
  }
  return firstAtMs;
}

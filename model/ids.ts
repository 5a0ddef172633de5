// The only place that makes and checks identifiers. An id starts with its kind, so that ids of two kinds are never
// confused. A message id contains the time it was made, so that a look-up by id knows which part of the history to
// read.
import { hash } from 'node:crypto';
import { assert } from '../platform/assert.ts';
import { hmacSha256 } from '../platform/one-shot-hmac.ts';
import { secretBytes } from '../platform/random.ts';

export type MessageId = string & { readonly __brand: 'MessageId' };
export type EventId = string & { readonly __brand: 'EventId' };
export type AccountId = string & { readonly __brand: 'AccountId' };
export type ApiKeyId = string & { readonly __brand: 'ApiKeyId' };
/** The id of a principal: a type of its own for each kind of principal. */
export type PrincipalId = ApiKeyId;
export type SenderId = string & { readonly __brand: 'SenderId' };
export type TemplateId = string & { readonly __brand: 'TemplateId' };
/** Of one one-time password. */
export type OtpId = string & { readonly __brand: 'OtpId' };
/** Names the record of a telephone number among those of one account: 80 bits of a keyed hash, as 16 characters. */
export type OtpPlace = string & { readonly __brand: 'OtpPlace' };
export type SuppressionId = string & { readonly __brand: 'SuppressionId' };
export type WebhookEndpointId = string & { readonly __brand: 'WebhookEndpointId' };
/** Of one audited action or operator command. */
export type AuditId = string & { readonly __brand: 'AuditId' };
/** Of a link that is tracked: one for each account, mode and target. */
export type LinkId = string & { readonly __brand: 'LinkId' };
export type ClickId = string & { readonly __brand: 'ClickId' };
export type RequestId = string & { readonly __brand: 'RequestId' };

/** Crockford's base 32: no I, L, O, U, so that an id can be read out over the telephone. */
const alphabet = '0123456789ABCDEFGHJKMNPQRSTVWXYZ';
const timeChars = 10; // 10 × 5 bits hold 48 bits of milliseconds, until the year 10889
const chanceChars = 16; // 16 × 5 = 80 bits

const messageIdPattern = /^sms_[0-9A-HJKMNP-TV-Z]{26}$/;
const otpIdPattern = /^otp_[0-9A-HJKMNP-TV-Z]{42}$/;
const accountIdPattern = /^acc_[0-9A-HJKMNP-TV-Z]{26}$/;

/** Takes the place of a principal's id in replies to keywords; none has it. */
export const keywordReplyKeyId = 'key_keyword' as PrincipalId;

/** `sms_` + 48 bits of time + 80 random bits: sorts by time, cannot be guessed. */
export const newMessageId = idMaker<MessageId>('sms');

/** The message id of a request with an idempotency key: the same (account, key, record time) gives the same id. */
export function derivedMessageId(accountId: AccountId, idempotencyKey: string, recordedAtMs: number): MessageId {
  return messageIdOf(accountId, idempotencyKey, recordedAtMs);
}

/** The message id of a subscriber's message; the same `what` (its identity) and time give the same id. */
export function inboundMessageId(what: string, receivedAtMs: number): MessageId {
  return messageIdOf('inbound', what, receivedAtMs);
}

function messageIdOf(key: string, what: string, atMs: number): MessageId {
  return `sms_${timeText(atMs)}${chanceOf(hmacSha256(key, what))}` as MessageId;
}

export function isMessageId(text: string): text is MessageId {
  return messageIdPattern.test(text);
}

/**
 * The id of a one-time password: what makes its first message's id unique, and the place of its number's record, so
 * that no index leads from one to the other. Without the installation's secret it reveals no number.
 */
export function otpIdOf(firstMessageId: MessageId, place: OtpPlace): OtpId {
  return `otp_${firstMessageId.slice('sms_'.length)}${place}` as OtpId;
}

/** The place of a number's record; `mode` separates test from live. */
export function otpPlaceOf(secret: Uint8Array, accountId: AccountId, livemode: boolean, to: string): OtpPlace {
  const mode = livemode ? 'live' : 'test';
  return chanceOf(hmacSha256(secret, `otp\n${accountId}\n${mode}\n${to}`)) as OtpPlace;
}

export function isOtpId(text: string): text is OtpId {
  return otpIdPattern.test(text);
}

export function placeOfOtp(id: OtpId): OtpPlace {
  return id.slice(-chanceChars) as OtpPlace;
}

export function isAccountId(text: string): text is AccountId {
  return accountIdPattern.test(text);
}

/** The time in the message id, in milliseconds since the epoch. */
export function timeOfMessageId(id: MessageId): number {
  let ms = 0;
  for (let at = 4; at < 4 + timeChars; at += 1) ms = ms * 32 + alphabet.indexOf(id[at] as string);
  return ms;
}

/** The lowest message id of this time (milliseconds since the epoch), above all ids of earlier times. */
export function firstMessageIdOf(ms: number): MessageId {
  return `sms_${timeText(Math.max(0, Math.trunc(ms)))}${'0'.repeat(chanceChars)}` as MessageId;
}

export const newAccountId = idMaker<AccountId>('acc');
export const newApiKeyId = idMaker<ApiKeyId>('key');
export const newSenderId = idMaker<SenderId>('snd');
export const newTemplateId = idMaker<TemplateId>('tpl');
export const newSuppressionId = idMaker<SuppressionId>('sup');
export const newWebhookEndpointId = idMaker<WebhookEndpointId>('whe');
export const newWebhookAttemptId = idMaker<string>('wha');
export const newAuditId = idMaker<AuditId>('aud');
/** Of an erasure of a number. */
export const newErasureId = idMaker<string>('ers');
export const newClickId = idMaker<ClickId>('clk');

/** The same link of an account and mode has the same id wherever it is made. */
export function linkIdOf(accountId: AccountId, livemode: boolean, url: string): LinkId {
  return `lnk_${chanceOf(hmacSha256(accountId, `${livemode ? 'live' : 'test'} ${url}`))}` as LinkId;
}

export function isLinkId(text: string): text is LinkId {
  return /^lnk_[0-9A-HJKMNP-TV-Z]{16}$/.test(text);
}

export function newRequestId(): RequestId {
  return `req_${chanceText(chanceOctets(10))}` as RequestId;
}

/**
 * The identity of a delivery event: what happened, not when it was published. An event that is published again after a
 * crash has the same id, and readers drop the second one. 132 bits of SHA-256. What is no step of sending a message has no
 * attempt, carrier and segment, and its own id in place of the message's.
 */
export function eventIdOf(parts: {
  messageId: string;
  kind: string;
  attempt?: number;
  carrier?: string;
  segment?: number;
  detail: string;
}): EventId {
  const { messageId, kind, attempt = 0, carrier = '', segment = 0, detail } = parts;
  const digest = hash('sha256', `${messageId}|${kind}|${attempt}|${carrier}|${segment}|${detail}`, 'base64url');
  return `evt_${digest.slice(0, 22)}` as EventId;
}

export function isEventId(text: string): text is EventId {
  return /^evt_[A-Za-z0-9_-]{22}$/.test(text);
}

/** Of an event, or of a batch. */
export function isWebhookId(text: string): boolean {
  return /^ev[tb]_[A-Za-z0-9_-]{22}$/.test(text);
}

/** The webhook-id of a batch: the same events for the same endpoint make the same one. */
export function batchIdOf(endpointId: WebhookEndpointId, eventIds: readonly EventId[]): string {
  return `evb_${hash('sha256', [endpointId, ...eventIds.toSorted()].join('|'), 'base64url').slice(0, 22)}`;
}

/** A stable number from 0 to `shards` − 1 for a text (FNV-1a): the same account is always in the same shard. */
export function shardOf(text: string, shards: number): number {
  let state = 0x811c9dc5;
  for (let at = 0; at < text.length; at += 1) state = Math.imul(state ^ text.charCodeAt(at), 0x01000193);
  return (state >>> 0) % shards;
}

function idMaker<Id extends string>(kind: string): (nowMs: number) => Id {
  return (nowMs) => `${kind}_${timeText(nowMs)}${chanceText(chanceOctets(10))}` as Id;
}

function timeText(ms: number): string {
  assert(ms >= 0 && ms < 2 ** 48, 'a message id holds 48 bits of milliseconds');
  let text = '';
  let rest = Math.floor(ms);
  for (let at = 0; at < timeChars; at += 1) {
    text = alphabet[rest % 32] + text;
    rest = Math.floor(rest / 32);
  }
  return text;
}

/** The first 80 bits of a digest in hexadecimal. */
const chanceOf = (digest: string): string => chanceText(Buffer.from(digest.slice(0, 20), 'hex'));

function chanceText(octets: Uint8Array): string {
  let text = '';
  let held = 0;
  let bits = 0;
  for (const octet of octets) {
    held = (held << 8) | octet;
    bits += 8;
    while (bits >= 5) {
      bits -= 5;
      text += alphabet[(held >>> bits) & 31];
    }
    held &= (1 << bits) - 1;
  }
  assert(text.length === chanceChars, 'an id is made from exactly 80 bits');
  return text;
}

// One system call for 400 ids instead of one for each.
let pool = secretBytes(0);
let poolAt = 0;
function chanceOctets(count: number): Uint8Array {
  if (poolAt + count > pool.length) {
    pool = secretBytes(4_000);
    poolAt = 0;
  }
  poolAt += count;
  return pool.subarray(poolAt - count, poolAt);
}

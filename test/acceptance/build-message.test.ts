// The record of a message contains what admission decided, for a client's request as for the answer to a keyword.
import { expect, test } from 'vitest';
import { messageOfReply } from '../../actors/inbound/reply.ts';
import { buildMessage } from '../../acceptance/accept.ts';
import { type AccountId, type ApiKeyId, type MessageId, keywordReplyKeyId, newMessageId } from '../../model/ids.ts';
import { noShift } from '../../model/text/national-languages.ts';
import { limits } from '../../platform/limits.ts';
import { admission } from '../../policy/admission/gates.ts';
import type { Admitted } from '../../policy/contract.ts';
import { principal, request, rules } from '../policy/rules.ts';

const acceptedAtMs = 1_800_000_000_000;
const identity = { messageId: newMessageId(acceptedAtMs), acceptedAtMs };
const owner = { id: 'key_1' as ApiKeyId, account: { accountId: 'acc_1' as AccountId }, livemode: true };

function admitted(over: Parameters<typeof request>[0] = {}): Admitted {
  const result = admission(rules)(principal(), request(over));
  if (!result.ok) throw new Error(result.detail);
  return result;
}

test('a request becomes a message of its principal, with its plan', () => {
  const message = buildMessage(owner, request({ clientReference: 'order 1' }), admitted(), identity);
  expect(message).toMatchObject({
    ...identity,
    accountId: 'acc_1',
    keyId: 'key_1',
    livemode: true,
    carrier: 'alpha',
    sender: 'HELIO',
    recipient: '+8801712345678',
    body: { text: 'Your code is 123456' },
    encoding: 'gsm7',
    segments: 1,
    scheduledAtMs: null,
    clientReference: 'order 1',
    trace: ['prefix 17'],
  });
});

test.each([
  ['an OTP has the short validity', { category: 'otp' as const }, limits.message.validityOtpMs],
  ['any other has the long one', {}, limits.message.validityDefaultMs],
  ['a request has the one it asks for', { validitySeconds: 90 }, 90_000],
])('%s', (_name, over, validityMs) => {
  const { validUntilMs } = buildMessage(owner, request(over), admitted(over), identity);
  expect(validUntilMs - acceptedAtMs).toBe(validityMs);
});

test('a scheduled message is valid from its time on, and its trace has the decisions beside its route', () => {
  const notBeforeMs = acceptedAtMs + 3_600_000;
  const waiting = { ...admitted(), notBeforeMs, trace: ['asked a registry'] };
  const message = buildMessage(owner, request({ validitySeconds: 60 }), waiting, identity);
  expect(message).toMatchObject({
    scheduledAtMs: notBeforeMs,
    validUntilMs: notBeforeMs + 60_000,
    trace: ['prefix 17', 'asked a registry'],
  });
});

test('the answer to a keyword goes over the carrier that brought it and no other, with the system as principal', () => {
  const reply = {
    accountId: 'acc_1' as AccountId,
    sender: '16000',
    to: '+8801712345678',
    text: 'no more messages from 16000',
    keyword: 'stop',
    carrier: 'beta',
    livemode: true,
    receivedAtMs: acceptedAtMs,
    messageId: 'sms_in' as MessageId,
  } as const;
  const message = messageOfReply(reply);
  expect(message).toMatchObject({
    keyId: keywordReplyKeyId,
    accountId: 'acc_1',
    category: 'transactional',
    carrier: 'beta',
    plan: [],
    sender: '16000',
    recipient: '+8801712345678',
    body: { text: reply.text },
    encoding: 'gsm7',
    shift: noShift,
    segments: 1,
    acceptedAtMs,
    scheduledAtMs: null,
    validUntilMs: acceptedAtMs + limits.inbound.replyValidityMs,
    clientReference: null,
    trace: ['answer to the keyword stop in sms_in'],
  });
  // Its repeat, and a system that answers at the same time, make no second one.
  expect(messageOfReply({ ...reply, messageId: 'sms_other' as MessageId }).messageId).toBe(message.messageId);
  expect(messageOfReply({ ...reply, keyword: 'help' }).messageId).not.toBe(message.messageId);
});

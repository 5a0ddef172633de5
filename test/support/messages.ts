// Messages and arbitrary messages for tests: one whole, plausible message whose fields a test may change, and
// fast-check arbitraries that reach the corners of every field.
import fc from 'fast-check';
import type { AccountId, ApiKeyId, MessageId, WebhookEndpointId } from '../../model/ids.ts';
import { newMessageId } from '../../model/ids.ts';
import { type Message, type MessageBody, categories, hedges } from '../../model/message.ts';
import { noShift } from '../../model/text/national-languages.ts';
import { systemClock } from '../../platform/clock.ts';

export function messageWith(changes: Partial<Message> = {}): Message {
  const nowMs = systemClock.nowMs();
  return {
    messageId: newMessageId(nowMs),
    hop: 0,
    delays: 0,
    accountId: 'acc_01JABCDEFGHJKMNPQRSTVWXYZ0' as AccountId,
    keyId: 'key_01JABCDEFGHJKMNPQRSTVWXYZ0' as ApiKeyId,
    channel: 'sms',
    category: 'transactional',
    carrier: 'alpha',
    plan: [],
    sender: 'HELIO',
    senderTonNpi: null,
    recipient: '+8801712345678',
    recipientTonNpi: null,
    body: { text: 'hello' },
    encoding: 'gsm7',
    shift: noShift,
    segments: 1,
    registeredDelivery: 1,
    acceptedAtMs: nowMs,
    scheduledAtMs: null,
    validUntilMs: nowMs + 3_600_000,
    clientReference: null,
    campaignId: null,
    variantId: null,
    templateId: null,
    livemode: true,
    priceMicros: null,
    priceVersion: null,
    trace: [],
    resends: 0,
    ...changes,
  };
}

const textOrNull = fc.option(fc.string({ unit: 'grapheme', maxLength: 40 }), { nil: null });
const whole = fc.integer({ min: 0, max: 2 ** 31 - 1 });
const timeMs = fc.integer({ min: 0, max: 4_102_444_800_000 });
const tonNpi = fc.option(fc.record({ ton: fc.integer({ min: 0, max: 255 }), npi: fc.integer({ min: 0, max: 255 }) }), {
  nil: null,
});
const octets = fc.uint8Array({ maxLength: 300 }).map((each) => Buffer.from(each));

const anyBody: fc.Arbitrary<MessageBody> = fc.oneof(
  fc.record({ text: fc.string({ unit: 'grapheme', maxLength: 300 }) }),
  fc.record({
    octets,
    dataCoding: fc.integer({ min: 0, max: 255 }),
    udh: fc.option(octets, { nil: null }),
  }),
);

const anyCallback = fc.record({
  endpointId: fc.string({ maxLength: 40 }) as unknown as fc.Arbitrary<WebhookEndpointId>,
  url: fc.string({ maxLength: 60 }),
});

export const anyMessage: fc.Arbitrary<Message> = fc
  .record({
    messageId: timeMs.map<MessageId>((ms) => newMessageId(ms)),
    hop: whole,
    delays: whole,
    accountId: fc.string({ maxLength: 40 }) as unknown as fc.Arbitrary<AccountId>,
    keyId: fc.string({ maxLength: 40 }) as unknown as fc.Arbitrary<ApiKeyId>,
    channel: fc.constant('sms' as const),
    category: fc.constantFrom(...categories),
    carrier: fc.stringMatching(/^[a-z0-9-]{1,20}$/),
    plan: fc.array(fc.stringMatching(/^[a-z0-9-]{1,20}$/), { maxLength: 4 }),
    sender: fc.string({ unit: 'grapheme', maxLength: 16 }),
    senderTonNpi: tonNpi,
    recipient: fc.stringMatching(/^\+[1-9][0-9]{6,14}$/),
    recipientTonNpi: tonNpi,
    body: anyBody,
    encoding: fc.constantFrom('gsm7' as const, 'ucs2' as const),
    shift: fc.record({ locking: fc.integer({ min: 0, max: 13 }), single: fc.integer({ min: 0, max: 13 }) }),
    segments: fc.integer({ min: 1, max: 10 }),
    registeredDelivery: fc.integer({ min: 0, max: 255 }),
    acceptedAtMs: timeMs,
    validUntilMs: timeMs,
    scheduledAtMs: fc.option(timeMs, { nil: null }),
    clientReference: textOrNull,
    campaignId: textOrNull,
    variantId: textOrNull,
    templateId: textOrNull,
    livemode: fc.boolean(),
    priceMicros: fc.option(fc.maxSafeInteger(), { nil: null }),
    priceVersion: fc.option(whole, { nil: null }),
    trace: fc.array(fc.string({ maxLength: 20 }), { maxLength: 5 }),
    resends: fc.constantFrom(0, 1),
    callback: fc.option(anyCallback, { nil: null }),
    hedge: fc.option(fc.constantFrom(...hedges), { nil: null }),
    scoredAs: fc.option(fc.string({ maxLength: 20 }), { nil: null }),
  })
  .map(({ callback, hedge, scoredAs, ...message }) => ({
    ...message,
    ...(callback === null ? {} : { callback }),
    ...(hedge === null ? {} : { hedge }),
    ...(scoredAs === null ? {} : { scoredAs }),
  }));

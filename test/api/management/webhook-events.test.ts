// What the OpenAPI document and docs/webhooks.md say of each webhook is what is sent: the bodies of real events, and the
// examples, have exactly the members of the schemas.
import { readFileSync } from 'node:fs';
import { describe, expect, test } from 'vitest';
import { batchBody, eventBody } from '../../../actors/webhook/event-body.ts';
import { disabledEvent, failingEvent } from '../../../actors/webhook/endpoint-events.ts';
import { contentOfFact } from '../../../actors/webhook/fact-content.ts';
import type { Failing } from '../../../actors/webhook/delivery/schedule.ts';
import { openApiDocument } from '../../../api/management/document.ts';
import { webhookBodies } from '../../../api/management/schemas/webhook-events.ts';
import { type DeliveryEvent, type EventKind, eventKinds, eventOfMessage } from '../../../model/delivery-event.ts';
import type { ClickFact, Fact, GuardFact, OtpFact } from '../../../model/fact.ts';
import type { EventId, OtpId } from '../../../model/ids.ts';
import type { WebhookContent } from '../../../model/records/webhook-record.ts';
import {
  type WebhookEndpoint,
  webhookBatchType,
  webhookEventTypes,
  webhookTestType,
  webhookTypeOfKind,
} from '../../../model/webhook-endpoint.ts';
import { messageWith } from '../../support/messages.ts';
import { webhookCipher } from '../../support/webhooks.ts';

const bodyOf = (content: WebhookContent): { type: string } => JSON.parse(eventBody({ content }, webhookCipher));

const atMs = Date.UTC(2026, 10, 24, 4, 5);
const inbound = { sealedBody: null, keepBody: true, keyword: 'stop', parts: 1, receivedId: 'sms_received' } as const;
const eventWith = (kind: EventKind): DeliveryEvent => {
  const event = eventOfMessage(messageWith({ scheduledAtMs: atMs }), { kind, atMs, segment: 1 });
  return kind === 'received' || kind === 'opted_out' ? { ...event, inbound } : event;
};

const factBase = { eventId: 'evt_1' as EventId, atMs, accountId: 'acc_1', livemode: true };
const otp = (fields: Partial<OtpFact>): OtpFact => ({
  ...factBase,
  ...{ kind: 'otp', version: 1, id: 'otp_1' as OtpId, status: 'failed', reason: 'locked', to: '+8801712345678' },
  ...{ purpose: 'sign_in', language: 'en', ownCode: false, sender: 'HELIO', clientReference: null, attempts: 2 },
  ...{ createdAtMs: atMs, expiresAtMs: atMs, endedAtMs: atMs, messageIds: [] },
  ...fields,
});
const block: GuardFact = {
  ...factBase,
  ...{ kind: 'guard', what: 'block', rule: 'conversion', action: null, mode: 'on', scope: '+88017', prefix: '+88017' },
  ...{ statistic: 11.8, threshold: 11.5, times: 1, untilMs: atMs, released: '' },
};
const click = (of: ClickFact['class']): ClickFact => ({
  ...factBase,
  ...{ kind: 'click', clickId: 'clk_1', linkId: 'lnk_1', url: 'https://example.org/', messageId: null, class: of },
  ...{ reasons: ['head'], category: 'promotional', sender: 'HELIO' },
  ...{ campaignId: null, variantId: null, templateId: null },
});
const facts: readonly Fact[] = [
  otp({}),
  otp({ status: 'expired', reason: 'expired' }),
  otp({ status: 'verified', reason: null }),
  block,
  click('human'),
  click('scanner'),
];

const endpoint = {
  ...{ id: 'whe_1', accountId: 'acc_1', livemode: true, url: 'https://example.com/', disabledReason: 'failing' },
} as unknown as WebhookEndpoint;
const failing = { sinceMs: atMs, tries: 12, warnings: 0, nextTryAtMs: atMs, error: 'timeout' } as unknown as Failing;

const contents: readonly WebhookContent[] = [
  ...eventKinds.filter((kind) => webhookTypeOfKind[kind] !== undefined).map((kind) => ({ event: eventWith(kind) })),
  ...facts.map((fact) => contentOfFact(fact)).filter((content) => content !== null),
  failingEvent(endpoint, failing).content,
  disabledEvent(endpoint, failing, atMs).content,
  { type: webhookTestType, atMs, data: { object: 'webhook', id: 'whe_1', livemode: true } },
];

describe('every type', () => {
  test('has a schema, and a real event in this test', () => {
    const types = [...webhookEventTypes, webhookTestType];
    expect([...webhookBodies.keys()].toSorted()).toEqual([...types, webhookBatchType].toSorted());
    expect([...new Set(contents.map((content) => bodyOf(content).type))].toSorted()).toEqual(types.toSorted());
  });

  test.each(contents.map((content) => [bodyOf(content).type, bodyOf(content)]))(
    '%s is sent as described',
    (type, body) => {
      expect(webhookBodies.get(type)?.safeParse(body).error?.issues ?? []).toEqual([]);
    },
  );

  test('several in one request, too', () => {
    const records = contents.slice(0, 2).map((content) => ({ eventId: 'evt_1' as EventId, content }));
    const body = JSON.parse(batchBody(records, webhookCipher));
    expect(webhookBodies.get(webhookBatchType)?.safeParse(body).error?.issues ?? []).toEqual([]);
  });
});

test('the OpenAPI document has all of them under `webhooks`', () => {
  const { webhooks } = openApiDocument([], '1') as { webhooks: Record<string, { post: { requestBody: object } }> };
  expect(Object.keys(webhooks).toSorted()).toEqual([...webhookBodies.keys()].toSorted());
  expect(JSON.stringify(webhooks['sms.opted_out']?.post.requestBody)).toContain('received_id');
});

test('the examples of docs/webhooks.md are such bodies, and there is one of each family', () => {
  const page = readFileSync(new URL('../../../docs/webhooks.md', import.meta.url), 'utf8');
  const examples = [...page.matchAll(/^```json\n(\{ "type": [^]*?)\n```$/gm)].map(([, json = '']) => JSON.parse(json));
  for (const example of examples)
    expect([example.type, webhookBodies.get(example.type)?.safeParse(example).error?.issues ?? []]).toEqual([
      example.type,
      [],
    ]);
  const shown = new Set(examples.map(({ type }) => type));
  const families = ['sms.delivered', 'sms.received', 'sms.opted_out', 'otp.failed', 'otp.blocked', 'link.clicked'];
  expect(
    [...families, 'webhook.failing', 'webhook.disabled', 'webhook.test', 'webhook.batch'].filter(
      (type) => !shown.has(type),
    ),
  ).toEqual([]);
});

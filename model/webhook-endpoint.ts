// A webhook endpoint of an account: a URL that gets the account's delivery events as signed HTTP requests (Standard
// Webhooks, https://www.standardwebhooks.com). PostgreSQL has the truth; the bucket `directory` has a copy of each one,
// which is what the data plane reads. Its secrets are sealed in both. Pure.
import type { AccountId, WebhookEndpointId } from './ids.ts';
import type { EventKind } from './delivery-event.ts';
import type { Fact } from './fact.ts';

/** The types of delivery events; the kinds without one are not sent. */
const typesOfMessages = {
  submitted: 'sms.submitted',
  delivered: 'sms.delivered',
  undelivered: 'sms.undelivered',
  expired: 'sms.expired',
  rejected: 'sms.rejected',
  unknown: 'sms.unknown',
  failed: 'sms.failed',
  blocked: 'sms.blocked',
  canceled: 'sms.canceled',
  received: 'sms.received',
  opted_out: 'sms.opted_out',
} as const satisfies { readonly [Kind in EventKind]?: string };

/** The types of facts. */
export const webhookTypesOfFacts = {
  /** A person opened a short link, as far as can be known (click-class.ts); a program did. */
  click: ['link.clicked', 'link.requested'],
  /** It ended without being verified: failed. A cancel by the client is not sent. */
  otp: ['otp.verified', 'otp.failed'],
  /** The guard against fraud blocks numbers from now on. */
  guard: ['otp.blocked'],
} as const satisfies { readonly [Kind in Fact['kind']]: readonly string[] };

/**
 * About another endpoint of the account, and not in the history: nobody sends them again (decision 261). failing: for an hour, for a day. disabled: after five days
 * without a success, or because it answered 410.
 */
export const webhookTypesOfEndpoints = ['webhook.failing', 'webhook.disabled'] as const;

type MessageEventType = (typeof typesOfMessages)[keyof typeof typesOfMessages];
export type FactEventType<Kind extends Fact['kind'] = Fact['kind']> = (typeof webhookTypesOfFacts)[Kind][number];
export type WebhookEventType = MessageEventType | FactEventType | (typeof webhookTypesOfEndpoints)[number];

/** The types of events an endpoint can subscribe to, as `type` of a request's body has them: those of the lists above. */
export const webhookEventTypes: readonly WebhookEventType[] = [
  ...Object.values(typesOfMessages),
  ...Object.values(webhookTypesOfFacts).flat(),
  ...webhookTypesOfEndpoints,
];

/** The type of the request that POST /v1/webhooks/{id}/test sends. Every endpoint takes it, none subscribes to it. */
export const webhookTestType = 'webhook.test';

/** The type of a request that carries several events, to an endpoint with `batch`. */
export const webhookBatchType = 'webhook.batch';

/** Subscribes to every type, those of later versions too, but for those that must be named. */
export const everyEventType = '*';
const namedOnly: ReadonlySet<string> = new Set<WebhookEventType>(['link.requested']);

/** The type that subscribers see of a delivery event; the kinds without one are not sent. */
export const webhookTypeOfKind: { readonly [Kind in EventKind]?: WebhookEventType } = typesOfMessages;

/** none: as they come, several at a time. per_message: the events of one message one after another. */
export const webhookOrderings = ['none', 'per_message'] as const;
export type WebhookOrdering = (typeof webhookOrderings)[number];

/** Several events in one request: at most `max`, after at most `waitMs` from the first. */
export type WebhookBatch = { readonly max: number; readonly waitMs: number };

/** client: by the account itself. gone: it answered 410. failing: no success for days, see the delivery process. */
export const webhookDisabledReasons = ['client', 'gone', 'failing'] as const;
export type WebhookDisabledReason = (typeof webhookDisabledReasons)[number];

export type WebhookEndpoint = {
  readonly id: WebhookEndpointId;
  readonly accountId: AccountId;
  /** Only events of messages of this mode. */
  readonly livemode: boolean;
  /** As the WHATWG parser normalises it. */
  readonly url: string;
  /** The types it subscribes to; `*` alone is every type; none: only messages with a `callback_url`. */
  readonly events: readonly string[];
  readonly ordering: WebhookOrdering;
  /** Null: one event in each request. */
  readonly batch: WebhookBatch | null;
  /** Base64; `openWebhookSecrets` (webhook-secrets.ts) reads it. */
  readonly sealedSecrets: string;
  readonly status: 'enabled' | 'disabled';
  /** Null while it is enabled. */
  readonly disabledReason: WebhookDisabledReason | null;
  /** When it was last enabled again; null or missing: it was never disabled. */
  readonly enabledAtMs?: number | null;
  readonly description: string;
  readonly createdAtMs: number;
};

export function subscribesTo({ events }: Pick<WebhookEndpoint, 'events'>, type: string): boolean {
  return events.includes(type) || (events.includes(everyEventType) && !namedOnly.has(type));
}

/** When a client enabled it last; null: it was never disabled. */
export function enabledAtOf({ enabledAtMs }: Pick<WebhookEndpoint, 'enabledAtMs'>): number | null {
  return enabledAtMs ?? null;
}

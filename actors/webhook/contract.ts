// What others ask of the delivery process over NATS, and what it asks of the control role. Types and subjects only.
// Requests and answers are JSON; the process that delivers at the moment answers, a standby does not.
import type { WebhookDisabledReason, WebhookEndpoint } from '../../model/webhook-endpoint.ts';
import type { AccountId, EventId, WebhookEndpointId } from '../../model/ids.ts';
import type { SendError } from './send/send-error.ts';

/** Asked by the management API, answered by the delivery process. */
export const webhookSubjects = {
  /** DeliveriesRequest → DeliveriesAnswer */
  deliveries: 'webhooks.deliveries',
  /** TestRequest → TestAnswer: sends a test event at once, and answers how it went. */
  test: 'webhooks.test',
  /** ReplayRequest → ReplayAnswer */
  replay: 'webhooks.replay',
} as const;

/** Asked by the delivery process, answered by the control role: DisableRequest → DisableAnswer. */
export const disableSubject = 'webhooks.disable';

export type EndpointOf = { readonly accountId: AccountId; readonly endpointId: WebhookEndpointId };

/** One request to the endpoint, and how it ended. */
export type DeliveryAttempt = {
  /** Of this try; it begins with its time. */
  readonly id: string;
  /** The same in every try. */
  readonly webhookId: string;
  /** Several for a batch. */
  readonly eventIds: readonly string[];
  readonly type: string;
  /** When it began: milliseconds since the epoch. */
  readonly atMs: number;
  readonly url: string;
  /** 1: the first try of this event. */
  readonly attempt: number;
  /** Null: a 2xx. */
  readonly error: SendError | null;
  readonly detail: string;
  readonly status: number | null;
  /** Headers and the first characters of the body; `bodyChars` is the length of all of it. */
  readonly request: {
    readonly headers: Readonly<Record<string, string>>;
    readonly body: string;
    readonly bodyChars: number;
  };
  /** As far as they are kept; null: there was none. */
  readonly response: { readonly headers: Readonly<Record<string, string>>; readonly body: string } | null;
  readonly latencyMs: number;
};

/** How an endpoint fails as a whole. Times are milliseconds since the epoch. */
export type EndpointFailing = {
  /** Null: it does not fail. */
  readonly failingSinceMs: number | null;
  /** Null when it does not fail, or is disabled. */
  readonly nextTryAtMs: number | null;
  readonly tries: number;
  /** Of the last try; null: it does not fail. */
  readonly error: SendError | null;
  /** When its account was warned (`webhook.failing`). */
  readonly warnedAtMs: readonly number[];
};

/** How an endpoint is at the moment. */
export type EndpointHealth = EndpointFailing & {
  /** Events that wait for it, beside those that are being sent. */
  readonly parked: number;
};

/** Its attempts so far are stored when it is answered: attempts/read-attempts.ts finds them. */
export type DeliveriesRequest = EndpointOf;
export type DeliveriesAnswer = { readonly health: EndpointHealth };

/** The endpoint as PostgreSQL has it: the directory of the delivery process gets it, and a change such as a new secret, later. */
type OfStored = EndpointOf & { readonly endpoint: WebhookEndpoint };

export type TestRequest = OfStored;
export type TestAnswer = { readonly attempt: DeliveryAttempt };

/**
 * The events of a time, or one of them (`eventId`). They are sent again under the webhook-id they had. Milliseconds since
 * the epoch, `untilMs` exclusive.
 */
export type ReplayRequest = OfStored & {
  readonly eventId: EventId | null;
  readonly sinceMs: number;
  readonly untilMs: number;
};
/**
 * `events` null: more than were counted. `running`: an earlier one to this endpoint. `not_searched`: the event was not found
 * before the time for the search was over. `event_store_away`: it does not answer. `not_taken`: the delivery process stops, has no
 * room for the event, or does not know the endpoint yet. `behind`: what happened in the time is not recorded yet, the oldest of it
 * for `behindMs`.
 */
export type ReplayAnswer =
  | { readonly ok: true; readonly events: number | null }
  | { readonly ok: false; readonly why: 'not_found' | 'running' | 'not_searched' | 'event_store_away' | 'not_taken' }
  | { readonly ok: false; readonly why: 'behind'; readonly behindMs: number | null };

/** The answer when too many requests are being answered, or too many replays run: of this account, or of all. */
export type Busy = { readonly busy: 'account_full' | 'full' };

export type DisableRequest = EndpointOf & {
  readonly reason: Exclude<WebhookDisabledReason, 'client'>;
  /** Of the endpoint that failed: one that was enabled again since is not disabled. */
  readonly enabledAtMs: number | null;
};
/** `ok` also when it was disabled already, or enabled again since. */
export type DisableAnswer = { readonly ok: boolean };

// The queries to the event store and their answers: request/reply over core NATS, JSON both ways. Types and subjects
// only. Several analytics nodes share one queue group, so each query is answered once. An answer is `found`, `none`
// or `unavailable`. Only a store that had every event of EVENTS up to its end at the time of asking says `none`. On
// `unavailable` nothing is settled, sent again or reported as not found: the client asks again, or answers 503.
import type { DeliveryEvent } from '../model/delivery-event.ts';
import type { HistoryEntry } from '../model/fold.ts';
import type { Keyword } from '../model/keyword.ts';
import type { Category, Encoding } from '../model/message.ts';
import type { MessageStatus } from '../model/status.ts';
import type { Use } from '../platform/shared-bound.ts';

export const querySubjects = {
  /** GetMessage → GetMessageReply. */
  get: 'q.sms.get',
  /** ListMessages → ListMessagesReply. */
  list: 'q.sms.list',
  /** FindSubmitted → FindSubmittedReply. */
  findSubmitted: 'q.sms.submitted',
  /** FindWriter → FindWriterReply. */
  findWriter: 'q.sms.writer',
} as const;

export const queryQueueGroup = 'analytics';

/** Where the node that records answers what the others pass on to it. */
export const recorderSubject = (subject: string): string => `q.recorder.${subject.slice('q.'.length)}`;

/**
 * `recordedTo`: the answer has every event of EVENTS up to this sequence. With `none`, and where a question demands it
 * with `found`, that is at least the last one at the time of asking; null: the node that answers does not record, and
 * what happened last may be missing.
 */
export type Answer<Found> =
  | ({ readonly result: 'found'; readonly recordedTo: number | null } & Found)
  | { readonly result: 'none'; readonly recordedTo: number }
  | Unavailable;

export type Unavailable = {
  readonly result: 'unavailable';
  readonly why: UnavailableWhy;
  readonly detail: string;
};

/**
 * `away`: nobody answers, or ClickHouse does not · `behind`: events wait to be recorded · `busy`: too many questions ·
 * `young`: nothing is known of the message, and its first event may still be on its way.
 */
export type UnavailableWhy = 'away' | 'behind' | 'busy' | 'young';

/** The question itself is wrong: a cursor that is none, a limit out of range. */
export type BadQuery = { readonly result: 'bad_request'; readonly detail: string };

/** The node gives up inside after 2 s and says so; an asker that waits a little longer always gets a reply. */
export const queryTimeoutMs = 2_500;

export type GetMessage = {
  readonly accountId: string;
  readonly messageId: string;
  /** False: a young message that nobody knows yet is not waited for. */
  readonly wait?: boolean;
  /** Who wants to publish an event of the message asks for one of its events, which has all that they share. */
  readonly withEvent?: boolean;
  /** `found` too is only said with every event up to the time of asking: for who acts on what is not in the history. */
  readonly upToDate?: boolean;
  /**
   * Whose places it takes (platform/shared-bound.ts): `ordinary` to be shown it, others go before. With `upToDate`:
   * system.
   */
  readonly use?: Use;
};

export type GetMessageReply = Answer<{
  readonly message: MessageView;
  readonly event?: DeliveryEvent;
  /** Only with `upToDate`, and only when a carrier's actor has given the message on. */
  readonly passedOn?: PassedOn;
}>;

/** The last record of the message that an actor was done with without an end: its next record is another one. */
export type PassedOn = {
  readonly kind: 'deferred' | 'rerouted';
  readonly hop: number;
  readonly attempt: number;
};

export type ListMessages = {
  readonly accountId: string;
  /** Left out: live and test messages alike. */
  readonly livemode?: boolean;
  /** 1..100, 20 when left out. */
  readonly limit?: number;
  /** `nextCursor` of the page before. Opaque. */
  readonly cursor?: string;
  readonly status?: MessageStatus;
  /** To subscribers (the default) or from them; `received` is the only status of the latter. */
  readonly direction?: Direction;
  readonly to?: string;
  readonly from?: string;
  readonly category?: Category;
  readonly clientReference?: string;
  /** Inclusive. */
  readonly createdAfterMs?: number;
  /** Exclusive. */
  readonly createdBeforeMs?: number;
};

export type Direction = 'outbound' | 'inbound';

/**
 * Newest first. A page may be shorter than `limit`, even empty, and still have a `nextCursor`: go on from there. `none`:
 * no message fits, and there is no further page.
 */
export type ListMessagesReply =
  | Answer<{ readonly messages: readonly MessageView[]; readonly nextCursor: string | null }>
  | BadQuery;

/** The folded state of one message, ready for the API. Times are wall time in milliseconds since the epoch. */
export type MessageView = {
  readonly id: string;
  /** A request that was refused at the ingress: it never was a message, and its recipient is masked. */
  readonly refused: boolean;
  readonly direction: Direction;
  readonly status: MessageStatus;
  /** From a subscriber: the client's number, and the subscriber's. */
  readonly to: string;
  readonly from: string;
  readonly category: Category;
  readonly encoding: Encoding;
  readonly segments: number;
  readonly livemode: boolean;
  readonly clientReference: string | null;
  readonly acceptedAtMs: number;
  /** When it was to go out; null: at once. */
  readonly scheduledAtMs: number | null;
  readonly submittedAtMs: number | null;
  readonly deliveredAtMs: number | null;
  readonly error: string | null;
  readonly carrier: string | null;
  readonly history: readonly HistoryEntry[];
  /** Of a message from a subscriber; null for others. */
  readonly inbound: InboundView | null;
};

export type InboundView = {
  readonly keyword: Keyword | null;
  /** How many of `segments` came. */
  readonly parts: number;
  /** Base64 of the sealed body, bound to the id; null where the account does not keep it. */
  readonly sealedBody: string | null;
};

/** Which submit is this receipt about? Asked by a carrier actor whose memory does not hold it. */
export type FindSubmitted = {
  readonly carrier: string;
  /** E.164, likeliest first: a carrier's ids are short and come again, the recipient distinguishes them. */
  readonly recipients: readonly string[];
  /** The id in every form the response may have had, likeliest first: lower case, without leading zeros. */
  readonly carrierMessageIds: readonly string[];
};

/** The newest `submitted` event with the first id of the list that fits any. Only said with every event. */
export type FindSubmittedReply = Answer<{ readonly submitted: DeliveryEvent }>;

/** Who wrote last to this subscriber from one of these senders? Asked where several accounts send from a number. */
export type FindWriter = {
  /** E.164. */
  readonly subscriber: string;
  readonly senders: readonly string[];
  readonly livemode: boolean;
  readonly sinceMs: number;
};

/** Only said with every event. */
export type FindWriterReply = Answer<{ readonly writer: { readonly accountId: string; readonly sender: string } }>;

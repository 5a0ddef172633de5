// The queries to the event store and their answers: request/reply over core NATS, JSON both ways. Types and subjects
// only. Several analytics nodes share one queue group, so each query is answered once. An answer is `found`, `none` or
// `unavailable`. `none` requires that the node had every event of EVENTS up to its end at the time of the query. On
// `unavailable` nothing is settled, resent or reported as not found: the caller retries, or answers 503.
import type { Counts, Erasure } from '../cluster/bus/erasures.ts';
import type { HedgeRule } from '../model/copies.ts';
import type { DeliveryEvent, EventKind } from '../model/delivery-event.ts';
import type { Fact } from '../model/fact.ts';
import type { MessageState } from '../model/fold.ts';
import type { Keyword } from '../model/keyword.ts';
import type { Category } from '../model/message.ts';
import type { MessageStatus } from '../model/status.ts';
import type { WebhookEventType } from '../model/webhook-endpoint.ts';
import type { Use } from '../platform/shared-bound.ts';
import type { ReportQuery } from './reports/report.ts';
import type { ExportQuery } from './sql/export-slice.ts';

export const querySubjects = {
  /** GetMessage → GetMessageReply. */
  get: 'q.sms.get',
  /** ListMessages → ListMessagesReply. */
  list: 'q.sms.list',
  /** FindSubmitted → FindSubmittedReply. */
  findSubmitted: 'q.sms.submitted',
  /** FindWriter → FindWriterReply. */
  findWriter: 'q.sms.writer',
  /** ReportQuery or ExportQuery → RunReportReply. */
  report: 'q.report.run',
  /** ReplayEvents → ReplayEventsReply. */
  replayEvents: 'q.sms.again',
  /** ReplayFacts → ReplayFactsReply. */
  replayFacts: 'q.fact.again',
  /** EraseRows → EraseRowsReply. */
  eraseRows: 'q.sms.erase',
} as const;

export const queryQueueGroup = 'analytics';

/** The subject on which the recording node answers queries that other nodes pass on. */
export const recorderSubject = (subject: string): string => `q.recorder.${subject.slice('q.'.length)}`;

/**
 * `recordedTo`: the answer includes every event of EVENTS up to this sequence. With `none`, and with `found` where the
 * query requires it, that is at least the last one at the time of the query; null: the answering node does not record,
 * and the latest events may be missing.
 */
type Answer<Found> =
  | ({ readonly result: 'found'; readonly recordedTo: number | null } & Found)
  | { readonly result: 'none'; readonly recordedTo: number }
  | Unavailable;

export type Unavailable = {
  readonly result: 'unavailable';
  readonly why: UnavailableWhy;
  readonly detail: string;
  /** Of `behind`, where it is known: for how long the oldest of what is not recorded has waited. */
  readonly behindMs?: number;
};

/**
 * `away`: no node answers, or ClickHouse does not · `behind`: events wait to be recorded · `busy`: too many queries ·
 * `young`: the message is unknown, but its first event may not have arrived yet.
 */
export type UnavailableWhy = 'away' | 'behind' | 'busy' | 'young';

/** The query is invalid: no cursor, or a limit out of range. */
type BadQuery = { readonly result: 'bad_request'; readonly detail: string };

/** The node answers within 2 s, with an error if need be; a caller that waits a little longer always gets a reply. */
export const queryTimeoutMs = 2_500;

/** The same for a report, which may have waited for others: longer than its deadline there, shorter than the request's. */
export const reportTimeoutMs = 7_000;

export type GetMessage = {
  readonly accountId: string;
  readonly messageId: string;
  /** False: do not wait for a young message that is not known yet. */
  readonly wait?: boolean;
  /** Include one event of the message, for callers that publish another one: it has the fields they share. */
  readonly withEvent?: boolean;
  /** Include all events of the message. */
  readonly withEvents?: boolean;
  /** Answer `found` too only with every event up to the time of the query: for callers that act on missing events. */
  readonly upToDate?: boolean;
  /** Include what became of it at each carrier. */
  readonly withHops?: boolean;
  /** The share it counts against (platform/shared-bound.ts): `ordinary` for display. With `upToDate`: system. */
  readonly use?: Use;
};

export type GetMessageReply = Answer<{
  readonly message: MessageView;
  readonly event?: DeliveryEvent;
  /** With `withEvents`: in stream order, some twice, each packed (model/records/event-record.ts) in base64. */
  readonly events?: readonly string[];
  /** With `withHops`. */
  readonly hops?: readonly SentHop[];
  /** Only with `upToDate`, and only when a carrier's actor passed the message on. */
  readonly passedOn?: PassedOn;
}>;

/** A message at one of the carriers it was given to. */
export type SentHop = {
  /** Null: not known yet. */
  readonly carrier: string | null;
  readonly hop: number;
  /** The last that happened there (`rerouted`: another carrier got it); null: not known now. */
  readonly status: EventKind | null;
  /** Of a second copy (model/copies.ts): the rule that sent it. */
  readonly hedgedBy: HedgeRule | null;
  readonly acceptedToSubmittedMs: number | null;
  readonly submittedToDeliveredMs: number | null;
};

/** The last record of the message that an actor gave to another carrier, as a move or a copy, or finished without a final event. */
export type PassedOn = {
  readonly kind: 'deferred' | 'rerouted' | 'hedged';
  readonly hop: number;
  readonly attempt: number;
};

export type ListMessages = {
  readonly accountId: string;
  /** Absent: live and test messages. */
  readonly livemode?: boolean;
  /** 1..100; default 20. */
  readonly limit?: number;
  /** `nextCursor` of the previous page. Opaque. */
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

type Direction = 'outbound' | 'inbound';

/**
 * Newest first. A page may be shorter than `limit`, even empty, and have a `nextCursor` for the next page. `none`: no
 * message matches, and there is no further page.
 */
export type ListMessagesReply =
  | Answer<{ readonly messages: readonly MessageView[]; readonly nextCursor: string | null }>
  | BadQuery;

/** The folded state of one message, ready for the API. Times are wall time in milliseconds since the epoch. */
export type MessageView = FoldedFacts &
  SharedFacts & {
    readonly id: string;
    /** A request refused at the ingress: it never was a message, and its recipient is masked. */
    readonly refused: boolean;
    readonly direction: Direction;
    /** For a message from a subscriber: the client's number in `to`, the subscriber's in `from`. */
    readonly to: string;
    readonly from: string;
    /** For messages from subscribers; null for others. */
    readonly inbound: InboundView | null;
  };

type FoldedFacts = Pick<
  MessageState,
  'status' | 'history' | 'acceptedAtMs' | 'submittedAtMs' | 'deliveredAtMs' | 'error' | 'carrier'
>;
type SharedFacts = Pick<
  DeliveryEvent,
  'category' | 'encoding' | 'segments' | 'livemode' | 'clientReference' | 'scheduledAtMs'
>;

export type InboundView = {
  readonly keyword: Keyword | null;
  /** Parts received of `segments`. */
  readonly parts: number;
  /** Base64 of the sealed body, bound to the id; null where the account does not keep it. */
  readonly sealedBody: string | null;
};

/** Finds the submit of a receipt, for a carrier actor that does not hold it in memory. */
export type FindSubmitted = {
  readonly carrier: string;
  /** E.164, likeliest first: a carrier's ids are short and repeat, the recipient distinguishes them. */
  readonly recipients: readonly string[];
  /** The id in every form the response may have had, likeliest first: canonical() of model/carrier-message-id. */
  readonly carrierMessageIds: readonly string[];
};

/** The newest `submitted` event with the first matching id of the list. Requires every event up to the query. */
export type FindSubmittedReply = Answer<{ readonly submitted: DeliveryEvent }>;

/** Finds who wrote last to this subscriber from one of these senders, where several accounts use one number. */
export type FindWriter = {
  /** E.164. */
  readonly subscriber: string;
  readonly senders: readonly string[];
  readonly livemode: boolean;
  readonly sinceMs: number;
};

/** Requires every event up to the query. */
export type FindWriterReply = Answer<{ readonly writer: { readonly accountId: string; readonly sender: string } }>;

/** Runs a report or an export. The query was validated (api/management/report-query.ts, routes/exports.ts). */
export type RunReport = ReportQuery | ExportQuery;

/**
 * `found`: the answer, of an export one slice of it, is held for some seconds and fetched in parts with ReportPart from `subject`. `too_large`: more rows than
 * a report may have, or more of what `read` says than it can read in its time. `no_place`: too many reports, of this account (`account_full`) or of all.
 */
export type RunReportReply =
  | ({ readonly result: 'found'; readonly subject: string; readonly id: string; readonly parts: number } & Slice)
  | { readonly result: 'too_large'; readonly read?: string }
  | { readonly result: 'no_place'; readonly why: 'account_full' | 'full' }
  | Unavailable;

/** Of an export: where the next slice begins (`after`; absent: this is the last one), and the footer of Parquet, in base64. */
type Slice = { readonly next?: string; readonly footer?: string };

/** From 0 on, each once, in order. The reply is the octets; none when the report is not held any more. */
export type ReportPart = { readonly id: string; readonly part: number };

/** Parts are at the node that ran the report. */
export const reportPartSubject = (node: string): string => `q.report.part.${node}`;
/** What is sent to webhooks again: events of messages, or one kind of facts. */
export type ReplaySource = 'messages' | Fact['kind'];

/** The recorded events of messages, for webhooks that are sent again. Of what happened after `recordedUntilMs` some may be missing. */
export type ReplayEvents = {
  readonly accountId: string;
  readonly livemode: boolean;
  /** Only messages whose callback_url is of this endpoint. Absent: all. */
  readonly callbackOf?: string;
} & (
  | (EventsOfTime & {
      /** `nextMessageId` of the previous page; '' for the first. */
      readonly afterMessageId: string;
    })
  | OneEvent
);

/**
 * Those that happened in a time: milliseconds since the epoch, `untilMs` exclusive. `recordedUntilMs`: unavailable, `behind`, when
 * what the stream had then is not recorded yet.
 */
type EventsOfTime = { readonly sinceMs: number; readonly untilMs: number; readonly recordedUntilMs?: number };

/** One, which no index finds: the time in which it happened is searched, newest first. */
type OneEvent = EventsOfTime & {
  readonly eventId: string;
  /** `openBeforeMs` of the previous answer; null at first. */
  readonly beforeMs: number | null;
};

export type ReplayEventsReply =
  | (Open & {
      readonly result: 'found';
      /**
       * All events of each message in stream order, each packed (model/records/event-record.ts) in base64. Of events with the
       * callback of the event before, it is left out.
       */
      readonly events: readonly string[];
      /** Null: no further page. */
      readonly nextMessageId: string | null;
    })
  | Unavailable;

/** Of one event that was not found: its search has not read what is older than this; null when it has. */
type Open = { readonly openBeforeMs: number | null };

/**
 * The facts (model/fact.ts) of one kind that are sent under one of these types. An OTP whose messages are not in the
 * history any more is left out: the number went with them.
 */
export type ReplayFacts = {
  readonly accountId: string;
  readonly livemode: boolean;
  readonly kind: Fact['kind'];
  readonly types: readonly WebhookEventType[];
} & (
  | (EventsOfTime & {
      /** `next` of the previous page; null for the first. */
      readonly after: FactPlace | null;
    })
  | OneEvent
);

/** The last fact of a page in the order of its table. */
export type FactPlace = { readonly atMs: number; readonly id: string };

export type ReplayFactsReply =
  | (Open & {
      readonly result: 'found';
      readonly facts: readonly Fact[];
      /** Null: no further page. */
      readonly next: FactPlace | null;
    })
  | Unavailable;

/**
 * Has a number erased from the event store; asked again until it is done. `notBeforeMs`: it is carried out once more if that
 * was last done before then.
 */
export type EraseRows = { readonly erasure: Erasure; readonly notBeforeMs?: number };

/** `done`: its rows are off the disk. */
export type EraseRowsReply =
  | { readonly result: 'running' }
  | { readonly result: 'done'; readonly removed: Counts }
  | Unavailable;

// The tables that analysts may read, as data: every column with its type and meaning. docs/schema.md, the views of SQL users,
// and the exports are made from it; a test compares it with the real schema. A column that is not here is withheld below,
// with the reason.

type PublicColumn = {
  readonly name: string;
  /** ClickHouse's name of the type. */
  readonly type: string;
  readonly help: string;
};

export type PublicTable = {
  readonly name: string;
  readonly title: string;
  readonly description: string;
  /** The time by which a client asks for a part of it. */
  readonly time: string;
  /** The column that slices of an export are cut at: rows with one value of it are in one slice. Of its key, behind the account. */
  readonly slicedBy: string;
  /** Its key, as far as slices follow it, so that the engine reads no further than it must. */
  readonly sortedBy: string;
  /** In which order rows come that are alike in it. */
  readonly thenBy?: string;
  readonly columns: readonly PublicColumn[];
  /** Columns of the table that nobody but the system reads → why. */
  readonly withheld: Readonly<Record<string, string>>;
};

const name = 'LowCardinality(String)';
const text = 'String';
const time = "DateTime64(3, 'UTC')";
const column = (columnName: string, type: string, help: string): PublicColumn => ({ name: columnName, type, help });

const shared = {
  accountId: column('account_id', name, 'the account: `acc_…`'),
  livemode: column('livemode', 'Bool', 'false: sent with a test key'),
  category: column('category', name, '`otp`, `transactional` or `promotional`'),
  carrier: column('carrier', name, 'the carrier that has or had the message; empty before one was chosen'),
  sender: column('sender', name, 'the sender as the client gave it'),
  campaign: column('campaign_id', name, 'the campaign; empty without one'),
  variant: column('variant_id', name, 'the variant within the campaign; empty without one'),
  acceptedAt: column('accepted_at', time, 'when the message was accepted, UTC'),
  slot: column('slot', "DateTime('UTC')", 'the half hour of acceptance, its beginning, UTC'),
  template: column('template_id', name, 'the template; empty without one'),
  encoding: column('encoding', name, '`gsm7` or `ucs2`'),
  recordedAt: column('recorded_at', time, 'when the row was written, UTC'),
} as const;

/** What the tables of links have of a message. */
const ofTrackedMessage: readonly PublicColumn[] = [
  ...[shared.category, shared.sender, shared.carrier, shared.campaign, shared.variant, shared.template],
  shared.acceptedAt,
  column('due_at', time, 'when the message was to be sent: its acceptance, or the time it was scheduled for, UTC'),
];
const withInsertToken = { insert_token: 'names the insert of a row, for repeats after a crash' };

export const publicTables: readonly PublicTable[] = [
  {
    name: 'sms_events',
    title: 'Delivery events',
    description:
      'One row for each event in the life of a message or of one of its segments, never changed. The order of events of a message ' +
      'is (stream_epoch, stream_seq, batch_index). Rows go after `retention.history_days`, those of test messages after ' +
      '`retention.test_history_days`.',
    time: 'accepted_at',
    slicedBy: 'message_id',
    sortedBy: 'account_id, message_id',
    thenBy: 'stream_epoch, stream_seq, batch_index',
    columns: [
      shared.accountId,
      column('message_id', text, 'the message: `sms_…`; ids sort by time'),
      column('stream_epoch', 'UInt64', 'first part of the order: when the event stream was created, ms since 1970'),
      column('stream_seq', 'UInt64', 'second part of the order: sequence of the record in the stream'),
      column('batch_index', 'UInt16', 'third part of the order: index within the record'),
      column('event_id', 'FixedString(26)', 'the event; webhooks carry it too'),
      column('kind', name, 'what happened: the kinds below'),
      column('at', time, 'when it happened, UTC'),
      column('key_id', name, 'the API key that sent the message: `key_…`'),
      shared.carrier,
      column('hop', 'UInt8', 'which carrier of the message it is, counted from 0'),
      column('attempt', 'UInt16', 'distinguishes submits at one carrier; higher is later'),
      column('segment', 'UInt8', 'the segment it is about, from 1; 0: the whole message'),
      column('segments', 'UInt8', 'segments of the message'),
      column('carrier_message_id', text, 'the id that the carrier gave; empty without one'),
      column(
        'error',
        name,
        'a code of docs/errors.md, or the carrier’s error, such as `receipt_undelivered:27`; of `deferred`, `rerouted` and `hedged` a sentence that ends with one (kinds of events, below); empty without an error',
      ),
      shared.category,
      shared.sender,
      column(
        'recipient',
        text,
        'the number in E.164; after `retention.numbers_clear_days` only its last four digits (`**********5678`); of refused requests its beginning and its last two (`+12025****23`)',
      ),
      column(
        'recipient_key',
        'UInt64',
        'the same for all events about one number in this account, also when only its last digits are left; another one in another ' +
          'account; 0: not a number in full',
      ),
      shared.encoding,
      shared.livemode,
      column('client_reference', text, 'what the client gave; empty without it'),
      shared.campaign,
      shared.variant,
      shared.template,
      shared.acceptedAt,
      column('valid_until', time, 'until when the message may be delivered, UTC'),
      shared.recordedAt,
      column('scheduled_at', time, 'when it was to be sent, UTC; 1970: at once'),
      column('keyword', name, 'of a subscriber’s message: `stop`, `start` or `help`, if that was all of it'),
    ],
    withheld: {
      epoch: 'a count of restarts of an actor thread, without a meaning for a message',
      inbound: 'holds the sealed body of a subscriber’s message',
      callback: 'the `callback_url` of the message, which may have a token in it',
      recipient_hash: 'keyed hash of the number: it would show who is in two accounts; `recipient_key` is made from it',
      recipient_clear: 'whether there is a number to cut off (docs/retention.md)',
      text_kept: 'whether there is a text to cut out (docs/retention.md)',
    },
  },
  {
    name: 'message_counts',
    title: 'Messages by present status',
    description:
      'Signed changes that add up to the number of messages in each status: always `sum(messages)`, never `count()`. A message whose ' +
      'status changes later adds −1 to the old and +1 to the new one, in the half hour of its acceptance. These counts are kept for ever.',
    time: 'slot',
    slicedBy: 'slot',
    sortedBy: 'account_id, livemode, slot',
    columns: [
      shared.accountId,
      shared.livemode,
      shared.slot,
      shared.category,
      shared.carrier,
      column('status', name, 'present status of the message; `refused`: a request that a gate refused, no message'),
      column('error', name, 'why it ended so; empty without an error'),
      shared.sender,
      shared.encoding,
      column('segments', 'UInt8', 'segments of each of these messages'),
      shared.campaign,
      shared.variant,
      column('messages', 'Int64', 'change of the number of messages'),
      column('segments_submitted', 'Int64', 'change of the number of segments that a carrier took, each once'),
      column('resent', 'Int64', 'change of the number of messages sent once more by the policy of the account'),
    ],
    withheld: {},
  },
  {
    name: 'latency_counts',
    title: 'How long messages took',
    description:
      'Signed changes that add up to the number of messages in each latency bucket. Bucket 0 is below 1 ms; bucket n ≥ 1 is from 1.05^(n−1) ' +
      'to 1.05^n ms, so `pow(1.05, bucket - 0.5)` is its middle, to within 2.5 %.',
    time: 'slot',
    slicedBy: 'slot',
    sortedBy: 'account_id, livemode, slot',
    columns: [
      shared.accountId,
      shared.livemode,
      shared.slot,
      shared.category,
      shared.carrier,
      column('stage', name, '`accepted_to_submitted`, `submitted_to_delivered` or `accepted_to_delivered`'),
      column('bucket', 'UInt16', 'the latency, in steps of 5 %'),
      column('messages', 'Int64', 'change of the number of messages'),
    ],
    withheld: {},
  },
  {
    name: 'link_codes',
    title: 'Short links by recipient',
    description:
      'One row for each short link in each message sent with `track_clicks`. A code is used again for another message when it has ' +
      'expired. Rows go after `retention.clicks_days`, those of test keys after `retention.test_history_days` if that is less, and not before the link leads nowhere.',
    time: 'accepted_at',
    slicedBy: 'code',
    sortedBy: 'code',
    columns: [
      column('code', 'UInt64', 'number of the code within the short link'),
      column('message_id', text, 'the message that it was in'),
      shared.accountId,
      shared.livemode,
      column('link_id', text, 'the link: `lnk_…`; the same for every recipient of one address'),
      column('url', text, 'where it leads'),
      ...ofTrackedMessage,
    ],
    withheld: withInsertToken,
  },
  {
    name: 'link_clicks',
    title: 'Clicks',
    description:
      'One row for each request for a short link, with what it probably was and why. Nothing is dropped: choose by `class`.',
    time: 'accepted_at',
    slicedBy: 'at',
    sortedBy: 'account_id, at',
    columns: [
      shared.accountId,
      column('at', time, 'when it was asked for, UTC'),
      column('click_id', text, 'the click'),
      column('event_id', 'FixedString(26)', 'the event of the click; webhooks carry it'),
      shared.livemode,
      column('link_id', text, 'the link: `lnk_…`'),
      column('url', text, 'where it led'),
      column('code', 'UInt64', 'number of the code within the short link'),
      column('message_id', text, 'the message; empty: the code was never sent'),
      ...ofTrackedMessage,
      column('delivered_at', time, 'when the receipt came, UTC; 1970: none before the click'),
      column('class', name, '`human`, `preview`, `scanner` or `unknown`'),
      column('reasons', 'Array(LowCardinality(String))', 'what it was classed by: docs/clicks.md'),
      column('user_agent', text, 'the header User-Agent, cut'),
      column('address', text, 'the client’s address; empty unless `links.store_addresses` is on'),
      shared.recordedAt,
    ],
    withheld: withInsertToken,
  },
];

export function publicTable(tableName: string): PublicTable | undefined {
  return publicTables.find((table) => table.name === tableName);
}

/** The forms in which rows leave: as JSON, as a file of comma-separated values, or as Parquet. */
export const sqlFormats = ['json', 'csv', 'parquet'] as const;
export type SqlFormat = (typeof sqlFormats)[number];

export const contentTypes: Readonly<Record<SqlFormat, string>> = {
  json: 'application/json',
  csv: 'text/csv; charset=utf-8',
  parquet: 'application/vnd.apache.parquet',
};

/** ClickHouse's names of them. */
export const nativeFormats = { json: 'JSONEachRow', csv: 'CSVWithNames', parquet: 'Parquet' } as const;
/** CSV: without the names, for what follows in one file. */
export type NativeFormat = (typeof nativeFormats)[SqlFormat] | 'CSV';

// Every bound that accounts share: its total, one account's share, and the reserve for OTP and the system's own work.
// An account at its share gets a 429; the other accounts are not affected. `limits.shares` of heliograph.yaml changes
// each bound; a test holds docs/limits.md, the table for operators, to this file.
import { assert } from './assert.ts';

/**
 * total: units for all accounts together · perAccount: units one account may use · reserve: units of the total that
 * only urgent use, one-time passwords and the system's own work may use (shared-bound.ts).
 */
export type Share = {
  readonly total: number;
  readonly perAccount: number;
  readonly reserve: number;
  /** A separate share for urgent use, which may also use the reserve (shared-bound.ts); `perAccount` when absent. */
  readonly perAccountUrgent?: number;
  /** The part of the reserve that only one-time passwords and the system's own work may use; 0 when absent. */
  readonly reserveOtp?: number;
};

export type BoundSpec = Share & {
  /** What one unit is. */
  readonly unit: string;
  /** Where it is counted: a bound of a thread or process applies in each of them. */
  readonly countedIn:
    | 'ingress thread'
    | 'ingress process'
    | 'control process'
    | 'analytics process'
    | 'delivery process'
    | 'installation';
  /** at once: returned when the work ends · stored: returned when the record is removed · hourly: a sliding rate. */
  readonly kind: 'at once' | 'stored' | 'hourly';
  /** The code of the 429 for an account at its share; the total answers 503. Null: no request is refused by it. */
  readonly code: BoundCode | null;
};

/** Those of `at once` bounds are codes of acceptance (acceptance/refusal.ts) too: held by a test. */
export type BoundCode =
  | 'account_busy'
  | 'rate_limited'
  | 'account_schedule_full'
  | 'account_links_full'
  | 'otp_rate_limited';

/** What most have. */
const usual = { countedIn: 'ingress thread', kind: 'at once', code: 'account_busy', reserve: 0 } as const;
type Spec = Pick<BoundSpec, 'unit' | 'total' | 'perAccount'> & Partial<BoundSpec>;
const bound = (spec: Spec): BoundSpec => ({ ...usual, ...spec });

export const sharedBounds = {
  /** 512 × ~400 bytes saturate the bus (measured); a batch of one account must leave room for others' OTP. */
  publish_slots: bound({
    unit: 'publishes of messages that wait for JetStream; the reserve is for single messages and OTP',
    total: 1_536,
    /** Items of batches: 4 batches × 32 at once. */
    perAccount: 128,
    /** Single messages: 5,000/s × 200 ms. */
    perAccountUrgent: 1_000,
    reserve: 1_024,
    /** However many accounts send other single messages: 1,280 OTP a second at 200 ms. */
    reserveOtp: 256,
  }),
  /** An unfinished body occupies memory and a slot and costs only its sender time: 512 × 256 KiB = 128 MiB. */
  bodies_received: bound({
    unit: 'request bodies that are being received; the reserve is for single messages',
    total: 512,
    perAccount: 64,
    perAccountUrgent: 128,
    reserve: 192,
  }),
  /** 5,000/s × 200 ms of single messages: beyond that a refusal is better than a longer queue. */
  requests_at_work: bound({
    unit: 'requests that wait for their response; the reserve is for single messages and OTP',
    total: 2_000,
    perAccount: 250,
    perAccountUrgent: 1_000,
    reserve: 1_000,
    reserveOtp: 400,
  }),
  /** Batches alternate in slices of 1 ms; 32 batches of 1,000 messages are some 16 MiB of parsed fields. */
  batches_at_work: bound({
    unit: 'batches whose messages are being accepted',
    total: 32,
    perAccount: 4,
  }),
  /** Connections to the control role. */
  requests_forwarded: bound({
    unit: 'requests forwarded to the management API, from their headers to their response',
    total: 128,
    perAccount: 16,
  }),
  /** Requests without a key: the client address takes the place of the account. A browser opens six connections. */
  pages_read: bound({
    unit: 'requests for /docs and /openapi.json; the client address takes the place of the account',
    code: 'rate_limited',
    total: 32,
    perAccount: 8,
  }),
  /** The event store runs one query at a time; a query for a young message may wait up to a second. */
  status_queries: bound({
    unit: 'queries about one message to the event store; the reserve is for cancels and repeats under an idempotency key',
    total: 256,
    perAccount: 32,
    /** Cancels. */
    perAccountUrgent: 128,
    reserve: 64,
  }),
  /** A page takes 20 to 150 ms of the event store, which reads one at a time: so many are read before their deadline. */
  list_queries: bound({
    unit: 'pages of the list of messages that are being read',
    total: 12,
    perAccount: 3,
  }),
  /** `limits.queries.heldMax`. One account can have 32 queries of each of four threads at one node, and 128 cancels. */
  store_queries: bound({
    unit: 'pending queries of clients in the event store; the reserve is for receipts, cancels and repeats under an idempotency key',
    countedIn: 'analytics process',
    total: 1_000,
    perAccount: 128,
    /** Cancels: half of what the reserve has. */
    perAccountUrgent: 250,
    reserve: 500,
  }),
  /** Each takes up to 20 MB, as does a usual slice of an export, until its last part is fetched: 8 are 160 MB. The event store runs one at a time. */
  reports_running: bound({
    unit: 'reports, from the query to the last part of the answer',
    countedIn: 'analytics process',
    total: 8,
    perAccount: 2,
  }),
  /**
   * The stream SCHEDULED takes 1 KiB for each: 1.9 GiB on disk. One account leaves capacity for three others that
   * schedule as much; what carriers and the system itself delay waits elsewhere (HOLDS, LATER).
   */
  scheduled_messages: bound({
    unit: 'messages that wait for their time; a long one counts once for each KiB of its record',
    countedIn: 'installation',
    kind: 'stored',
    code: 'account_schedule_full',
    total: 2_000_000,
    perAccount: 500_000,
  }),
  /**
   * The bucket `otp` takes 2 KiB for each: 800 MiB on disk, and ~250 B of nats-server's memory. An account at its
   * share, 44 a second, leaves as much for one other and half of a third.
   */
  otp_started: bound({
    unit: 'one-time passwords started an hour',
    countedIn: 'ingress process',
    kind: 'hourly',
    code: 'otp_rate_limited',
    total: 400_000,
    perAccount: 160_000,
  }),
  /**
   * ~400 B each in the memory of every ingress thread, ~250 B in LINKS. A link that all recipients share takes some twenty,
   * one that each recipient has of their own takes one for each message, until it expires.
   */
  live_links: bound({
    unit: 'series of codes of links that have not expired: one for each link that only one recipient gets',
    countedIn: 'installation',
    kind: 'stored',
    code: 'account_links_full',
    total: 1_000_000,
    perAccount: 250_000,
  }),
  /** ~500 B each: 25 MB while NATS does not answer, ten seconds at 5,000/s. */
  clicks_held: bound({
    unit: 'clicks that are not yet stored; beyond, redirects go on and clicks are only counted as lost',
    total: 50_000,
    perAccount: 20_000,
  }),
  /**
   * Half of CLICKS is for clicks: 1.7 million of ~300 B while ClickHouse is away, of which one account has at most a million
   * and what it regains meanwhile. The total is 5,000/s, half of what an analytics process records.
   */
  clicks_kept: bound({
    unit: 'clicks kept an hour; beyond, redirects go on and clicks are only counted as lost',
    countedIn: 'ingress process',
    kind: 'hourly',
    code: null,
    total: 18_000_000,
    perAccount: 1_000_000,
  }),
  /** A request holds a socket for up to 15 s. 64 endpoints that hang have four each. */
  webhook_requests: bound({
    unit: 'requests to webhook endpoints at once',
    countedIn: 'delivery process',
    code: null,
    total: 2_048,
    perAccount: 256,
  }),
  /** × ~1 KiB. 32 busy endpoints of an account have half a thousand each. */
  webhook_held: bound({
    unit: 'events for webhook endpoints in memory; what is more waits in the lines of its endpoints',
    countedIn: 'delivery process',
    code: null,
    total: 64_000,
    perAccount: 16_000,
  }),
  /** ~400 B each in WEBHOOK_LOG: 2 GiB. */
  webhook_parked: bound({
    unit: 'events that wait for slow, failing or disabled webhook endpoints; what is more is dropped',
    countedIn: 'installation',
    kind: 'stored',
    code: null,
    total: 4_800_000,
    perAccount: 1_200_000,
  }),
  /** Each has a page of at most 1 MiB in memory, and they wait for each other in the event store. */
  webhook_replays: bound({
    unit: 'replays of webhook events that run, until all of their events are delivered or in a line',
    countedIn: 'delivery process',
    total: 32,
    perAccount: 4,
  }),
  /** As many as an account may have at the management API (management_waits); a test takes up to five seconds. */
  webhook_management: bound({
    unit: 'management requests about deliveries, tests and replays of webhooks that are being answered',
    countedIn: 'delivery process',
    total: 64,
    perAccount: 8,
  }),
  /** Eight accounts at their share fill it. */
  management_requests: bound({
    unit: 'management requests in progress that are answered from the database or from memory',
    countedIn: 'control process',
    total: 64,
    perAccount: 8,
  }),
  /**
   * They take up to 8 s each, exports more, and no place of those above: a key can be revoked while all of them wait. With
   * those above they are as many as an ingress thread forwards (requests_forwarded).
   */
  management_waits: bound({
    unit: 'management requests in progress that wait for another process or for NATS: reports, exports, deliveries, tests and replays of webhooks, events of test messages, the guard of one-time passwords, carriers',
    countedIn: 'control process',
    total: 64,
    perAccount: 8,
  }),
  /** Each is a request in progress for up to an hour, here and in an ingress thread, and takes its turns at the event store. */
  exports_running: bound({
    unit: 'exports, from the request to the last octet of the answer',
    countedIn: 'control process',
    total: 16,
    perAccount: 2,
  }),
  /** Each writes up to 10,000 numbers in one transaction, 0.2 to 1 s of PostgreSQL and a connection. */
  management_imports: bound({
    unit: 'imports of suppressed numbers in progress',
    countedIn: 'control process',
    total: 4,
    perAccount: 1,
  }),
  /** Each writes a row of the audit log, ~600 B with its indexes: 3,600 an hour are 52 MB a day of one account. */
  management_writes: bound({
    unit: 'changes by the management API an hour, each a row of the audit log',
    countedIn: 'control process',
    kind: 'hourly',
    code: 'rate_limited',
    total: 360_000,
    perAccount: 3_600,
  }),
} as const satisfies Record<string, BoundSpec>;

export type BoundName = keyof typeof sharedBounds;
/** The bounds in effect: the defaults above with the changes of heliograph.yaml. */
export type Shares = Readonly<Record<BoundName, Share>>;

export const boundNames = Object.keys(sharedBounds) as BoundName[];

/** What is expected instead, as text, when these numbers contradict each other; null when they do not. */
export function shareProblem({ total, perAccount, reserve, perAccountUrgent, reserveOtp = 0 }: Share): string | null {
  if (perAccountUrgent !== undefined && perAccountUrgent >= total)
    return `urgent use of one account below the total of ${total}`;
  if (reserve >= total) return `a reserve below the total of ${total}`;
  if (reserveOtp > reserve) return `a reserve for OTP of at most the whole reserve of ${reserve}`;
  const most = total - reserve;
  if (perAccount > most) return `at most ${most} for one account: the total of ${total} less the reserve of ${reserve}`;
  return null;
}

export const defaultShares: Shares = Object.fromEntries(
  boundNames.map((name) => {
    const { total, perAccount, reserve, perAccountUrgent, reserveOtp }: BoundSpec = sharedBounds[name];
    const urgent = { ...(perAccountUrgent !== undefined && { perAccountUrgent }) };
    return [name, { total, perAccount, reserve, ...urgent, ...(reserveOtp !== undefined && { reserveOtp }) }];
  }),
) as Record<BoundName, Share>;

for (const name of boundNames) {
  const wrong = shareProblem(defaultShares[name]);
  assert(wrong === null, `shared bound ${name}: expected ${wrong}`);
}

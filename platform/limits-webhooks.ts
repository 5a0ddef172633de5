// Bounds of webhooks: what an account may register (`limits.webhooks`), the delivery (`limits.delivery`), and what is kept
// of requests to endpoints (`limits.webhookAttempts`).
import { assert } from './assert.ts';

const second = 1_000;
const minute = 60 * second;
const hour = 60 * minute;

/** What an account may register, and how its endpoints are served. */
export const webhookLimits = {
  /** Endpoints of both modes. Each is a directory entry of some 700 B, in every ingress thread. */
  perAccountMax: 50,
  /** Room for a path with a token in it. A directory entry stays under 4 KiB. */
  urlCharsMax: 1_000,
  descriptionCharsMax: 200,
  /** Events of one request: 100 × ~0.7 KB, at most 300 KB when all are long texts of subscribers. */
  batchEventsMin: 2,
  batchEventsMax: 100,
  /** How long an event may wait for others: below the time after which an endpoint counts as slow. */
  batchWaitMsMin: 10,
  batchWaitMsMax: 5_000,
  /** Secrets that sign at once: the newest, and two in overlap. Each adds a signature of 48 characters to every request. */
  secretsMax: 3,
  overlapSecondsDefault: 24 * 3_600,
  overlapSecondsMax: 7 * 24 * 3_600,
  /** How long the management API waits for the delivery process: less than its own deadline of a request. */
  askMs: 7_000,
  /** And for what it knows of an endpoint, before the attempts themselves are read (limits.delivery.answerMs). */
  askDeliveriesMs: 4_000,
  /** `Retry-After` of a replay for which recording is behind, at most: it may catch up faster than it fell behind. */
  replayRetryAfterSMax: 60,
  /** Listening to events of test messages, in each control process. */
  listen: {
    /** Accounts that listen at once: each holds at most 500 events of ~700 B, 350 KiB. */
    accountsMax: 32,
    eventsMax: 500,
    /** Events of one answer: ~70 KB. */
    pageMax: 100,
    /** The longest wait of one request; below the deadline of a management request. */
    waitSecondsMax: 5,
    /** An account that did not ask for so long does not listen any more. */
    idleMs: 30_000,
    sweepEveryMs: 1_000,
    /** Records of EVENTS that are read again for a listener who was here before a restart. */
    backMax: 20_000,
    prefetch: 256,
  },
} as const;

/** What one request may cost, how much of an endpoint's work is in memory, when it is tried again. */
export const deliveryLimits = {
  /** One request: connect, first byte of the response, all of it. */
  connectMs: 3 * second,
  firstByteMs: 10 * second,
  totalMs: 15 * second,
  /** Of a response: its headers, and the octets of its body that are read before the connection is closed. */
  responseHeadBytesMax: 16 * 1024,
  responseBodyBytesMax: 16 * 1024,
  /**
   * All octets that arrive on the connection for one request: head and body, and as much again for what is neither (sizes of
   * chunks, blank lines, 1xx responses). One read of 64 KiB more may have arrived when it is noticed.
   */
  responseOctetsMax: 64 * 1024,
  /** A connection is used so long at most, because its address was checked when it was made. */
  connectionMs: minute,
  idleConnectionMs: 4 * second,
  /** Addresses a name may have; further ones are not tried. */
  addressesMax: 16,
  /** Origins of accounts with connections; 1,000 × ~100 KB at the most. */
  originsMax: 4_096,

  /**
   * Events of an endpoint in memory, four seconds at 2,000/s: the backlog of a cold start or of a short stall is
   * sent from memory, which costs less than half of what the line does. What comes beyond them is parked. Of an account and
   * in all: limits.shares.webhook_held.
   */
  queueMax: 8_192,
  /** An endpoint whose oldest event waits this long, beside the wait for its batch, is slow: what it has is parked, and sent from there. */
  queueWaitMs: 5 * second,
  /** Of its line so many for each request at once: 32 × 8 = 256; and so many are read at once. */
  linePerRequest: 8,
  lineReadsMax: 64,
  /** Places of events in its line that are known, 8 B each: with them it is read three times as fast. */
  linePlacesMax: 32_768,
  /** Requests at once to one endpoint: at first, and at most. */
  concurrencyFirst: 4,
  concurrencyMax: 32,
  /** Requests at once of one account: at first, and at least; at most its share (`webhook_requests`). */
  accountConcurrencyFirst: 64,
  accountConcurrencyMin: 16,
  /**
   * How long the number of an account is remembered when nothing of it is in flight: two tries of its endpoints by the
   * schedule. And for how many accounts, ~150 B each, beside those with a request in flight.
   */
  accountConcurrencyKeptMs: 10 * minute,
  accountConcurrencyKeptMax: 10_000,
  /** How long the events of a batch that is sent again wait for each other. */
  groupWaitMs: 5 * second,
  /** Parked events of an endpoint; beyond, the oldest ones are dropped. */
  parkedPerEndpointMax: 1_000_000,
  parkedDays: 7,
  /**
   * The endpoint with the most parked events loses so many of its oldest at once when its account's share is full and another one
   * of the account, with less than half as many, needs room: of 600,000 the oldest 2,343.
   */
  parkedPurgePart: 1 / 256,
  /** Beyond the share of an account, until the stream has made that room: all that the account may have in memory (webhook_held). */
  parkedBeyondMax: 16_384,
  /** How often the counts of parked events are compared with the stream: an answer of ~60 B for each endpoint in it. */
  compareEveryMs: 5 * minute,
  /** Events of an endpoint that are tried again one by one, beside others that succeed: so many due times in memory. */
  retriesPerEndpointMax: 1_000,
  /** Of all endpoints so many are read at once when they are due. */
  retryReadsMax: 16,
  /** Endpoints with something in memory. */
  endpointsMax: 100_000,

  /** When an event, or an endpoint that fails as a whole, is tried: so long after the try before. */
  scheduleMs: [0, 5 * second, 5 * minute, 30 * minute, 2 * hour, 5 * hour, 10 * hour, 14 * hour, 20 * hour, 24 * hour],
  /** Each wait is longer by up to this part of it. */
  scheduleJitter: 0.1,
  /** The longest wait that a Retry-After can ask for. */
  retryAfterMsMax: 24 * hour,
  /** Tries of an endpoint at times that it asked for; then the schedule counts as well. One in 10 s: for 2.8 hours. */
  askedTriesMax: 1_000,
  /** So many failures in a row, without a success, and the endpoint fails as a whole. */
  failuresInARow: 4,
  /** Without a success for so long, and after so many tries, an endpoint is disabled. */
  disableAfterMs: 5 * 24 * hour,
  disableAfterTries: 10,
  /** The account is warned when an endpoint has failed for so long. */
  warnAfterMs: [hour, 24 * hour],

  /** Events that are on their way to lines, ~1 KiB each: beyond, no further ones are read. Two endpoints have so many. */
  parkingMax: 16_384,
  /** Of these so many are published and not acknowledged: NATS sends their acknowledgements before the next events of EVENTS. */
  parkingInFlightMax: 256,
  /** How often the place in EVENTS is stored: what was answered since is sent again after a crash. */
  placeEveryMs: 250,
  /** Endpoints that are named in it, ~45 B each: an entry of 360 KB. */
  pendingEndpointsMax: 8_000,
  /** How long a publish waits for others, so that they go out in one write. */
  gatherMs: 5,
  /** The process that delivers renews its entry; another takes over when it has not for so long. */
  renewEveryMs: 2 * second,
  takenOverAfterMs: 8 * second,
  /**
   * How long, and for how many messages in each half of that, the fan-out remembers what it has published: × ~80 B = 48 MB. Beyond,
   * the event store is asked about each message: at 5,000 a second after one minute.
   */
  rememberedMs: 10 * minute,
  rememberedMax: 300_000,
  /** Events that wait for the event store to say what came before them; × ~1 KiB. Beyond, EVENTS is not read on. */
  undecidedMax: 10_000,
  /** Messages that it is asked for at once: as many as one of its statements reads. */
  undecidedAskedMax: 100,
  /** How long a stop waits for its answers. */
  undecidedStopMs: second,
  /** Records of EVENTS that wait behind one that is not done, × ~100 B. After a crash they are sent again. */
  takenMax: 50_000,
  /** Records that a started fan-out reads again, for the segments of messages that are on their way. */
  warmUpRecords: 5_000,
  /** How much earlier than an endpoint an event of another machine's clock may seem to be. */
  clockDifferenceMs: 2 * second,
  /** How many records of EVENTS the fan-out has in memory. */
  prefetch: 256,

  /** Characters of a response that are kept with a try. */
  responseKeptChars: 1_024,
  /** A test event: the management API waits for it (askMs), with the time until it begins. */
  testMs: 5 * second,
  /** The search for one event that is to be sent again: with its last query within the same time. */
  replaySearchMs: 4 * second,
  /** A replay waits so long until what happened in its time is recorded, and asks so often. */
  replayWaitMs: 3 * second,
  replayAskAgainMs: 250,
  answerMs: 3 * second,
  /** Waiting for the event store is logged once in so long, by each part that waits for it. */
  waitLogEveryMs: minute,
  /** A stop waits so long for answers to requests in flight, and then in each step for what must be durable. */
  stopAnswersMs: 5 * second,
  settleMs: second,
} as const;

assert(
  deliveryLimits.connectMs + deliveryLimits.firstByteMs <= deliveryLimits.totalMs,
  'a slow connection would leave no time for the first byte',
);
assert(
  deliveryLimits.responseHeadBytesMax + deliveryLimits.responseBodyBytesMax < deliveryLimits.responseOctetsMax,
  'a response with the longest head and body would be too long',
);
assert(
  deliveryLimits.testMs + second < webhookLimits.askMs,
  'the management API would not wait for the result of a test event',
);

/** WEBHOOK_ATTEMPTS. */
export const attemptLimits = {
  /** Attempts are stored together. A process that is killed loses those it had gathered, never an event. */
  failedStoredAfterMs: second,
  succeededStoredAfterMs: 10 * second,
  /** Attempts of one record: 32 × ~1.5 KB, at most 32 × 22 KB. */
  perRecordMax: 32,
  /** Records of an endpoint, of successes and of failures; older ones go. A busy endpoint's ~3 KB × 200 = 600 KB. */
  recordsMax: 200,
  /** Successes of an endpoint that are kept: so many at once, then one in so long. 1,000 busy ones are 200/s. */
  succeededBurst: 20,
  succeededEveryMs: 5 * second,
  /** Failures, of which an endpoint that fails has few. */
  failedBurst: 200,
  failedEveryMs: second,
  /** Characters that are kept of a request's body, and of a response's headers. */
  requestBodyChars: 4_096,
  responseHeadersChars: 2_048,
  /** How long they are kept, unless heliograph.yaml says otherwise (limits.webhook_attempt_days). */
  daysDefault: 7,
  /** Publishes in flight: beyond, attempts are not kept. */
  publishesMax: 1_024,
} as const;

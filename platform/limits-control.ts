// Bounds of the control plane: its database, the audit log, the management API, the directory and the registries that it
// writes, operator commands. Its bounds that accounts share are in limits-shares.ts. Read as `limits`.
import { assert } from './assert.ts';

export const controlLimits = {
  store: {
    /** For the management API: two writes of each of seven accounts, and two connections for reads. */
    poolMax: 16,
    /** For the projector alone: one for the outbox, one for a comparison, one spare. Requests never delay it. */
    projectorPoolMax: 3,
    /** For the system's own work: subscribers' decisions, operator commands, the start. */
    systemPoolMax: 4,
    connectTimeoutMs: 2_000,
    statementTimeoutMs: 4_000,
    idleInTransactionMs: 10_000,
    migrationTimeoutMs: 10 * 60_000,
    /** An account's entry in the directory stays under 4 KiB with this many sender names. */
    sendersPerAccountMax: 200,
    /** Keys that are not revoked. */
    keysPerAccountMax: 100,
    /** Rows of revoked keys that are kept. */
    revokedKeysMax: 200,
  },
  auditLog: {
    /** Entries of a changed list that its audit record names: 50 × ~100 characters. */
    listedMax: 50,
  },
  management: {
    pageDefault: 20,
    pageMax: 100,
    /** Shorter than the ingress waits for a forwarded request, longer than one statement. */
    requestDeadlineMs: 8_000,
    /** Requests before authentication; `management_requests` and `management_waits` of the shares bound those of each account. */
    requestsInFlightMax: 256,
    /** Concurrent writes of one account: each locks the account's row. */
    writesAtOnce: 2,
    /** How long a write waits for earlier ones of its account: then its first statement has its whole time. */
    turnWaitMs: 4_000,
  },
  directory: {
    /** Every process should see a change within a second; until this long after it two may have different states. */
    receivedWithinMs: 5_000,
    /** How late a change is seen when its notification was lost: well under the promised second. */
    outboxPollMs: 250,
    /** Outbox rows projected in one go, and with it KV requests in flight. */
    outboxBatchMax: 256,
    reconcileEveryMs: 60_000,
    reconcileRetryMs: 5_000,
    /** How often a reader checks that its watch has not stalled. */
    watchCheckEveryMs: 1_000,
    checkTimeoutMs: 1_500,
    /** A full read of the bucket: 100,000 entries take about a second. */
    readTimeoutMs: 10_000,
  },
  registry: {
    /** 2.5 bytes each: 150 MB; while one version replaces another both are in memory. */
    numbersMax: 60_000_000,
    /** A delta is sorted in memory, with its order kept: 5,000,000 × 24 B = 120 MB. */
    deltaRowsMax: 5_000_000,
    /** Half of nats-server's default max_payload. */
    chunkBytes: 512 * 1024,
    /** Chunks being published at once: 8 × 512 KiB in the socket. */
    chunksInFlight: 8,
    chunkTimeoutMs: 5_000,
    /** How late a new version is noticed; with loading it (100 ms for 20 million numbers) well under a second. */
    lookEveryMs: 500,
    lookTimeoutMs: 2_000,
    loadTimeoutMs: 30_000,
    /** An import renews its lock this often; a lock with three missed renewals is taken over. */
    lockRenewMs: 1_000,
    lockLapsesMs: 4_000,
    /** Rows between two checkpoints of an import: 8 MB of staging. */
    checkpointRows: 1_000_000,
    /** Unreadable rows before an import fails; --bad-rows-max changes it. */
    badRowsMax: 1_000,
    badRowsShown: 20,
    rowBytesMax: 1_024,
    /** A snapshot that would remove more than this share is refused as a mistake unless it is confirmed. */
    shrinkShareMax: 0.5,
  },
  keysUsed: {
    publishEveryMs: 60_000,
    /** 30 octets each. */
    keysPerNoteMax: 1_000,
    answerMs: 5_000,
  },
  operations: {
    /** How late a command is seen when its notification was lost; a notification takes a millisecond. */
    lookEveryMs: 1_000,
    callTimeoutMs: 2_000,
    /** How long reports of carriers are awaited, and how long after the first of them. */
    reportsWithinMs: 800,
    reportsStallMs: 150,
    /** Reports that are read: nodes × threads, each within one NATS payload. */
    reportsMax: 256,
    /** How long the CLI waits until every node of the carrier has applied its command. */
    effectiveWithinMs: 3_000,
    reasonCharsMax: 200,
    /** Records of DEAD that one CLI command reads. */
    deadReadMax: 10_000,
    /** The audit log's writer: one pull for commands, the pause after a failure, and its ack_wait. */
    auditPullMs: 1_000,
    auditRetryMs: 1_000,
    auditAckWaitMs: 30_000,
    /** Commands between two clean-ups of the stream, and how many records one reads: 10,000 × ~400 B. */
    tidyEvery: 50,
    tidyMax: 10_000,
    /** Interval at which the states of all consumers are read. */
    streamsLookEveryMs: 5_000,
    /** Each step of a bind that the doctor tries: connection, bind response, enquire_link response. */
    probeStepMs: 5_000,
  },
} as const;

const { management, store } = controlLimits;
assert(
  management.requestDeadlineMs > store.statementTimeoutMs + store.connectTimeoutMs,
  'a management request would end before its only statement could',
);
assert(
  management.turnWaitMs + store.statementTimeoutMs <= management.requestDeadlineMs,
  'a write that waited for its turn would end before its only statement could',
);

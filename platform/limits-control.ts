// Bounds of the control role: its database, the audit log and the management API. Its bounds that accounts share are in
// limits-shares.ts.
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
    /** Requests before authentication; `management_requests` of the shares bounds those of each account. */
    requestsInFlightMax: 256,
    /** Concurrent writes of one account: each locks the account's row. */
    writesAtOnce: 2,
  },
} as const;

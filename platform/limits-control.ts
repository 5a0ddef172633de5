// Bounds of the control role: its database, the audit log and the management API. What accounts share of them is in
// limits-shares.ts.
export const controlLimits = {
  store: {
    /** Of the management API: two writes of each of seven accounts, and as much again for reads. */
    poolMax: 16,
    /** The projector's own: the outbox, a comparison beside it, and one to spare. Nobody's requests keep it waiting. */
    projectorPoolMax: 3,
    /** For subscribers' decisions, orders and the start: the system's own work. */
    systemPoolMax: 4,
    connectTimeoutMs: 2_000,
    statementTimeoutMs: 4_000,
    idleInTransactionMs: 10_000,
    migrationTimeoutMs: 10 * 60_000,
    /** An account's entry in the directory stays under 4 KiB with this many sender names. */
    sendersPerAccountMax: 200,
    /** Keys that are not revoked. */
    keysPerAccountMax: 100,
    /** Revoked ones whose rows are kept. */
    revokedKeysMax: 200,
  },
  auditLog: {
    /** Of a long list that changed, entries that its audit record names: 50 × ~100 characters. */
    listedMax: 50,
  },
  management: {
    pageDefault: 20,
    pageMax: 100,
    /** Shorter than the ingress waits for a forwarded request, longer than one statement. */
    requestDeadlineMs: 8_000,
    /** Before it is known who asks; what accounts may have at work is `management_requests` of the shares. */
    requestsInFlightMax: 256,
    /** Writes of one account that run at the same time: each locks the account's row. */
    writesAtOnce: 2,
  },
} as const;

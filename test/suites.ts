// Which test files `npm test` runs and which `npm run test:faults` does: those that kill or stop processes under load,
// need several nats-servers or machines, whole systems, or fuzzing. They wait for real timeouts.

/**
 * Globs relative to the root of the repository: whole systems and clusters, two at a time. Those among them that the
 * other lists name run there.
 */
export const systemSuite: readonly string[] = [
  'test/faults/**/*.test.ts',
  'test/fuzz/**/*.test.ts',
  'test/nodes/**/*.test.ts',
  'test/system/**/*.test.ts',
];

/** One part of a system that is killed: four at a time keep two cores busy. */
export const killSuite: readonly string[] = [
  'test/actors/carrier/binds/commands.test.ts',
  'test/actors/carrier/faults.test.ts',
  'test/actors/carrier/failover/copy-not-needed.test.ts',
  'test/actors/carrier/failover/failover.test.ts',
  'test/actors/carrier/failover/receipt-hedges.test.ts',
  'test/actors/carrier/failover/response-hedges.test.ts',
  'test/actors/carrier/intake/second-records.test.ts',
  'test/actors/carrier/intake/overflow-writer.test.ts',
  'test/actors/carrier/outcome/deferrals.test.ts',
  'test/actors/carrier/outcome/resend.test.ts',
  'test/actors/carrier/receipts/old-receipts.test.ts',
  'test/actors/carrier/receipts/store-away.test.ts',
  'test/actors/carrier/deduplication/replay-floor.test.ts',
  'test/actors/inbound/kills.test.ts',
  'test/actors/webhook/kills.test.ts',
  'test/actors/webhook/replay-kills.test.ts',
  'test/analytics/events-recreated.test.ts',
  'test/analytics/killed-after-insert.test.ts',
  'test/analytics/otp-reports.test.ts',
  'test/analytics/up-to-date.test.ts',
  'test/analytics/upgrade-killed.test.ts',
  'test/api/http/idempotency/repeats.test.ts',
  'test/cluster/embedded/nats-watch.test.ts',
  'test/cluster/supervisor/system.test.ts',
  'test/directory/registry/kill.test.ts',
];

/**
 * One at a time beside the whole systems, which leave a quarter of two cores unused: files that mostly wait for the end of
 * a lease or of a time, and files that take longer on a busy machine and prove the same.
 */
export const besideSuite: readonly string[] = [
  'test/actors/carrier/deduplication/older-than-the-window.test.ts',
  'test/actors/carrier/outcome/parts.test.ts',
  'test/actors/lease/lease-keeper.test.ts',
  'test/actors/removed-carriers.test.ts',
  'test/actors/webhook/backlog.test.ts',
  'test/analytics/exactly-once.test.ts',
  'test/analytics/upgrade-roles.test.ts',
  'test/cluster/supervisor/killed-supervisor.test.ts',
  'test/faults/wrong-clock.test.ts',
  'test/nodes/otp-leader.test.ts',
  'test/nodes/two-machines.test.ts',
  'test/nodes/two-nodes.test.ts',
  'test/nodes/unstored-duplicate.test.ts',
];

/** Of the quick files those that mostly wait for a time: one at a time beside the others. */
export const waitSuite: readonly string[] = [
  'test/actors/inbound/writer-unavailable.test.ts',
  'test/actors/runtime/hosted-carriers.test.ts',
  'test/actors/webhook/delivery.test.ts',
  'test/actors/webhook/full-share.test.ts',
  'test/actors/webhook/http-sender.test.ts',
  'test/actors/webhook/isolation.test.ts',
  'test/actors/webhook/low-traffic.test.ts',
  'test/actors/webhook/undecided-events.test.ts',
  'test/cli/doctor-running.test.ts',
  'test/cluster/bus/cluster-clock.test.ts',
  'test/cluster/bus/later.test.ts',
];

// Which test files `npm test` runs and which `npm run test:faults` does. The second has what kills or stops processes
// under load, what needs several nats-servers or machines, whole systems, and fuzzing: it waits for real timeouts, and
// it measures, so fewer of its files run at a time.

/** Globs relative to the root of the repository. A new file that fits the rule above goes into this list. */
export const faultSuite: readonly string[] = [
  'test/faults/**/*.test.ts',
  'test/fuzz/**/*.test.ts',
  'test/nodes/**/*.test.ts',
  'test/system/**/*.test.ts',
  'test/actors/carrier/binds/orders.test.ts',
  'test/actors/carrier/faults.test.ts',
  'test/actors/carrier/health/failover.test.ts',
  'test/actors/carrier/intake/second-records.test.ts',
  'test/actors/carrier/intake/set-aside.test.ts',
  'test/actors/carrier/outcome/parts.test.ts',
  'test/actors/carrier/outcome/put-offs.test.ts',
  'test/actors/carrier/outcome/resend.test.ts',
  'test/actors/carrier/receipts/old-receipts.test.ts',
  'test/actors/carrier/receipts/store-away.test.ts',
  'test/actors/carrier/repeats/older-than-the-window.test.ts',
  'test/actors/carrier/repeats/replay-floor.test.ts',
  'test/actors/inbound/kills.test.ts',
  'test/actors/lease/lease-keeper.test.ts',
  'test/actors/removed-carriers.test.ts',
  'test/analytics/events-anew.test.ts',
  'test/analytics/exactly-once.test.ts',
  'test/analytics/up-to-date.test.ts',
  'test/api/http/idempotency/repeats.test.ts',
  'test/cluster/embedded/nats-watch.test.ts',
  'test/cluster/registry/kill.test.ts',
  'test/cluster/supervisor/system.test.ts',
];

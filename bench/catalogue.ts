// All benches by name. Each is loaded when it is asked for: some load addons.
import type { AnyBench } from './harness/bench.ts';

export const benches: Readonly<Record<string, () => Promise<{ bench: AnyBench }>>> = {
  throughput: () => import('./throughput.ts'),
  publish: () => import('./publish.ts'),
  gates: () => import('./gates.ts'),
  dnd: () => import('./dnd.ts'),
  schedule: () => import('./schedule.ts'),
  batch: () => import('./batch.ts'),
  pacing: () => import('./pacing.ts'),
  takeover: () => import('./takeover.ts'),
  lanes: () => import('./lanes.ts'),
  idle: () => import('./idle.ts'),
  outstanding: () => import('./outstanding.ts'),
  'receipt-lookup': () => import('./receipt-lookup.ts'),
  flight: () => import('./flight.ts'),
  idempotency: () => import('./idempotency.ts'),
  tenants: () => import('./tenants.ts'),
  otp: () => import('./otp.ts'),
  'otp-fraud': () => import('./otp-fraud.ts'),
  'otp-pairs': () => import('./otp-pairs.ts'),
  webhooks: () => import('./webhooks.ts'),
  'webhook-backlog': () => import('./webhook-backlog.ts'),
  record: () => import('./record.ts'),
  reports: () => import('./reports.ts'),
  clicks: () => import('./clicks.ts'),
};

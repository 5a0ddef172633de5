// Every bound of the system, with its arithmetic, divided by subject into the limits-*.ts files. Relations between bounds
// are asserted at load, here those between two subjects, so a change that breaks one stops the start instead of losing a
// message.
import { assert } from './assert.ts';
import { busLimits } from './limits-bus.ts';
import { carrierLimits } from './limits-carrier.ts';
import { controlLimits } from './limits-control.ts';
import { httpLimits } from './limits-http.ts';
import { inboundLimits } from './limits-inbound.ts';
import { overflowLimits } from './limits-lanes.ts';
import { factLimits } from './limits-facts.ts';
import { otpLimits, otpSummaryLimits } from './limits-otp.ts';
import { otpGuardLimits } from './limits-otp-guard.ts';
import { linkLimits } from './limits-links.ts';
import { processLimits } from './limits-processes.ts';
import { recordLimits } from './limits-records.ts';
import { attemptLimits, deliveryLimits, webhookLimits } from './limits-webhooks.ts';

export const limits = {
  ...httpLimits,
  ...busLimits,
  ...carrierLimits,
  ...recordLimits,
  ...controlLimits,
  ...processLimits,
  ...otpLimits,
  ...factLimits,
  ...otpSummaryLimits,
  ...linkLimits,
  inbound: inboundLimits,
  overflow: overflowLimits,
  otpGuard: otpGuardLimits,
  webhooks: webhookLimits,
  delivery: deliveryLimits,
  webhookAttempts: attemptLimits,
} as const;

assert(
  limits.http.idempotencyWrites.deadlineMs +
    limits.scheduled.countMs +
    limits.bus.publishTimeoutMs * limits.bus.publishAttemptsMax <
    limits.idempotency.leaseMs,
  'an idempotency lease could be taken over while its first owner still publishes',
);
assert(
  limits.otpSummaries.settleMs - limits.otpSummaries.lateMs >= 2 * limits.recorder.clockSkewMsMax,
  'a change could be no late one for one node, after another one has summarized its time',
);
assert(
  2 * limits.otpSummaries.statementMsMax + limits.reports.statementMsMax < limits.reports.deadlineMs,
  'a report would fail because each of its two statements waits for a summary',
);
assert(
  limits.otpSummaries.askMsMax < limits.queries.deadlineMs,
  'receipts would not be looked up in time while late changes are looked for',
);
assert(
  limits.supervision.startMs > limits.idempotency.readAheadMs + 5_000,
  'an ingress thread that reads idempotency keys ahead would be killed as one that does not start',
);
assert(
  limits.http.batch.beginMs + limits.scheduled.countMs + limits.http.scheduledMs < limits.idempotency.leaseMs,
  'an idempotency lease could be taken over while a batch still waits for the events of its scheduled messages',
);
assert(
  limits.bus.duplicateWindowMs > limits.idempotency.leaseMs * 2,
  'a takeover could publish an id the stream has already forgotten',
);
assert(
  limits.carrier.replayWindowMs >
    limits.otpHedging.receiptWaitMsMax + 2 * (limits.carrier.consumerReachableMs + limits.carrier.ackWaitOtpMs),
  'a one-time password that waits for its receipt could come back after its outcome fell out of the replay window',
);
assert(
  limits.delivery.undecidedStopMs + limits.delivery.stopAnswersMs + 4 * limits.delivery.settleMs <
    limits.supervision.drainMs,
  'a drain could end before what was answered to webhooks is durable',
);
const { publishMs, unservedMs, forgottenMs } = limits.overflow;
assert(
  publishMs + Math.max(unservedMs, forgottenMs) + limits.carrier.ackWaitMs < limits.bus.duplicateWindowMs,
  'a record could be moved to overflow twice, because the stream has forgotten the id of the first move',
);
assert(
  limits.exports.sliceWaitMs + limits.reports.deadlineMs + limits.reports.partMs < limits.http.forwardStalledMs,
  'the ingress would cut off an export that waits for its next slice',
);
assert(
  limits.delivery.replaySearchMs + limits.queries.deadlineMs < limits.webhooks.askMs &&
    limits.webhooks.askMs < limits.management.requestDeadlineMs,
  'the management API would not wait for the result of the search for an event',
);
assert(
  limits.webhooks.askDeliveriesMs + limits.delivery.answerMs < limits.management.requestDeadlineMs,
  'the management API would not read the attempts at an endpoint of which the delivery process says nothing',
);
assert(
  limits.queries.idBehindMsMax > limits.idempotency.ttlMs &&
    limits.queries.idAheadMsMax > limits.idempotency.automaticKeyAheadMs + limits.recorder.clockSkewMsMax,
  'a list by time could leave out a message whose id was made at another time',
);

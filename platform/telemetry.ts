// The catalogue of metrics: the name, help text and unit of everything on /metrics. Labels have few values by design:
// never a number, an account or a message id.
import { counter, gauge, histogram } from './metric-registry.ts';

/** Receipts arrive within seconds, or when a phone is switched on again. */
const lagBucketsS = [0.1, 0.25, 0.5, 1, 2.5, 5, 10, 30, 60, 300, 1_800, 7_200, 43_200, 172_800];

export const metrics = {
  // every process
  errorsIgnored: counter('errors_ignored_total', 'Errors ignored on purpose, by reason', ['why']),

  // supervisor
  childUp: gauge('child_up', 'Whether a child is ready and answers (1) or not (0), by child', ['child'], 'min'),
  childRestarts: counter('child_restarts_total', 'Restarts of a supervised child, by child', ['child']),
  configReloads: counter('config_reloads_total', 'Times a changed heliograph.yaml was applied'),
  configReloadFailed: counter('config_reload_failed_total', 'Times a changed heliograph.yaml was refused'),

  // bus
  busPublishes: counter('bus_publishes_total', 'Publishes acknowledged by JetStream, by stream', ['stream']),
  busPublishRetries: counter('bus_publish_retries_total', 'Publishes retried after a timeout, by stream', ['stream']),
  busPublishFailures: counter('bus_publish_failures_total', 'Publishes that failed finally, by stream and reason', [
    'stream',
    'reason',
  ]),
  busInFlight: gauge('bus_publishes_in_flight', 'Publishes that wait for JetStream'),
  eventsUnread: counter(
    'events_unread_total',
    'Events this version cannot read (a newer one wrote them), by reader; the recorder moves its own to DEAD',
    ['reader'],
  ),
  eventsShortened: counter('events_shortened_total', 'Events too large for a record, published without long texts', [
    'carrier',
  ]),
  deadRecords: counter('dead_records_total', 'Records moved to DEAD, by stream', ['stream']),
  clockOffset: gauge('clock_offset_seconds', 'This machine’s clock minus the median of all machines', [], 'max'),
  removedCarrierRecords: gauge('removed_carrier_records', 'Records of carriers not configured', ['carrier'], 'any'),
  laterReleased: counter('later_released_total', 'Records released from LATER'),

  // bounds that accounts share: limits-shares.ts
  sharedBoundUsed: gauge('shared_bound_used', 'Units in use of a bound that accounts share, by bound', ['bound']),
  sharedBoundTotal: gauge('shared_bound_total', 'Total units of a bound that accounts share, by bound', ['bound']),
  sharedBoundRefusals: counter(
    'shared_bound_refusals_total',
    'Refusals by a bound that accounts share, by bound and reason (account_full, full, unavailable)',
    ['bound', 'reason'],
  ),

  // entry points
  bulkPace: gauge('bulk_messages_per_second', 'The pace of bulk work beside single messages, of all ingress threads'),
  httpRequests: counter('http_requests_total', 'Requests answered, by route and status', ['route', 'status']),
  httpAborted: counter('http_aborted_total', 'Requests aborted by their client, by route', ['route']),
  httpDuration: histogram(
    'http_request_seconds',
    'From the request line to the response, by route; a body that its client sends slowly counts',
    ['route'],
  ),
  httpInFlight: gauge('http_requests_in_flight', 'Requests that wait for their response'),
  accepted: counter('accepted_total', 'Messages accepted, by category and carrier', ['category', 'carrier']),
  acceptDuration: histogram(
    'accept_seconds',
    'From the request line to the 202, by category; a body that its client sends slowly counts',
    ['category'],
  ),
  refused: counter('refused_total', 'Messages and keys refused at the ingress, by code', ['code']),
  authRefused: counter('auth_refused_total', 'Requests whose API key was refused, by code', ['code']),
  otpGuardRefusals: counter('otp_guard_refusals_total', 'Codes refused by the guard against fraud', ['rule', 'action']),
  otpGuardBlocks: counter('otp_guard_blocks_total', 'Blocks made by the guard against fraud', ['rule', 'mode']),
  otpConversion: gauge(
    'otp_conversion_codes',
    'Codes by which routes are drawn, by the carrier that took them and result (verified, missed); one of 15 minutes ago counts half',
    ['carrier', 'result'],
    'any',
  ),
  refusalsUnrecorded: counter('refusals_unrecorded_total', 'Refused requests that left no audit record, by reason', [
    'why',
  ]),
  idempotency: counter('idempotency_total', 'Requests with an idempotency key, by result', ['ended']),
  redirects: counter('redirects_total', 'Requests for short links, by end, which docs/clicks.md lists', ['ended']),
  clicksRecorded: counter('clicks_recorded_total', 'Clicks recorded, by class', ['class']),
  clicksLost: counter('clicks_lost_total', 'Clicks that were not kept and are in no report, by reason', ['reason']),
  factsRefused: counter(
    'facts_refused_total',
    'Events of one-time passwords that FACTS did not take at once, by reason; they are published again',
    ['reason'],
  ),
  factsLost: counter(
    'facts_lost_total',
    'Events that could not be published to FACTS and are lost, by kind (refusals of the guard, clicks)',
    ['kind'],
  ),
  eventsFillShare: gauge('events_fill_share', 'How full EVENTS is, 0 to 1, as the ingress sees it', [], 'max'),

  // directory
  directoryEntries: gauge('directory_entries', 'Entries of the directory in memory, by kind', ['kind'], 'any'),
  directoryRereads: counter('directory_rereads_total', 'Full reads of the directory after the first, by reason', [
    'reason',
  ]),
  directoryBadEntries: counter('directory_bad_entries_total', 'Directory entries that could not be read'),
  directoryOutbox: gauge(
    'directory_outbox_rows',
    'Changes not yet projected to the directory (at most one batch)',
    [],
    'max',
  ),
  directoryProjected: counter('directory_projected_total', 'Directory entries written, by operation', ['operation']),
  directoryBlocks: counter('directory_suppression_blocks_total', 'Blocks of suppressed numbers written or removed'),
  directoryDrift: counter(
    'directory_drift_total',
    'Directory entries that differed from the database and were repaired',
  ),
  managementRequests: counter('management_requests_total', 'Management requests answered, by status', ['status']),
  directoryFailures: counter('directory_projection_failures_total', 'Projection passes that failed'),

  // registries
  registryNumbers: gauge(
    'registry_numbers',
    'Numbers in the registry version in effect, the minimum of all processes, by registry',
    ['registry'],
    'min',
  ),
  registryVersion: gauge(
    'registry_version',
    'Running number of the registry version in effect, the oldest of all processes, by registry',
    ['registry'],
    'min',
  ),
  registryLoads: counter('registry_loads_total', 'Loads of a registry version, by registry and result', [
    'registry',
    'ended',
  ]),

  // carriers
  submits: counter('carrier_submits_total', 'submit_sm written, by carrier and category', ['carrier', 'category']),
  submitResponses: counter(
    'carrier_submit_responses_total',
    'submit_sm_resp received, by carrier and command status; unnamed: a status SMPP does not name',
    ['carrier', 'status'],
  ),
  receipts: counter(
    'carrier_receipts_total',
    'Receipts, by carrier and result (matched, parked, duplicate, unmatched, intermediate, not_safe, unreadable)',
    ['carrier', 'ended'],
  ),
  receiptsOtherNumber: counter(
    'carrier_receipts_other_number_total',
    'Receipts parked because their id matches a message to another number, by carrier',
    ['carrier'],
  ),
  inboundParts: counter('inbound_parts_total', 'deliver_sm of subscribers, by carrier and response', [
    'carrier',
    'ended',
  ]),
  inbound: counter(
    'inbound_total',
    'Messages from subscribers, by carrier and owner (account; nobody: no account has the number)',
    ['carrier', 'owner'],
  ),
  inboundIncomplete: counter('inbound_incomplete_total', 'Long messages published with missing parts', ['carrier']),
  inboundWaits: counter('inbound_waits_total', 'Attempts to publish a message of an unknown account', ['carrier']),
  keywords: counter('inbound_keywords_total', 'Messages that were a keyword, by carrier and keyword', [
    'carrier',
    'keyword',
  ]),
  keywordReplies: counter('inbound_replies_total', 'Replies to keywords, by keyword and result', ['keyword', 'ended']),
  decisions: counter('inbound_decisions_total', 'Opt-outs and opt-ins stored, by keyword and result', [
    'keyword',
    'ended',
  ]),
  carrierUnknown: counter('carrier_unknown_total', 'Submits without a known outcome, by carrier and category', [
    'carrier',
    'category',
  ]),
  ended: counter(
    'carrier_final_events_total',
    'Final events of messages, one for each part of a long one; messages without a receipt are in reaper_unknown_total',
    ['carrier', 'category', 'status'],
  ),
  resentByPolicy: counter(
    'resent_by_policy_total',
    'Messages resent because their outcome was unknown and their account’s policy asks for it, by carrier and category',
    ['carrier', 'category'],
  ),
  deferralsInMemory: counter(
    'carrier_deferrals_in_memory_total',
    'Messages that wait in memory because LATER refused them, by carrier and category',
    ['carrier', 'category'],
  ),
  otpHedges: counter(
    'otp_hedges_total',
    'One-time passwords that waited longer for a carrier than usual, by that carrier, the next one, the rule (response, receipt) and what was done: sent (a second copy), not_sent, control (noted only), no_budget, outage, no_route, too_late',
    ['carrier', 'to', 'rule', 'result'],
  ),
  otpHedgesDelivered: counter(
    'otp_hedges_delivered_total',
    'Hedged one-time passwords that were delivered, by the carrier and the copy that was first',
    ['carrier', 'copy'],
  ),
  otpHedgeAfter: gauge(
    'otp_hedge_after_seconds',
    'After how long without an answer (rule response) or a receipt (rule receipt) of this carrier a one-time password is hedged; 0 while too few are known. For receipts the time of the carrier: operator prefixes have their own',
    ['carrier', 'rule'],
    'max',
  ),
  otpHedgeCancels: counter(
    'otp_hedge_cancels_total',
    'Copies of hedged one-time passwords that were not needed any more, by their carrier and what became of them: canceled, refused and no_answer (to cancel_sm), gave_up (no bind could send one), not_sent (the copy itself)',
    ['carrier', 'result'],
  ),
  rerouted: counter('carrier_rerouted_total', 'Messages given to another carrier, by carriers and category', [
    'carrier',
    'to',
    'category',
  ]),
  carrierHealth: gauge(
    'carrier_health',
    'Health of a carrier over the binds of this node: 0 good, 1 weak (OTP avoids it), 2 down; 0 too where other nodes have all binds',
    ['carrier'],
    'max',
  ),
  campaignWithheld: gauge(
    'campaign_withheld_share',
    'Share of their contracts that promotional messages leave free because OTP are late, 0 to 0.75; the largest of all threads',
    [],
    'max',
  ),
  carrierRate: gauge(
    'carrier_rate_per_s',
    'Segments per second the pacing allows now, by carrier: each of several nodes has its share, a standby node 0',
    ['carrier'],
  ),
  leasesHeld: gauge('leases_held', 'Binds this node holds a lease of, by carrier', ['carrier']),
  leaseLosses: counter('lease_losses_total', 'Leases lost without being released, by carrier and reason', [
    'carrier',
    'why',
  ]),
  actorThreadRestarts: counter('actor_thread_restarts_total', 'Actor threads restarted after they died'),
  receiptIdForm: gauge(
    'carrier_receipt_id_form',
    'Form in which the ids of receipts are read, 1 for the form that matched last: raw, hex, decimal, by carrier',
    ['carrier', 'form'],
    'max',
  ),
  outstandingBytes: gauge(
    'carrier_outstanding_bytes',
    'Octets used by segments that wait for a receipt, by carrier; every node counts all',
    ['carrier'],
    'max',
  ),
  outstandingReceipts: gauge(
    'carrier_outstanding_receipts',
    'Submitted segments that wait for a receipt, by carrier; every node counts all',
    ['carrier'],
    'max',
  ),
  bindsBound: gauge('carrier_binds_bound', 'Binds in a bound state, by carrier', ['carrier']),
  reconnects: counter('carrier_reconnects_total', 'Bind attempts after the first, by carrier', ['carrier']),
  laneDepth: gauge('carrier_lane_depth', 'Messages that wait for their turn, by carrier and category', [
    'carrier',
    'category',
  ]),
  overflowed: counter('carrier_overflowed_total', 'Messages of flooding accounts that were moved to overflow', [
    'carrier',
    'category',
  ]),
  overflowWaiting: gauge(
    'carrier_overflow_waiting',
    'Messages that wait in overflow, as last counted',
    ['carrier', 'lane', 'shard'],
    'max',
  ),
  laneOldest: gauge(
    'carrier_oldest_waiting_seconds',
    'Age of the oldest message the actor has received and not started',
    ['carrier', 'category'],
    'max',
  ),
  carrierContract: gauge(
    'carrier_contract_per_s',
    "Segments per second of the carrier's contract, of all its nodes",
    ['carrier'],
    'any',
  ),
  carrierWindow: gauge('carrier_window', 'submit_sm that may wait for a response, over the binds that submit now', [
    'carrier',
  ]),
  carrierDesiredState: gauge(
    'carrier_desired_state',
    'Desired state of a carrier by operator command: 0 running, 1 paused, 2 drained',
    ['carrier'],
    'any',
  ),
  bindState: gauge(
    'bind_state',
    '1 for the state a bind is in: bound, connecting, waiting, stopped, resting, elsewhere; by carrier and bind',
    ['carrier', 'bind', 'state'],
    'max',
  ),
  bindDesiredState: gauge(
    'bind_desired_state',
    "Desired state of a bind, its carrier's included, as carrier_desired_state",
    ['carrier', 'bind'],
    'any',
  ),
  bindWindowInUse: gauge('bind_window_in_use', 'submit_sm of a bind that wait for a response', ['carrier', 'bind']),
  receiptLag: histogram(
    'receipt_lag_seconds',
    'From submit_sm_resp to the receipt, by carrier and category',
    ['carrier', 'category'],
    lagBucketsS,
  ),
  streamWaiting: gauge(
    'stream_waiting_messages',
    'Messages in the queues that no actor has received yet',
    ['carrier', 'category', 'shard'],
    'any',
  ),
  streamMessages: gauge('stream_messages', 'Messages a stream holds', ['stream'], 'any'),
  streamBytes: gauge('stream_bytes', 'Octets a stream holds', ['stream'], 'any'),
  streamFillShare: gauge('stream_fill_share', 'How full a stream is, 0 to 1, by its nearest bound', ['stream'], 'any'),
  unseenRecords: counter('unseen_records_total', 'Consumers that did not see a record of their stream', ['stream']),
  ordersNotAudited: gauge('orders_not_audited', 'Operator commands not yet in the audit log', [], 'any'),
  windowInUse: gauge('carrier_window_in_use', 'submit_sm that wait for a response, by carrier', ['carrier']),
  acceptToSubmit: histogram('accept_to_submit_seconds', 'From the 202 to submit_sm written, by category', ['category']),
  submitRoundTrip: histogram('submit_round_trip_seconds', 'From submit_sm to its response, by carrier', ['carrier']),

  webhookEvents: counter('webhook_events_total', 'Events handed to webhook endpoints, one for each endpoint'),
  webhookRequests: counter('webhook_requests_total', 'Requests to webhook endpoints, by result', ['result']),
  webhookSeconds: histogram('webhook_request_seconds', 'Duration of one request to a webhook endpoint'),
  webhookParked: gauge('webhook_parked_events', 'Events that wait for slow, failing or disabled webhook endpoints'),
  webhookFailing: gauge('webhook_failing_endpoints', 'Webhook endpoints that fail as a whole'),
  webhookAttemptsLost: counter('webhook_attempts_lost_total', 'Attempts at webhook endpoints that could not be stored'),
  webhookDropped: counter('webhook_dropped_total', 'Events that an endpoint never gets, by reason', ['reason']),

  // analytics
  recordedRows: counter('recorder_rows_total', 'Delivery events written to ClickHouse'),
  recorderDuplicates: counter('recorder_duplicates_total', 'Delivery events dropped as recorded before'),
  recorderLookups: counter('recorder_lookups_total', 'Messages looked up because they are older than the seen ids'),
  insertSeconds: histogram('recorder_insert_seconds', 'Duration of one insert into ClickHouse'),
  insertFailures: counter('recorder_insert_failures_total', 'Inserts that failed or timed out and were repeated'),
  recorderPending: gauge('recorder_pending_records', 'Records of EVENTS the recorder has not read yet', [], 'max'),
  recorderWaiting: gauge('recorder_waiting_seconds', 'How long no insert succeeds while events wait', [], 'max'),
  unflushedEvents: gauge('recorder_unflushed_events', 'Delivery events read but not in ClickHouse yet'),
  storeQueries: counter('store_queries_total', 'Queries to the event store, by query and result', ['query', 'ended']),
  storeQuerySeconds: histogram('store_query_seconds', 'Duration of one query to the event store'),
  reaped: counter('reaper_unknown_total', 'Messages settled as unknown because no receipt came'),
  reaperBehind: gauge('reaper_behind_seconds', 'How long messages without a receipt wait to be settled', [], 'max'),
  eventsStreamBytes: gauge('events_stream_bytes', 'Bytes held by EVENTS', [], 'max'),
  eventsChanged: counter('events_changed_total', 'Times a reader found that EVENTS was recreated', ['reader']),
  eventsPurged: counter('events_purged_total', 'Records purged from EVENTS behind every reader'),
};

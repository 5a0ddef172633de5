// Every error code of the HTTP API: status, title, who has to act and how. docs/errors.md, /docs/errors and the
// OpenAPI document are made from this table. A published code keeps its meaning.

/** client: the caller's program or data · owner: the account's administrator · operator: whoever runs Heliograph. */
export type ProblemActor = 'client' | 'owner' | 'operator';

export type ProblemEntry = {
  /** The first is the usual one. */
  readonly statuses: readonly [number, ...number[]];
  readonly title: string;
  readonly actor: ProblemActor;
  readonly action: string;
};

const entry = (
  statuses: number | readonly [number, ...number[]],
  actor: ProblemActor,
  title: string,
  action: string,
): ProblemEntry => ({ statuses: typeof statuses === 'number' ? [statuses] : statuses, title, actor, action });

const retryHow = 'Try again after the seconds in `Retry-After`, with the same `Idempotency-Key`.';

export const problemCatalogue = {
  // the request itself
  invalid_json: entry(400, 'client', 'The body is not one JSON object', 'Send one JSON object in UTF-8.'),
  body_too_large: entry(413, 'client', 'The body is too large', 'Stay within 256 KiB; split large batches.'),
  unsupported_media_type: entry(
    415,
    'client',
    'The content type is not supported',
    'Send `Content-Type: application/json`.',
  ),
  request_timeout: entry(408, 'client', 'The request took too long', 'Send the whole body without pauses.'),
  missing_field: entry(422, 'client', 'A field is missing', 'Add the field named in `errors`.'),
  invalid_field: entry(
    422,
    'client',
    'A field has a wrong value',
    'Correct the field or query parameter named in `errors`; `detail` says what is expected.',
  ),
  unknown_field: entry(
    422,
    'client',
    'A field is not known',
    'Remove the field or query parameter named in `errors`, or correct its spelling.',
  ),
  not_available: entry(
    [422, 404],
    'client',
    'Not available in this version',
    'The field, header or route is planned and not built yet; do without it, or upgrade Heliograph.',
  ),
  not_found: entry(404, 'client', 'Not found', 'Check the path or id; things of other accounts are not found either.'),
  method_not_allowed: entry(405, 'client', 'The method is not allowed here', 'Use a method named in `Allow`.'),
  conflict: entry(409, 'client', 'It exists already', 'Use the existing one, or choose another name.'),

  // who asks
  missing_api_key: entry(401, 'client', 'No API key', 'Send `Authorization: Bearer <API key>`.'),
  invalid_api_key: entry(
    401,
    'client',
    'The API key is not valid',
    'The key is mistyped, revoked or expired: use another one, or create one.',
  ),
  scope_missing: entry(403, 'owner', 'The API key may not do this', 'Use a key with the scope named in `detail`.'),
  key_exceeds_own_permissions: entry(
    403,
    'owner',
    'The key may do more than the one that asks',
    'Ask with a key that has at least its mode, scopes, networks, rate and lifetime; `detail` names what is missing.',
  ),
  account_suspended: entry(
    403,
    'owner',
    'The account is suspended',
    'Nothing is sent or changed until the operator activates the account; reading and revoking API keys still work.',
  ),

  ip_not_allowed: entry(
    403,
    'owner',
    'The API key may not be used from here',
    'Ask from an allowed network, or extend `ip_allowlist` of the key or the account.',
  ),
  rate_limited: entry(429, 'client', 'Too many requests', 'Slow down to the rate in `RateLimit-Policy`; ' + retryHow),
  idempotency_quota_exceeded: entry(
    429,
    'client',
    'Too many idempotency keys',
    'The account used its idempotency keys of this hour: ask for a larger quota, or send without one where a repeat does no harm.',
  ),

  // what is to be sent
  invalid_recipient: entry(422, 'client', 'The recipient is not a phone number', 'Send E.164 with the leading plus.'),
  unsupported_destination: entry(
    422,
    'client',
    'No messages to this destination',
    'The number is outside the country or ranges this installation serves.',
  ),
  sender_not_registered: entry(
    422,
    'owner',
    'The sender is not approved',
    'Use an approved sender (`GET /v1/senders`), or ask for this one with `POST /v1/senders`.',
  ),
  template_mismatch: entry(
    422,
    'client',
    'The text is not that of an approved template',
    'Name an approved template with the right variables (`GET /v1/templates`), or send a text that it could have given.',
  ),
  content_blocked: entry(
    422,
    'client',
    'The text is blocked by content rules',
    'Leave out the word or link named in `detail`; the rules are of the account (`GET /v1/account/settings`) or of the operator.',
  ),
  recipient_opted_out: entry(
    422,
    'client',
    'The recipient must not be sent to',
    'Take the number off your lists: it opted out or was suppressed (`GET /v1/suppressions`).',
  ),
  message_empty: entry(422, 'client', 'The message is empty', 'Send a text of at least one character.'),
  message_too_long: entry(422, 'client', 'The message is too long', 'Shorten it to at most 10 segments.'),
  encoding_mismatch: entry(
    422,
    'client',
    'The text does not fit the encoding',
    'Remove the character named in `detail`, or use `encoding: "auto"`.',
  ),
  recipient_do_not_disturb: entry(
    422,
    'client',
    'The recipient does not want such messages',
    'Take the number off your list for this category; `detail` names the version of the registry.',
  ),
  do_not_disturb_unknown: entry(
    503,
    'operator',
    'The do-not-disturb registry cannot be read',
    'Only categories it applies to are refused. See the log of the ingress; ' + retryHow,
  ),
  quiet_hours: entry(
    422,
    'client',
    'Not at this hour',
    'Send it at the time in `detail`, or leave `quiet_hours` out: it is then held until the window opens.',
  ),
  no_route: entry(
    422,
    'operator',
    'No carrier takes this message',
    'No carrier is configured for this prefix and category: extend `routes` or `carriers`.',
  ),

  not_cancelable: entry(
    409,
    'client',
    'It cannot be canceled any more',
    'Only a message that waits for its time (`status: scheduled`) can be canceled, until a quarter of a second before the second in which it is due.',
  ),

  // idempotency
  idempotency_key_reused: entry(
    422,
    'client',
    'The idempotency key belongs to another request',
    'Use a fresh key for every different request; a retry repeats the same body.',
  ),
  idempotency_in_progress: entry(
    409,
    'client',
    'The first request with this key is still running',
    'Wait for it, or try again after the seconds in `Retry-After`.',
  ),

  // what we cannot do now
  account_busy: entry(
    429,
    'client',
    'The account does too much at once',
    'As much of this account is at work as may be (`detail` names what); others are served. Wait for answers before you ask for more; ' +
      retryHow,
  ),
  account_queue_full: entry(
    429,
    'client',
    "The account's queue is full",
    'The account sent faster than its carriers take. Slow down; ' + retryHow,
  ),
  account_schedule_full: entry(
    429,
    'owner',
    'Too many scheduled messages',
    'The account has as many messages waiting, for their time or for the end of quiet hours, as `limits.shares.scheduled_messages` lets it (`detail` says how many): send this one at its time, or ask the operator for a larger share. Room comes at the end of each hour in which messages were due; `Retry-After` says when the first one ends.',
  ),
  clock_wrong: entry(
    503,
    'operator',
    'The machine’s clock is wrong',
    'This machine takes no messages until its clock is within a second of the others’: others do. ' + retryHow,
  ),
  queue_full: entry(503, 'operator', 'The queue is full', 'A carrier is behind or away. ' + retryHow),
  overloaded: entry(503, 'operator', 'Too busy', retryHow),
  status_unavailable: entry(
    503,
    'operator',
    'The status cannot be read now',
    'Messages still go out; only reading is away. Try again after the seconds in `Retry-After`.',
  ),
  ingress_only: entry(
    403,
    'client',
    'This port serves the ingress only',
    'Send the request to the API, not to the loopback port of the control role.',
  ),
  control_plane_unavailable: entry(
    503,
    'operator',
    'The management API is away',
    'Messages still go out; the control role or its database is down. Try again after `Retry-After`.',
  ),
  internal_error: entry(
    500,
    'operator',
    'Something broke on our side',
    'Tell the operator the `request_id`; the log has the cause. A retry with the same `Idempotency-Key` is safe.',
  ),
} as const satisfies Record<string, ProblemEntry>;

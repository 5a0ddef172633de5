// Every error code of the HTTP API: status, title, who has to act and how. docs/errors.md, /docs/errors and the OpenAPI
// document are made from this table. A published code keeps its meaning.

import { limits } from '../platform/limits.ts';
import { thousands } from '../platform/thousands.ts';

/** client: the caller's program or data · owner: the account's administrator · operator: runs Heliograph. */
export type ProblemActor = 'client' | 'owner' | 'operator';

export type ProblemEntry = {
  readonly status: number;
  readonly title: string;
  readonly actor: ProblemActor;
  readonly action: string;
};

/** `client(status, what is wrong).fix(what the client does about it)`. */
const actedOnBy = (actor: ProblemActor) => (status: number, title: string) => ({
  fix: (action: string): ProblemEntry => ({ status, title, actor, action }),
});
const client = actedOnBy('client');
const owner = actedOnBy('owner');
const operator = actedOnBy('operator');

const { bodyDepthMax, objectFieldsMax } = limits.http;
const retryHow = 'Try again after the seconds in `Retry-After`, with the same `Idempotency-Key`.';

export const problemCatalogue = {
  // the request itself
  invalid_json: client(400, 'The body is not one JSON object of the allowed size').fix(
    `Send one JSON object in UTF-8, with at most ${thousands(objectFieldsMax)} fields in each object and ${bodyDepthMax} objects and lists within one another; \`detail\` says what is wrong.`,
  ),
  body_too_large: client(413, 'The body is too large').fix('Stay within 256 KiB; split large batches.'),
  unsupported_media_type: client(415, 'The content type is not supported').fix(
    'Send `Content-Type: application/json`.',
  ),
  request_timeout: client(408, 'The request took too long').fix(
    'Send the whole body without pauses; `detail` has the slowest rate and the longest time.',
  ),
  missing_field: client(422, 'A field is missing').fix('Add the field named in `errors`.'),
  invalid_field: client(422, 'A field has a wrong value').fix(
    'Correct the field or query parameter named in `errors`; `detail` says what is expected.',
  ),
  unknown_field: client(422, 'A field is not known').fix(
    'Remove the field or query parameter named in `errors`, or correct its spelling.',
  ),
  not_found: client(404, 'Not found').fix('Check the path or id; things of other accounts are not found either.'),
  method_not_allowed: client(405, 'The method is not allowed here').fix('Use a method named in `Allow`.'),
  conflict: client(409, 'It conflicts with what exists').fix(
    'Use the existing one, choose another name, or, where `detail` names a number that an account may have, remove one.',
  ),
  replay_running: client(409, 'An earlier replay to this endpoint still runs').fix(
    'Wait for its end: it ends when its events are delivered, or in the line of the endpoint.',
  ),
  too_many_secrets: client(409, 'Too many secrets would sign at once').fix(
    'Wait for the end of an earlier overlap, or use a shorter `overlap_seconds`; 0 ends all others.',
  ),

  // authentication and access
  missing_api_key: client(401, 'No API key').fix('Send `Authorization: Bearer <API key>`.'),
  invalid_api_key: client(401, 'The API key is not valid').fix(
    'The key is mistyped, revoked or expired: use another one, or create one.',
  ),
  scope_missing: owner(403, 'The API key may not do this').fix('Use a key with the scope named in `detail`.'),
  key_exceeds_own_permissions: owner(403, 'The key may do more than the calling key').fix(
    'Use a key that has at least its mode, scopes, networks, rate and lifetime; `detail` names what is missing.',
  ),
  account_suspended: owner(403, 'The account is suspended').fix(
    'Nothing is sent or changed until the operator activates the account; reading and revoking API keys still work.',
  ),

  ip_not_allowed: owner(403, 'The API key may not be used from here').fix(
    'Use an allowed network, or extend `ip_allowlist` of the key or the account.',
  ),
  rate_limited: client(429, 'Too many requests').fix('Slow down to the rate in `RateLimit-Policy`; ' + retryHow),
  idempotency_quota_exceeded: client(429, 'Too many idempotency keys').fix(
    'The account has used its idempotency keys of this hour: ask for a larger quota, or send without a key where a repeat does no harm.',
  ),

  // the message
  invalid_recipient: client(422, 'The recipient is not a phone number').fix('Send E.164 with the leading plus.'),
  unsupported_destination: client(422, 'No messages to this destination').fix(
    'The number is outside the country or ranges this installation serves.',
  ),
  sender_not_registered: owner(422, 'The sender is not approved').fix(
    'Use an approved sender (`GET /v1/senders`), or ask for this one with `POST /v1/senders`.',
  ),
  template_mismatch: client(422, 'The text does not match an approved template').fix(
    'Use `template_id` with the right variables (`GET /v1/templates`), or send a text that an approved template can produce.',
  ),
  content_blocked: client(422, 'The text is blocked by content rules').fix(
    'Leave out the word or link named in `detail`; the rules are the account’s (`GET /v1/account/settings`) or the operator’s.',
  ),
  link_not_trackable: client(422, 'A link cannot be tracked').fix(
    'Write the link as `detail` says, or leave `track_clicks` out.',
  ),
  link_disabled: client(422, 'A link is disabled').fix(
    '`detail` names the link, `errors` the field that has it: leave it out, or enable it (`POST /v1/links/{id}/enable`).',
  ),
  recipient_opted_out: client(422, 'The recipient must not be sent to').fix(
    'Remove the number from your lists: it opted out or was suppressed (`GET /v1/suppressions`).',
  ),
  message_empty: client(422, 'The message is empty').fix('Send a text of at least one character.'),
  message_too_long: client(422, 'The message is too long').fix(
    'Shorten it to at most 10 segments; a one-time password to one, as `detail` says.',
  ),
  encoding_mismatch: client(422, 'The text does not fit the encoding').fix(
    'Remove the character named in `detail`, or use `encoding: "auto"`.',
  ),
  recipient_do_not_disturb: client(422, 'The recipient does not want such messages').fix(
    'Remove the number from your list for this category; `detail` names the version of the registry.',
  ),
  do_not_disturb_unknown: operator(503, 'The do-not-disturb registry cannot be read').fix(
    'Only categories it applies to are refused. See the log of the ingress; ' + retryHow,
  ),
  quiet_hours: client(422, 'Outside of the allowed hours').fix(
    'Send it at the time in `detail`, or leave `quiet_hours` out: it is then held until the window opens.',
  ),
  no_route: operator(422, 'No carrier takes this message').fix(
    'No carrier is configured for this prefix and category: extend `routes` or `carriers`.',
  ),

  not_cancelable: client(409, 'The message can no longer be canceled').fix(
    'Only a scheduled message (`status: scheduled`) can be canceled, until a quarter of a second before the second in which it is due.',
  ),

  // one-time passwords
  otp_destination_not_allowed: owner(422, 'The account sends no codes to this number').fix(
    'Send codes to numbers that begin as `detail` says only; `PATCH /v1/otp-guard` changes the account’s `destinations`.',
  ),
  otp_already_verified: client(409, 'The code was entered before').fix(
    'A code counts once, for the request that entered it first: treat the user as not confirmed, or start a new one.',
  ),
  otp_locked: client(429, 'Too many failed guesses').fix(
    'Guesses about this number failed too often within a day, over all of its codes: it can be verified again after the seconds in `Retry-After`. Offer your user another way meanwhile. If you know that it is that person, unlock the number with `POST /v1/otp/unlock`.',
  ),
  otp_rate_limited: client(429, 'Too many one-time passwords').fix(
    'A limit of sends, verifications or wrong guesses is reached; `limit` says which one. Try again after the seconds in `Retry-After`; a user who asked too often waits, too.',
  ),
  otp_pending_limit: client(429, 'Too many codes wait for this number').fix(
    'Two codes of one purpose may wait for a number. Send one of them again, cancel one, or wait for the seconds in `Retry-After`.',
  ),
  otp_blocked: client(429, 'Codes to these numbers are blocked for a while').fix(
    'The guard against fraud has blocked them; `guard` says by which rule and which numbers (`GET /v1/otp-guard/blocks`), `Retry-After` says when it ends. Offer your user another way. Numbers that are blocked wrongly: release them, or put them on the safe list.',
  ),
  otp_challenge: client(429, 'A challenge has to be passed first').fix(
    'Let your user solve a challenge, such as a CAPTCHA, and repeat the request with `challenge_passed: true`; without one, wait for the seconds in `Retry-After`.',
  ),
  otp_expiring: client(409, 'The code expires too soon to be sent again').fix('Start a new one.'),
  otp_not_pending: client(409, 'The one-time password has ended').fix(
    '`detail` says how it ended. Start a new one where the user still needs a code.',
  ),

  // idempotency
  idempotency_key_reused: client(422, 'The idempotency key belongs to another request').fix(
    'Use a fresh key for every different request; a retry repeats the same body.',
  ),
  idempotency_in_progress: client(409, 'The first request with this key is still running').fix(
    'Wait for it, or try again after the seconds in `Retry-After`.',
  ),

  // temporary conditions of the server
  account_busy: client(429, 'The account does too much at once').fix(
    'The account uses its whole share of what `detail` names; others are served. Wait for answers before you send more; ' +
      retryHow,
  ),
  account_queue_full: client(429, "The account's queue is full").fix(
    'The account sent faster than its carriers take. Slow down; ' + retryHow,
  ),
  account_schedule_full: owner(429, 'Too many scheduled messages').fix(
    'The account’s scheduled messages, with those held for quiet hours, are at its limit, `limits.shares.scheduled_messages` (`detail` says how many): send this one at its time, or ask the operator for a larger share. Capacity is free again at the end of each hour in which messages were due; `Retry-After` says when the first one ends.',
  ),
  account_links_full: owner(429, 'Too many links').fix(
    'The account’s links that have not expired are at its limit, `limits.shares.live_links`: leave `track_clicks` out, use the same link for all recipients, or ask the operator for a larger share.',
  ),
  clock_wrong: operator(503, 'The machine’s clock is wrong').fix(
    'This machine accepts no messages until it has found its clock within a second of the others’; the other machines do. ' +
      retryHow,
  ),
  queue_full: operator(503, 'The queue is full').fix('A carrier is behind or away. ' + retryHow),
  overloaded: operator(503, 'Too busy').fix(retryHow),
  status_unavailable: operator(503, 'The status cannot be read now').fix(
    'Messages are still sent; only reading fails. Try again after the seconds in `Retry-After`.',
  ),
  report_unavailable: operator(503, 'The report cannot be made now').fix(
    'Ask for less time or fewer groups if it repeats. Messages are still sent. Try again after the seconds in `Retry-After`.',
  ),
  report_too_large: client(422, 'The report is too large').fix(
    'Ask for less time or fewer groups, or filter by carrier, category or sender. If `detail` has a number of one-time passwords, only a shorter time helps.',
  ),
  export_unavailable: operator(503, 'The export cannot be made now').fix(
    'Ask for less time if it repeats. Messages are still sent. Try again after the seconds in `Retry-After`.',
  ),
  export_too_large: client(422, 'The export has too many rows').fix(
    'Ask for less time: several exports of an hour or a day instead of one.',
  ),
  sql_refused: client(422, 'The statement is wrong, or does more than read').fix(
    'Correct it as `detail` says: one SELECT over the tables of docs/schema.md, without SETTINGS, FORMAT or INTO OUTFILE.',
  ),
  sql_too_large: client(422, 'The statement needs too much').fix(
    'Its answer has too many rows, or it needs too much memory: filter by time and account, or aggregate more.',
  ),
  sql_too_slow: operator(503, 'The statement took too long').fix(
    'Read less: filter by account and time, or read the tables of counts instead of the events.',
  ),
  sql_unavailable: operator(503, 'The event store cannot be read yet').fix(
    'It was restored from a backup, and erasures are carried out again first. Try again after the seconds in `Retry-After`.',
  ),
  webhooks_unavailable: operator(503, 'Webhook attempts, tests and replays do not work now').fix(
    'Events are kept, and sent later; `detail` says what does not answer. Try again after the seconds in `Retry-After`.',
  ),
  recording_behind: operator(503, 'What happened last is not recorded yet').fix(
    'Nothing is lost: events wait to be recorded. `detail` says for how long they have. Try again after the seconds in `Retry-After`, or ask with an earlier `until`.',
  ),
  webhooks_busy: operator(503, 'Too many tests or replays of webhooks at once').fix(
    'Requests of other accounts take all the places. ' + retryHow,
  ),
  ingress_only: client(403, 'This port serves the ingress only').fix(
    'Send the request to the API, not to the loopback port of the control role.',
  ),
  control_plane_unavailable: operator(503, 'The management API is away').fix(
    'Messages are still sent; `detail` says what does not answer: the control role, its database, NATS or another process. Try again after `Retry-After`.',
  ),
  internal_error: operator(500, 'An error inside Heliograph').fix(
    'Report the `request_id` to the operator; the log has the cause. A retry with the same `Idempotency-Key` is safe.',
  ),
} as const satisfies Record<string, ProblemEntry>;

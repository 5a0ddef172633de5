// The routes that api/http serves, for the documentation. They have no handler here.
import type { ProblemCode } from '../../problem.ts';
import { refusalCodes } from '../../../policy/contract.ts';
import type { Endpoint } from '../endpoint.ts';
import { listOf } from '../schemas/common.ts';
import {
  changedOtp,
  otp,
  otpListQuery,
  otpParams,
  resendOtp,
  startOtp,
  startedOtp,
  verifiedOtp,
  verifyOtp,
} from '../schemas/otp.ts';
import {
  acceptedBatch,
  acceptedSms,
  explainedSms,
  sendBatchBody,
  sendSmsBody,
  sms,
  smsListQuery,
  smsParams,
} from '../schemas/sms.ts';

/** A one-time password has a text of ours, without links of its own. */
const notOfOtp: readonly ProblemCode[] = ['link_not_trackable', 'message_empty'];

/** What the gates refuse, and why a message is not accepted now. */
const ofSending: readonly ProblemCode[] = [
  ...refusalCodes.filter((code) => !notOfOtp.includes(code)),
  ...(['account_queue_full', 'clock_wrong', 'queue_full', 'request_timeout'] as const),
];

/** What limits and the guard refuse a message with a code for. */
const ofOtp = ['otp_destination_not_allowed', 'otp_locked', 'otp_rate_limited', 'otp_blocked'] as const;

export const hotEndpoints: readonly Endpoint[] = [
  {
    method: 'post',
    path: '/v1/sms',
    tag: 'SMS',
    summary: 'Send an SMS',
    description: 'The 202 says that the message is stored durably and will be sent; read its status later.',
    scope: 'sms:send',
    body: sendSmsBody,
    answer: { status: 202, description: 'Accepted.', schema: acceptedSms },
    otherAnswer: {
      status: 200,
      description: 'With `dry_run`: what would become of the message.',
      schema: explainedSms,
    },
    problems: [
      ...ofSending,
      ...notOfOtp,
      ...(['link_disabled', 'account_schedule_full', 'account_links_full'] as const),
    ],
  },
  {
    method: 'post',
    path: '/v1/sms/batch',
    tag: 'SMS',
    summary: 'Send up to a thousand SMS',
    description:
      'Each message is checked and accepted separately. Under an `Idempotency-Key` the id of every message follows from the ' +
      'key and its index: a retry sends what is missing and nothing twice. An answer in which a message was refused only ' +
      'temporarily (`overloaded`, `queue_full`) is not final: the same request with the same key tries those again.',
    scope: 'sms:send',
    body: sendBatchBody,
    answer: { status: 202, description: 'The result of each message.', schema: acceptedBatch },
    problems: ['queue_full', 'request_timeout'],
  },
  {
    method: 'get',
    path: '/v1/sms/{id}',
    tag: 'SMS',
    summary: 'One SMS, sent or received',
    scope: 'sms:read',
    params: smsParams,
    answer: { status: 200, description: 'The message with its history.', schema: sms },
    problems: ['status_unavailable'],
  },
  {
    method: 'get',
    path: '/v1/sms',
    tag: 'SMS',
    summary: 'List SMS, newest first',
    description:
      'Requests that a gate refused are listed under `status=blocked` as `refused_request`: one audit record each, rate ' +
      'limited. They are not messages, and are in no other list or count. Messages from subscribers are listed with ' +
      '`direction=inbound`. With `status` a page may have fewer messages than `limit`, or none when a search of one second ' +
      'found none: continue while `next_cursor` is not null.',
    scope: 'sms:read',
    query: smsListQuery,
    answer: { status: 200, description: 'A page of messages.', schema: listOf('SmsList', sms) },
    problems: ['status_unavailable'],
  },
  {
    method: 'delete',
    path: '/v1/sms/{id}',
    tag: 'SMS',
    summary: 'Cancel a scheduled SMS',
    description:
      'Possible while its status is `scheduled`, until a quarter of a second before the second in which it is due. It is ' +
      'then never sent.',
    scope: 'sms:send',
    params: smsParams,
    answer: { status: 200, description: 'The message is canceled. A repeat gets the same answer.', schema: sms },
    problems: ['not_cancelable', 'queue_full', 'status_unavailable'],
  },
  {
    method: 'post',
    path: '/v1/otp',
    tag: 'OTP',
    summary: 'Send a one-time password',
    description:
      'Makes a code, stores it encrypted and sends it. The answer has no code, except under a test key. A second start for ' +
      'the same number and purpose has a code and an id of its own; two may wait at a time.',
    scope: 'sms:send',
    body: startOtp,
    answer: {
      status: 201,
      description: 'Started; its message is stored durably and will be sent.',
      schema: startedOtp,
    },
    problems: [...ofSending, ...ofOtp, 'otp_pending_limit', 'otp_challenge'],
  },
  {
    method: 'post',
    path: '/v1/otp/{id}/verify',
    tag: 'OTP',
    summary: 'Verify a code',
    description:
      'Decide by `valid`. A wrong or late code is a 200 with `valid: false`, any code for an OTP that was verified before a 409 ' +
      '`otp_already_verified`. Each comparison counts, also of a code with too few digits; the fifth wrong one ends the OTP. ' +
      'Success cancels the other codes of the same number and purpose.',
    scope: 'sms:send',
    params: otpParams,
    body: verifyOtp,
    answer: { status: 200, description: 'Whether the code is right.', schema: verifiedOtp },
    problems: ['otp_already_verified', 'otp_locked', 'otp_rate_limited', 'clock_wrong', 'request_timeout'],
  },
  {
    method: 'post',
    path: '/v1/otp/{id}/resend',
    tag: 'OTP',
    summary: 'Send the same code again',
    description: 'The same code, until the same time, in one more message.',
    scope: 'sms:send',
    params: otpParams,
    body: resendOtp,
    answer: { status: 200, description: 'Sent again; `sms_id` is the new message.', schema: changedOtp },
    problems: [...ofSending, ...ofOtp, 'otp_expiring', 'otp_not_pending'],
  },
  {
    method: 'post',
    path: '/v1/otp/{id}/cancel',
    tag: 'OTP',
    summary: 'Cancel a one-time password',
    description: 'Its code is no longer valid. A message on its way still arrives.',
    scope: 'sms:send',
    params: otpParams,
    answer: { status: 200, description: 'Canceled. A repeat gets the same answer.', schema: changedOtp },
    // A body may be left out, and must be an empty object.
    problems: ['otp_not_pending', 'clock_wrong', 'invalid_json', 'unsupported_media_type', 'body_too_large'],
  },
  {
    method: 'get',
    path: '/v1/otp',
    tag: 'OTP',
    summary: 'The one-time passwords of a number, newest first',
    description: 'Those that wait, and each for an hour after it ended.',
    scope: 'sms:read',
    query: otpListQuery,
    answer: { status: 200, description: 'A page of one-time passwords.', schema: listOf('OtpList', otp) },
  },
  {
    method: 'get',
    path: '/v1/otp/{id}',
    tag: 'OTP',
    summary: 'One one-time password',
    description: 'For an hour after it ended. While the event store is away, what became of its messages is null.',
    scope: 'sms:read',
    params: otpParams,
    answer: { status: 200, description: 'Its state and its messages.', schema: otp },
  },
];

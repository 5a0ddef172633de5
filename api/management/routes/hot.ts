// The routes that api/http serves, as the documentation shows them. They have no handler here.
import type { Endpoint } from '../endpoint.ts';
import { listOf } from '../schemas/common.ts';
import { acceptedSms, sendSmsBody, sms, smsListQuery, smsParams } from '../schemas/sms.ts';

export const postSms = {
  method: 'post',
  path: '/v1/sms',
  tag: 'SMS',
  summary: 'Send an SMS',
  description: 'The 202 says that the message is stored durably and will be sent; what became of it is read later.',
  scope: 'sms:send',
  idempotent: true,
  body: sendSmsBody,
  answer: { status: 202, description: 'Accepted.', schema: acceptedSms },
  problems: [
    'account_suspended',
    'not_available',
    'invalid_recipient',
    'unsupported_destination',
    'sender_not_registered',
    'template_mismatch',
    'content_blocked',
    'recipient_opted_out',
    'message_empty',
    'message_too_long',
    'encoding_mismatch',
    'recipient_do_not_disturb',
    'do_not_disturb_unknown',
    'quiet_hours',
    'no_route',
    'idempotency_key_reused',
    'idempotency_in_progress',
    'idempotency_quota_exceeded',
    'account_queue_full',
    'queue_full',
    'overloaded',
    'request_timeout',
    'header_limit',
  ],
} as const satisfies Endpoint;

export const getSms = {
  method: 'get',
  path: '/v1/sms/{id}',
  tag: 'SMS',
  summary: 'What became of an SMS',
  scope: 'sms:read',
  params: smsParams,
  answer: { status: 200, description: 'The message with its history.', schema: sms },
  problems: ['not_found', 'status_unavailable', 'overloaded'],
} as const satisfies Endpoint;

export const listSms = {
  method: 'get',
  path: '/v1/sms',
  tag: 'SMS',
  summary: 'List SMS, newest first',
  description:
    'Requests that a gate refused are listed under `status=blocked` as `refused_request`: an audit record each, bounded ' +
    'in a flood. They are no messages and are not in any other list or count.',
  scope: 'sms:read',
  query: smsListQuery,
  answer: { status: 200, description: 'A page of messages.', schema: listOf('SmsList', sms) },
  problems: ['invalid_field', 'unknown_field', 'status_unavailable', 'overloaded'],
} as const satisfies Endpoint;

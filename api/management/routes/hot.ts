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
    'message_empty',
    'message_too_long',
    'encoding_mismatch',
    'no_route',
    'idempotency_key_reused',
    'idempotency_in_progress',
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
  scope: 'sms:read',
  query: smsListQuery,
  answer: { status: 200, description: 'A page of messages.', schema: listOf('SmsList', sms) },
  problems: ['invalid_field', 'unknown_field', 'status_unavailable', 'overloaded'],
} as const satisfies Endpoint;

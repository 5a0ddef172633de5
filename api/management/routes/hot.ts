// The routes that api/http serves, for the documentation. They have no handler here.
import type { Endpoint } from '../endpoint.ts';
import { listOf } from '../schemas/common.ts';
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
      'not_available',
      'invalid_recipient',
      'unsupported_destination',
      'sender_not_registered',
      'template_mismatch',
      'content_blocked',
      'link_not_trackable',
      'link_disabled',
      'recipient_opted_out',
      'message_empty',
      'message_too_long',
      'encoding_mismatch',
      'recipient_do_not_disturb',
      'do_not_disturb_unknown',
      'quiet_hours',
      'no_route',
      'account_queue_full',
      'account_schedule_full',
      'account_links_full',
      'clock_wrong',
      'queue_full',
      'request_timeout',
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
];

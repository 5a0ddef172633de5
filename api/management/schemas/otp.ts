// The one-time password routes for the documentation. api/http serves them and validates with the bodies named here.
import { z } from '@hono/zod-openapi';
import { hedgeRules } from '../../../model/copies.ts';
import { eventKinds } from '../../../model/delivery-event.ts';
import { isE164 } from '../../../model/e164.ts';
import { otpEndReasons, otpStatuses } from '../../../model/otp.ts';
import { resendOtpBody, startOtpBody, verifyOtpBody } from '../../http/otp/otp-bodies.ts';
import { timeSchema } from './common.ts';

const id = z.string().openapi({ example: 'otp_01K3Z8Q4T6W9XAB2CD3EF4GH5J8N6V2QX0M3T7KDPA' });

export const otpParams = z.object({ id });

export const otpListQuery = z.strictObject({
  to: z.string().describe('E.164, its plus sent as %2B.'),
  limit: z.int().min(1).max(100).default(20).optional(),
  cursor: z.string().optional(),
});

export const startOtp = startOtpBody.openapi('StartOtp');
export const verifyOtp = verifyOtpBody.openapi('VerifyOtp');
export const resendOtp = resendOtpBody.openapi('ResendOtp');

const notANumber = 'expected a number in E.164 form, such as +8801712345678';
export const unlockOtpBody = z
  .strictObject({
    to: z.string({ error: notANumber }).refine(isE164, notANumber).describe('E.164 with the leading plus.'),
  })
  .openapi('UnlockOtp');

export const otpUnlock = z
  .object({
    object: z.literal('otp_unlock'),
    to: z.string(),
    failed_guesses: z.int().describe('Wrong guesses that counted and count no more; 0 where there were none.'),
  })
  .openapi('OtpUnlock');

const facts = {
  id,
  object: z.literal('otp'),
  to: z.string(),
  expires_at: timeSchema,
  attempts_remaining: z.int().describe('Guesses that will still be compared.'),
  sms_id: z.string().nullable().describe('Its last message: GET /v1/sms/{id}.'),
  client_reference: z.string().nullable(),
};

const otpStatus = z.enum(otpStatuses).openapi('OtpStatus');

export const startedOtp = z
  .object({
    ...facts,
    status: otpStatus.describe('`pending`; of a repeat with the same key what it has become.'),
    test_code: z.string().optional().describe('The code; under a test key only.'),
  })
  .openapi('StartedOtp');

export const changedOtp = z.object({ ...facts, status: otpStatus }).openapi('ChangedOtp');

export const verifiedOtp = z
  .object({
    id,
    status: otpStatus,
    valid: z
      .boolean()
      .describe(
        'What to decide by. True once, for the request that has entered the right code; its repeat under the same `Idempotency-Key` gets it again. `status` is `verified` beside it, and in no other answer.',
      ),
    attempts_remaining: facts.attempts_remaining,
  })
  .openapi('VerifiedOtp');

const milliseconds = z.number().nullable();

export const otp = z
  .object({
    ...facts,
    status: otpStatus,
    reason: z
      .enum(otpEndReasons)
      .nullable()
      .describe(
        'Why it ended without being verified; null of one that waits, was verified or canceled. `expired` and `max_attempts_reached` are the status once more; the others are of `failed`. `locked`: too many wrong guesses about its number. `delivery_failed`: its time is over and none of its messages arrived. `not_sent`: its message was not accepted.',
      ),
    ended_at: timeSchema.nullable().describe('When it was verified, canceled, failed or expired; null while it waits.'),
    purpose: z.string(),
    created_at: timeSchema,
    sends: z
      .array(
        z.object({
          sms_id: z.string(),
          channel: z.literal('sms'),
          carrier: z.string().nullable(),
          hop: z.int().describe('0: the first carrier of the message; each further one is a hop.'),
          status: z
            .enum(eventKinds)
            .nullable()
            .describe(
              'The last that happened at this carrier; null: not known now. `canceled`: a copy that was not needed.',
            ),
          hedged_by: z
            .enum(hedgeRules)
            .nullable()
            .describe('A second copy, sent because the carrier before did not answer, or its receipt did not come.'),
          timing_ms: z.object({ accepted_to_submitted: milliseconds, submitted_to_delivered: milliseconds }),
        }),
      )
      .describe('Each message with the code, at each carrier that it was given to.'),
  })
  .openapi('Otp');

// The guard against fraud with one-time passwords as JSON: an account's lists, and the blocks of its numbers.
import { z } from '@hono/zod-openapi';
import { prefixPattern } from '../../../model/e164.ts';
import { limits } from '../../../platform/limits.ts';
import { guardRules } from '../../../policy/otp-guard/contract.ts';
import { timeSchema } from './common.ts';
import { text, whole } from './gates.ts';

const prefixForm = 'expected the first digits of numbers with the plus sign, such as +880171234';
const prefix = z.string({ error: prefixForm }).regex(prefixPattern, prefixForm).openapi({ example: '+880171234' });
const prefixes = z
  .array(prefix, { error: 'expected a list' })
  .max(limits.otpGuard.listMax, `expected at most ${limits.otpGuard.listMax} entries`);

export const numberBlock = z
  .object({
    object: z.literal('otp_block'),
    prefix,
    rule: z.enum([...guardRules, 'operator']).describe('What found it; operator: it was ordered.'),
    statistic: z.number().describe('The figure of the rule with one decimal, and the threshold that it reached.'),
    threshold: z.number(),
    times: z
      .int()
      .describe('Its number in a row of blocks, from 1: each lasts twice as long as the one before. 0: only ordered.'),
    shadow: z.boolean().describe('The rule is in shadow mode: the numbers get their codes.'),
    in_effect: z.boolean(),
    blocked_at: timeSchema,
    until: timeSchema,
    released: z.enum(['probe', 'operator']).nullable().describe('Why it ended before its time.'),
    note: z.string(),
  })
  .openapi('OtpBlock');

export const otpGuard = z
  .object({
    object: z.literal('otp_guard'),
    destinations: z.array(prefix).nullable().describe('Prefixes that codes are sent to; null: those of the operator.'),
    safe_list: z
      .array(prefix)
      .describe('Numbers and prefixes that no rule refuses or counts, beside those of the operator.'),
  })
  .openapi('OtpGuard');

export const changeOtpGuard = z
  .strictObject({
    destinations: prefixes.min(1, 'expected at least one entry').nullable().optional(),
    safe_list: prefixes.optional(),
  })
  .openapi('ChangeOtpGuard');

const { blockMinutesMax, noteCharsMax } = limits.otpGuard;
export const orderBlock = z
  .strictObject({
    prefix,
    minutes: whole(1, blockMinutesMax),
    note: text(0, noteCharsMax).optional(),
  })
  .openapi('OrderOtpBlock');

export const prefixParams = z.strictObject({ prefix: z.string() });

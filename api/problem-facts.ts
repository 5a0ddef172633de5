// What a refusal about one-time passwords says to programs, beside its code: members of the problem document. The texts of
// `detail` may change, these do not.
import { z } from '@hono/zod-openapi';
import { otpCounted, otpDimensions } from '../policy/otp/contract.ts';
import { otpLimitText } from '../policy/otp/limit-text.ts';
import type { ReachedLimit } from '../policy/otp/number-limits.ts';
import { type GuardFinding, type GuardRule, guardRules } from '../policy/otp-guard/contract.ts';

/** starts: one-time passwords started, of which an account has a share (docs/limits.md). */
const countedAll = [...otpCounted, 'starts'] as const;

const retryAfterSeconds = z.int().describe('As `Retry-After`.');

/** The limit that a 429 is about. */
const limitFact = z
  .object({
    counted: z.enum(countedAll).describe('What was counted; `guesses` are wrong ones.'),
    dimension: z.enum(otpDimensions).describe('Over what. `prefix`: the number without its last four digits.'),
    limit: z.string().describe('How many in which period.').openapi({ example: '5/10m' }),
    retry_after_seconds: retryAfterSeconds,
  })
  .openapi('OtpLimitReached');

/** The rule of the guard against fraud that a 429 is about. */
const guardFact = z
  .object({
    rule: z
      .enum([...guardRules, 'operator'] as [GuardRule, ...GuardRule[]])
      .describe('`operator`: ordered by a person.'),
    dimension: z.enum(['prefix', 'client_ip', 'device_id']).describe('What the rule has judged.'),
    prefix: z
      .string()
      .nullable()
      .describe('The block of numbers; null of a client.')
      .openapi({ example: '+880171234' }),
    retry_after_seconds: retryAfterSeconds.nullable(),
  })
  .openapi('OtpGuardFinding');

/** Members that some problems have. */
export const problemFacts = {
  limit: limitFact.optional().describe('Of `otp_rate_limited` and `otp_locked`: which limit is reached.'),
  guard: guardFact.optional().describe('Of `otp_blocked` and `otp_challenge`: which rule refuses.'),
};

export type ProblemFacts = {
  readonly limit?: z.infer<typeof limitFact>;
  readonly guard?: z.infer<typeof guardFact>;
};

export function factsOfLimit({ counted, dimension, limit }: ReachedLimit, retryAfterS: number): ProblemFacts {
  return { limit: { counted, dimension, limit: otpLimitText(limit), retry_after_seconds: retryAfterS } };
}

/** The address or device of a client is what the caller sent, so its kind is enough. */
export function factsOfGuard(
  { rule, scope }: Pick<GuardFinding, 'rule' | 'scope'>,
  retryAfterS: number | null,
): ProblemFacts {
  const isClient = rule === 'clients';
  const dimension = isClient ? (scope.startsWith('ip ') ? 'client_ip' : 'device_id') : 'prefix';
  return { guard: { rule, dimension, prefix: isClient ? null : scope, retry_after_seconds: retryAfterS } };
}

// POST /v1/otp/{id}/verify as a list of steps. It asks NATS and nothing else, so it goes on while PostgreSQL and the event
// store are away. The right code is valid once; only a repeat under the same Idempotency-Key gets that answer again, and
// every other request a 409: a 200 whose status is `verified` has `valid: true`, whichever of the two a client reads.
import { type Verified, verifyCode } from '../../../acceptance/otp/verify.ts';
import type { OtpFailed } from '../../../acceptance/otp/refusal.ts';
import { secretBytes } from '../../../platform/random.ts';
import { normalizedCode } from '../../../policy/otp/code.ts';
import type { RequestNames } from '../../../policy/otp/rules.ts';
import { problem } from '../../problem.ts';
import {
  type Step,
  type StepResult,
  authenticate,
  found,
  readHeaders,
  receiveBody,
  takeSlot,
} from '../write-request.ts';
import { keptOfVerdict, otpNotFound, problemOfLimits, problemOfOtp, verdictOf, verifiedBody } from './otp-answer.ts';
import { OtpRequest, answerOnce, answerRepeat, checkClock, parseBody, requireScope, userOf } from './otp-parts.ts';
import type { OtpUser, Taken } from './otp-rates.ts';
import { type VerifyOtpBody, verifyOtpBody } from './otp-bodies.ts';

export class VerifyOtp extends OtpRequest {
  readonly steps = steps;
  asked: VerifyOtpBody | null = null;
  user: OtpUser | null = null;
  taken: Taken | null = null;
}

const steps: readonly Step<VerifyOtp>[] = [
  checkClock,
  authenticate,
  readHeaders,
  receiveBody,
  takeSlot,
  requireScope('sms:send'),
  parseBody(verifyOtpBody),
  answerVerified,
  passLimits,
  verify,
];

function answerVerified(verifying: VerifyOtp): StepResult | Promise<StepResult> {
  const { otpId } = verifying;
  if (otpId === null) return otpNotFound;
  return answerRepeat(verifying, {
    operation: `POST /v1/otp/${otpId}/verify`,
    status: 200,
    answerOf: (kept) => verifiedBody(otpId, verdictOf(kept)),
  });
}

/** A guess is counted until it is known that it was not wrong, so that those at the same moment count too. */
async function passLimits(verifying: VerifyOtp): Promise<StepResult> {
  const { parts, asked } = verifying;
  const user = await userOf(verifying, found(asked));
  verifying.user = user;
  const { limits } = parts.otpRules();
  const called = parts.rates.take('verifications', limits, user);
  if (!called.ok) return problemOfLimits(called.refusal);
  const taken = parts.rates.take('guesses', limits, user);
  if (!taken.ok) return problemOfLimits(taken.refusal);
  verifying.taken = taken;
  return null;
}

async function verify(verifying: VerifyOtp): Promise<StepResult> {
  const { parts, taken, otpId } = verifying;
  let isWrong = false;
  try {
    return await answerOnce(verifying, 200, async () => {
      const verdict = await compare(verifying);
      // The guess names its key, so a repeat may be made at once, whatever was stored.
      if (!verdict.ok) return { refusal: problemOfOtp(verdict), isPublished: 'no' };
      isWrong = verdict.isWrong;
      if (verdict.status === 'verified' && !verdict.valid) return { refusal: alreadyVerified, isPublished: 'no' };
      return { body: verifiedBody(found(otpId), verdict), kept: keptOfVerdict(verdict) };
    });
  } finally {
    if (!isWrong) parts.rates.giveBack(found(taken).counts);
  }
}

const alreadyVerified = problem(
  409,
  'otp_already_verified',
  'its code was entered before: the code of this request confirms nothing',
);

async function compare(verifying: VerifyOtp): Promise<Verified | OtpFailed> {
  const { parts, principal, asked } = verifying;
  const code = found(normalizedCode(found(asked).code));
  const by = requestNames(verifying, code);
  const { beyond } = found(verifying.taken);
  const verdict = await verifyCode(parts, principal, found(verifying.otpId), { code, by, beyond });
  const { accountId, to } = found(verifying.user);
  if (verdict.ok && verdict.valid && principal.livemode && to !== null) {
    const { ownCode } = verdict;
    // The conversion of carriers is that of codes that are judged.
    const messageId = parts.drawsRoutes() && !ownCode ? verdict.messageId : null;
    parts.guard.verified({ accountId, to, ownCode, messageId });
  }
  return verdict;
}

const byOctets = 12;

/**
 * What only a repeat of this request has, too: its key and a print of its code, which nothing else compares under an automatic
 * key, or under one that a refusal has freed. One with each body key, because the key in use may have changed since the first
 * try, or another machine may have answered that.
 */
function requestNames({ parts, keyed, automaticId }: VerifyOtp, code: string): RequestNames {
  const key = keyed === null ? automaticId : Buffer.from(keyed.place.hash, 'latin1').toString('base64url');
  if (key === null) return [secretBytes(byOctets).toString('base64url')];
  const [own, ...others] = parts.bodyPrints(Buffer.from(`${key} ${code}`));
  const nameWith = (print: Buffer) => `${key} ${print.toString('base64url')}`;
  return [nameWith(own), ...others.map(nameWith)];
}

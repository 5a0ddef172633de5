// POST /v1/otp/{id}/resend and /cancel as lists of steps. Their bodies may be left out.
import {
  type OtpClaim,
  cancelPending,
  ownerOf,
  requestOf,
  resendAndSend,
  sentOf,
} from '../../../acceptance/otp/send.ts';
import { placeOfOtp } from '../../../model/ids.ts';
import type { SmsRequest } from '../../../policy/contract.ts';
import { type Step, type StepResult, authenticate, found, receiveBody, takeSlot } from '../write-request.ts';
import { guardResend } from './fraud-guard.ts';
import { otpNotFound, otpShape, problemOfOtp } from './otp-answer.ts';
import {
  type Done,
  OtpRequest,
  answerOnce,
  answerRepeat,
  checkCapacity,
  checkClock,
  countSend,
  giveBackSend,
  parseBody,
  readOptionalHeaders,
  refuseByGuard,
  requireScope,
  takeSend,
  userOf,
} from './otp-parts.ts';
import type { OtpUser, Taken } from './otp-rates.ts';
import { type ResendOtpBody, cancelOtpBody, resendOtpBody } from './otp-bodies.ts';

abstract class ChangeOtp extends OtpRequest {
  abstract readonly action: 'resend' | 'cancel';
  /** Does it under this claim. */
  abstract change(claim: OtpClaim): Promise<Done>;
}

export class ResendOtp extends ChangeOtp {
  readonly steps = resendSteps;
  readonly action = 'resend';
  asked: ResendOtpBody | null = null;
  user: OtpUser | null = null;
  taken: Taken | null = null;
  isCounted = false;

  async change(claim: OtpClaim): Promise<Done> {
    const { parts, principal } = this;
    const resent = await resendAndSend(parts, principal, found(this.otpId), claim);
    const sent = sentOf(resent);
    if (sent !== null) {
      const countedId = countSend(this, claim);
      const { accountId, ip, device } = found(this.user);
      const { ownCode } = sent.otp;
      if (principal.livemode) parts.guard.resent({ accountId, to: sent.to, ip, device, ownCode }, countedId);
    }
    if (!resent.ok) return { refusal: problemOfOtp(resent), isPublished: resent.isPublished };
    return doneWith(this, JSON.stringify(otpShape(resent.otp, resent.to, parts.clock.nowMs())));
  }
}

export class CancelOtp extends ChangeOtp {
  readonly steps = cancelSteps;
  readonly action = 'cancel';
  asked: Record<string, never> | null = null;

  async change(): Promise<Done> {
    const { parts, principal } = this;
    const canceled = await cancelPending(parts, principal, found(this.otpId));
    // Canceling again is harmless, so the key is freed at once, whatever the first try did.
    if (!canceled.ok) return { refusal: problemOfOtp(canceled), isPublished: 'no' };
    return doneWith(this, JSON.stringify(otpShape(canceled.otp, canceled.to, parts.clock.nowMs())));
  }
}

const begin: readonly Step<ChangeOtp>[] = [
  authenticate,
  readOptionalHeaders,
  receiveBody,
  takeSlot,
  requireScope('sms:send'),
  ({ otpId }) => (otpId === null ? otpNotFound : null),
];

const changeOtp = (changing: ChangeOtp) => answerOnce(changing, 200, (claim) => changing.change(claim));
const resendSteps: readonly Step<ResendOtp>[] = [
  checkCapacity,
  ...begin,
  parseBody(resendOtpBody),
  answerBefore,
  passLimits,
  resend,
];
const cancelSteps: readonly Step<CancelOtp>[] = [
  checkClock,
  ...begin,
  parseBody(cancelOtpBody),
  answerBefore,
  changeOtp,
];

function answerBefore(changing: ChangeOtp): StepResult | Promise<StepResult> {
  return answerRepeat(changing, {
    operation: `POST /v1/otp/${changing.id}/${changing.action}`,
    status: 200,
    answerOf: (kept) => changing.parts.cipher.open(kept, found(changing.keyed).place.hash).toString('utf8'),
  });
}

async function passLimits(resending: ResendOtp): Promise<StepResult> {
  const { parts, principal, asked } = resending;
  const user = await userOf(resending, found(asked));
  resending.user = user;
  const { to } = user;
  const limited = takeSend(resending);
  if (limited !== null || to === null) return limited;
  const refused = guardResend(parts.guard, principal, { ...user, to });
  return refused === null ? null : refuseByGuard(resending, await refusedMessage(resending, to), refused);
}

/** What the event of a refusal says of the message. */
async function refusedMessage({ parts, principal, otpId }: ResendOtp, to: string): Promise<SmsRequest> {
  const id = found(otpId);
  const number = await parts.otps.glance(ownerOf(principal), placeOfOtp(id));
  const otp = number?.otps.find((each) => each.id === id);
  return requestOf({ to, from: otp?.sender ?? '', message: '', reference: otp?.clientReference ?? null });
}

async function resend(resending: ResendOtp): Promise<StepResult> {
  try {
    return await changeOtp(resending);
  } finally {
    if (!resending.isCounted) giveBackSend(resending);
  }
}

/** The answer has the number, so what is stored of it is sealed. */
function doneWith({ parts, keyed }: ChangeOtp, body: string): Done {
  return { body, kept: parts.cipher.seal(Buffer.from(body), keyed?.place.hash ?? '') };
}

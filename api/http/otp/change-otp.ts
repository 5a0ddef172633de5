// POST /v1/otp/{id}/resend and /cancel as lists of steps. Their bodies may be left out.
import type { HttpRequest } from 'uWebSockets.js';
import type { Claim, WorkResult } from '../../../acceptance/idempotency/requests.ts';
import { type OtpClaim, cancelPending, ownerOf, resendAndSend } from '../../../acceptance/otp/send.ts';
import type { AcceptanceRefusal } from '../../../acceptance/refusal.ts';
import { newMessageId, placeOfOtp } from '../../../model/ids.ts';
import { type Problem, problemOf } from '../../problem.ts';
import type { Exchange } from '../exchange.ts';
import { type Step, type StepResult, found } from '../steps.ts';
import { answerOutcome, authenticate, receiveBody, takeSlot } from '../write-request.ts';
import { guardResend } from './fraud-guard.ts';
import { otpNotFound, otpShape, problemOfOtp } from './otp-answer.ts';
import {
  type OtpRouteParts,
  OtpRequest,
  answerRepeat,
  checkCapacity,
  checkClock,
  readOptionalHeaders,
  requireScope,
} from './otp-parts.ts';
import { type ResendOtpBody, parseOtpBody, resendOtpBody } from './otp-request.ts';

export function resendOtp(parts: OtpRouteParts, exchange: Exchange, req: HttpRequest): void {
  new ResendOtp(parts, exchange, req).proceed();
}

export function cancelOtp(parts: OtpRouteParts, exchange: Exchange, req: HttpRequest): void {
  new CancelOtp(parts, exchange, req).proceed();
}

abstract class ChangeOtp extends OtpRequest {
  abstract readonly action: 'resend' | 'cancel';
  asked: ResendOtpBody | null = null;
  /** Does it under this claim. */
  abstract change(claim: OtpClaim): Promise<Done>;
}

class ResendOtp extends ChangeOtp {
  readonly steps = resendSteps;
  readonly action = 'resend';

  async change(claim: OtpClaim): Promise<Done> {
    const { parts, principal } = this;
    const sent = await resendAndSend(parts, principal, found(this.otpId), claim);
    if (!sent.ok) return { refusal: problemOfOtp(sent), isPublished: sent.isPublished };
    return doneWith(this, JSON.stringify(otpShape(sent.otp, sent.to, parts.clock.nowMs())));
  }
}

class CancelOtp extends ChangeOtp {
  readonly steps = cancelSteps;
  readonly action = 'cancel';

  async change(): Promise<Done> {
    const { parts, principal } = this;
    const canceled = await cancelPending(parts, principal, found(this.otpId));
    // Canceling again is harmless, so the key is freed at once, whatever the first try did.
    if (!canceled.ok) return { refusal: problemOfOtp(canceled), isPublished: 'no' };
    return doneWith(this, JSON.stringify(otpShape(canceled.otp, canceled.to, parts.clock.nowMs())));
  }
}

const begin: readonly Step<OtpRequest>[] = [
  authenticate,
  readOptionalHeaders,
  receiveBody,
  takeSlot,
  requireScope('sms:send'),
];

const resendSteps: readonly Step<ResendOtp>[] = [
  checkCapacity,
  ...begin,
  parseBody,
  answerBefore,
  passLimits,
  changeOtp,
];

const cancelSteps: readonly Step<CancelOtp>[] = [checkClock, ...begin, parseBody, answerBefore, changeOtp];

function parseBody(changing: ChangeOtp): StepResult {
  if (changing.otpId === null) return otpNotFound;
  const parsed = parseOtpBody(resendOtpBody, changing.body);
  if (!parsed.ok) return parsed.problem;
  changing.asked = parsed.value;
  return null;
}

function answerBefore(changing: ChangeOtp): StepResult | Promise<StepResult> {
  if (changing.idempotencyKey === '') return null;
  return answerRepeat(changing, {
    operation: `POST /v1/otp/${changing.id}/${changing.action}`,
    status: 200,
    answerOf: (kept) => changing.parts.cipher.open(kept, found(changing.keyed).place.hash).toString('utf8'),
  });
}

async function passLimits(resending: ResendOtp): Promise<StepResult> {
  const { parts, principal, asked } = resending;
  const owner = ownerOf(principal);
  const number = await parts.otps.glance(owner, placeOfOtp(found(resending.otpId)));
  const { client_ip: clientIp = null, device_id: deviceId = null } = found(asked);
  const user = { accountId: owner.accountId, to: number?.to ?? null, clientIp, deviceId };
  const limited = parts.rates.take('sends', parts.otpRules().limits, user);
  if (limited !== null || number?.to == null) return limited;
  return guardResend(parts.fraud, principal, number.to, found(asked));
}

async function changeOtp(changing: ChangeOtp): Promise<StepResult> {
  const { parts, exchange, keyed, entry, automaticId } = changing;
  if (keyed !== null) {
    const work = (claim: Claim) => changing.change({ ...claim, isKeyed: true });
    return answerOutcome(exchange, await parts.idempotent.run(keyed, work, entry), 200);
  }
  const createdAtMs = parts.clock.nowMs();
  const messageId = automaticId ?? newMessageId(createdAtMs);
  const isKeyed = automaticId !== null;
  const done = await changing.change({ messageId, createdAtMs, mayBePublished: false, isKeyed });
  if (!('body' in done)) return problemOf(done.refusal);
  exchange.json(200, done.body);
  return 'answered';
}

type Done = Exclude<WorkResult<AcceptanceRefusal | Problem>, { readonly partial: string }>;

/** The answer has the number, so what is stored of it is sealed. */
function doneWith({ parts, keyed }: ChangeOtp, body: string): Done {
  return { body, kept: parts.cipher.seal(Buffer.from(body), keyed?.place.hash ?? '') };
}

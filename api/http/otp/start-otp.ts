// POST /v1/otp as a list of steps: the same as for a message, and before its gates a code and a text are made and the
// limits of one-time passwords are asked. A repeat under an idempotency key is answered before all of that, with the
// same ids and, under a test key, the same code.
import { type OtpClaim, ownerOf, sentOf, startAndSend } from '../../../acceptance/otp/send.ts';
import { otpIdOf } from '../../../model/ids.ts';
import { statusOf } from '../../../model/otp.ts';
import type { Admitted } from '../../../policy/contract.ts';
import { problemOrNull } from '../../problem.ts';
import { countAccepted } from '../exchange-metrics.ts';
import {
  type Step,
  type StepResult,
  authenticate,
  found,
  readHeaders,
  receiveBody,
  takeSlot,
} from '../write-request.ts';
import { type GuardedStart, guardStart } from './fraud-guard.ts';
import { problemOfStart } from './otp-refusals.ts';
import { keptOfStart, problemOfOtp, startOfKept, startedBody } from './otp-answer.ts';
import {
  type Done,
  OtpRequest,
  answerOnce,
  answerRepeat,
  checkCapacity,
  countSend,
  giveBackSend,
  parseBody,
  refuseByGuard,
  requireScope,
  takeSend,
} from './otp-parts.ts';
import type { OtpUser, Taken } from './otp-rates.ts';
import { type StartOtpBody, clientOf, startOtpBody } from './otp-bodies.ts';
import { refuseLength } from './text-length.ts';
import { type OtpMessage, messageOfOtp } from './wording.ts';

export class StartOtp extends OtpRequest {
  readonly steps = steps;
  asked: StartOtpBody | null = null;
  message: OtpMessage | null = null;
  admitted: Admitted | null = null;
  /** Under a live key, until it is reported how it ended. */
  guarded: GuardedStart | null = null;
  user: OtpUser | null = null;
  taken: Taken | null = null;
  isCounted = false;
  /** Whether it may have written a record. */
  isStored = false;
}

const steps: readonly Step<StartOtp>[] = [
  checkCapacity,
  authenticate,
  readHeaders,
  receiveBody,
  takeSlot,
  requireScope('sms:send'),
  parseBody(startOtpBody),
  answerStarted,
  makeMessage,
  passGates,
  checkMessageCapacity,
  passLimits,
  passGuard,
  accept,
];

function answerStarted(starting: StartOtp): StepResult | Promise<StepResult> {
  const { parts, principal } = starting;
  const { to, client_reference: clientReference = null } = found(starting.asked);
  return answerRepeat(starting, {
    operation: 'POST /v1/otp',
    status: 201,
    answerOf(kept, _createdAtMs, smsId) {
      const { sealedCode, ...answered } = startOfKept(kept);
      const hash = found(starting.keyed).place.hash;
      const place = parts.otps.placeOf(ownerOf(principal), to);
      const testCode = sealedCode === null ? null : parts.cipher.open(sealedCode, hash).toString('latin1');
      return startedBody({ ...answered, id: otpIdOf(smsId, place), to, smsId, clientReference }, testCode);
    },
  });
}

function makeMessage(starting: StartOtp): StepResult {
  const made = messageOfOtp(starting.principal, found(starting.asked), starting.parts.otpRules());
  if (!made.ok) return made.problem;
  starting.message = made.message;
  return null;
}

function passGates(starting: StartOtp): StepResult {
  const { parts, principal } = starting;
  const { request } = found(starting.message);
  const admitted = parts.admit(principal, request);
  if (!admitted.ok) {
    parts.audit.record(principal, request, admitted);
    return problemOfStart(admitted, principal.account, found(starting.asked));
  }
  starting.admitted = admitted;
  return refuseLength(starting, found(starting.asked), admitted);
}

function passLimits(starting: StartOtp): StepResult {
  const { principal, asked } = starting;
  starting.user = { ...ownerOf(principal), to: found(asked).to, ...clientOf(found(asked)) };
  return takeSend(starting);
}

function checkMessageCapacity({ parts }: StartOtp): StepResult {
  return problemOrNull(parts.capacity.refuseMessage({ category: 'otp', scheduledAtMs: null }));
}

/** The last step before it is sent: what it lets pass counts at once. */
function passGuard(starting: StartOtp): StepResult {
  const { parts, principal, asked, message } = starting;
  const guarded = guardStart(parts.guard, principal, found(asked));
  if (!guarded.ok) return refuseByGuard(starting, found(message).request, guarded);
  starting.guarded = guarded.start;
  return null;
}

async function accept(starting: StartOtp): Promise<StepResult> {
  const { parts, principal } = starting;
  const owner = ownerOf(principal);
  const full = parts.rates.takeRecord(owner);
  if (full !== null) {
    countNoMore(starting);
    return full;
  }
  try {
    return await answerOnce(starting, 201, (claim) => acceptClaimed(starting, claim));
  } finally {
    if (!starting.isStored) parts.rates.giveBackRecord(owner);
    if (!starting.isCounted) countNoMore(starting);
  }
}

function countNoMore(starting: StartOtp): void {
  starting.guarded?.withdraw();
  giveBackSend(starting);
}

async function acceptClaimed(starting: StartOtp, claim: OtpClaim): Promise<Done> {
  const { parts, principal, keyed, exchange } = starting;
  const { request, code, language } = found(starting.message);
  const admitted = found(starting.admitted);
  const { purpose, ttl_seconds: ttlSeconds, code: given } = found(starting.asked);
  const ownCode = given !== undefined;
  // A test key is without the guard; a code of the client's own may be verified elsewhere.
  const isScored = starting.guarded !== null && !starting.guarded.isFlagged && !ownCode;
  const draft = { request, admitted, code, ownCode, language, purpose, ttlMs: ttlSeconds * 1_000, isScored };
  const started = await startAndSend(parts, principal, draft, claim);
  starting.isStored = started.isStored;
  const { carrier } = admitted.route.planFor(claim.messageId);
  if (sentOf(started) !== null) {
    const countedId = countSend(starting, claim);
    starting.guarded?.accepted(carrier, countedId);
    starting.guarded = null;
  }
  if (!started.ok) return { refusal: problemOfOtp(started), isPublished: started.isPublished };
  if (started.sent === 'now') countAccepted('otp', carrier, exchange.elapsedMs);
  const { otp, to } = started;
  const testCode = principal.livemode ? null : started.code;
  const sealedCode =
    testCode === null ? null : parts.cipher.seal(Buffer.from(testCode, 'latin1'), keyed?.place.hash ?? '');
  const answered = { ...otp, status: statusOf(otp, parts.clock.nowMs()) };
  return {
    body: startedBody({ ...answered, to, smsId: claim.messageId }, testCode),
    kept: keptOfStart(answered, sealedCode),
  };
}

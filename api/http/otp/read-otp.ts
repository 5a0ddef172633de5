// GET /v1/otp/{id}: the state of a one-time password from NATS, and what became of its messages from the event store.
// While that is away the state is still answered, and what it would add is null.
import type { HttpRequest } from 'uWebSockets.js';
import { type OtpParts, ownerOf } from '../../../acceptance/otp/send.ts';
import type { SentHop } from '../../../analytics/contract.ts';
import { type AccountId, isOtpId, placeOfOtp } from '../../../model/ids.ts';
import { type OtpFailReason, type OtpSend, type OtpStatus, isUndelivered, statusOf } from '../../../model/otp.ts';
import { problem } from '../../problem.ts';
import { type AccessParts, admitReader } from '../access.ts';
import type { Exchange, AnswerThrown } from '../exchange.ts';
import type { StatusQueryClient } from '../status-query-client.ts';
import { isoTime, otpNotFound, otpShape } from './otp-answer.ts';

type ReadOtpParts = Pick<OtpParts, 'otps' | 'clock'> & {
  readonly access: AccessParts;
  readonly queries: StatusQueryClient;
  readonly answerThrown: AnswerThrown;
};

export function getOtp(parts: ReadOtpParts, exchange: Exchange, req: HttpRequest): void {
  const id = req.getParameter(0) ?? '';
  const admitted = admitReader(parts.access, exchange, req, 'sms:read');
  if (!admitted.ok) return exchange.refuse(admitted.problem);
  const owner = ownerOf(admitted.principal);
  parts.answerThrown(exchange, async () => {
    if (!isOtpId(id)) return exchange.refuse(otpNotFound);
    const number = await parts.otps.read(owner, placeOfOtp(id));
    if (number === null) return exchange.refuse(storeAway);
    const otp = number.otps.find((each) => each.id === id);
    if (otp === undefined || number.to === null) return exchange.refuse(otpNotFound);
    const sends = await Promise.all(otp.sends.map((send) => hopsOf(parts.queries, owner.accountId, send)));
    const body = {
      ...otpShape(otp, number.to, parts.clock.nowMs()),
      ...endOf(statusOf(otp, parts.clock.nowMs()), otp.reason, sends.map(statusOfHops)),
      purpose: otp.purpose,
      created_at: isoTime(otp.createdAtMs),
      sends: sends.flat(),
    };
    exchange.json(200, JSON.stringify(body));
  });
}

const storeAway = problem(503, 'overloaded', 'the store of one-time passwords did not answer', 1);

type End = { readonly status: OtpStatus; readonly reason: OtpFailReason | null };

/** One whose time is over has failed when none of its messages arrived; while that cannot be asked it is `expired`. */
function endOf(status: OtpStatus, reason: OtpFailReason | null, statuses: readonly (string | null)[]): End {
  if (status === 'expired' && isUndelivered(statuses)) return { status: 'failed', reason: 'delivery_failed' };
  return { status, reason };
}

type ShownHop = { readonly status: string | null };

/** Delivered by one carrier is delivered; otherwise the last one's word. */
function statusOfHops(hops: readonly ShownHop[]): string | null {
  return hops.some(({ status }) => status === 'delivered') ? 'delivered' : (hops.at(-1)?.status ?? null);
}

/** One entry for each carrier that the message was given to. */
async function hopsOf(queries: StatusQueryClient, accountId: AccountId, { messageId }: OtpSend): Promise<ShownHop[]> {
  const reply = await queries.get({ accountId, messageId, wait: false, withHops: true }, 'urgent');
  const hops: readonly SentHop[] = (reply.result === 'found' ? reply.hops : undefined) ?? [notYetKnown];
  return hops.map((hop) => ({
    sms_id: messageId,
    channel: 'sms',
    carrier: hop.carrier,
    hop: hop.hop,
    status: hop.status,
    hedged_by: hop.hedgedBy,
    timing_ms: { accepted_to_submitted: hop.acceptedToSubmittedMs, submitted_to_delivered: hop.submittedToDeliveredMs },
  }));
}

const notYetKnown: SentHop = {
  carrier: null,
  hop: 0,
  status: null,
  hedgedBy: null,
  acceptedToSubmittedMs: null,
  submittedToDeliveredMs: null,
};

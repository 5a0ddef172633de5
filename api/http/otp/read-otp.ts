// GET /v1/otp/{id} and GET /v1/otp?to=…: the state of one-time passwords from the record of their number in NATS, and what
// became of their messages from the event store. While that is away the state is still answered, and what it would add is
// null.
import type { HttpRequest } from 'uWebSockets.js';
import { type OtpParts, ownerOf } from '../../../acceptance/otp/send.ts';
import type { SentHop } from '../../../analytics/contract.ts';
import { type AccountId, isOtpId, placeOfOtp } from '../../../model/ids.ts';
import {
  type Otp,
  type OtpEndReason,
  type OtpSend,
  type OtpStatus,
  endReasonOf,
  isUndelivered,
  statusOf,
} from '../../../model/otp.ts';
import { problem } from '../../problem.ts';
import { type AccessParts, admitReader } from '../access.ts';
import type { Exchange, AnswerThrown } from '../exchange.ts';
import type { StatusQueryClient } from '../status-query-client.ts';
import { isoTime } from '../../../platform/iso-time.ts';
import { otpNotFound, otpShape } from './otp-answer.ts';
import { parseOtpQuery } from './otp-query.ts';

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
    exchange.json(200, JSON.stringify(await shownOtp(parts, owner.accountId, otp, number.to)));
  });
}

/** Of one number, the newest first: its record is found by the number, and there is no other index. */
export function listOtps(parts: ReadOtpParts, exchange: Exchange, req: HttpRequest): void {
  const query = req.getQuery() ?? '';
  const admitted = admitReader(parts.access, exchange, req, 'sms:read');
  if (!admitted.ok) return exchange.refuse(admitted.problem);
  const owner = ownerOf(admitted.principal);
  parts.answerThrown(exchange, async () => {
    const asked = parseOtpQuery(query);
    if (!asked.ok) return exchange.refuse(asked.problem);
    const { to, limit, before } = asked;
    const number = await parts.otps.read(owner, parts.otps.placeOf(owner, to));
    if (number === null) return exchange.refuse(storeAway);
    // Ids begin with the time of their start.
    const newest = number.otps.toSorted((one, other) => (one.id < other.id ? 1 : -1));
    const rest = newest.filter(({ id }) => before === null || id < before);
    const page = rest.slice(0, limit);
    const data = await Promise.all(page.map((otp) => shownOtp(parts, owner.accountId, otp, to)));
    const nextCursor = rest.length > page.length ? (page.at(-1)?.id ?? null) : null;
    exchange.json(200, JSON.stringify({ data, next_cursor: nextCursor }));
  });
}

async function shownOtp({ queries, clock }: ReadOtpParts, accountId: AccountId, otp: Otp, to: string): Promise<object> {
  const sends = await Promise.all(otp.sends.map((send) => hopsOf(queries, accountId, send)));
  const nowMs = clock.nowMs();
  return {
    ...otpShape(otp, to, nowMs),
    ...endOf(otp, nowMs, sends.map(statusOfHops)),
    purpose: otp.purpose,
    created_at: isoTime(otp.createdAtMs),
    sends: sends.flat(),
  };
}

const storeAway = problem(503, 'overloaded', 'the store of one-time passwords did not answer', 1);

type End = { readonly status: OtpStatus; readonly reason: OtpEndReason | null; readonly ended_at: string | null };

/** One whose time is over has failed when none of its messages arrived; while that cannot be asked it is `expired`. */
function endOf(otp: Otp, nowMs: number, statuses: readonly (string | null)[]): End {
  const status = statusOf(otp, nowMs);
  const endedAtMs = otp.endedAtMs ?? (nowMs >= otp.expiresAtMs ? otp.expiresAtMs : null);
  const end = { status, ended_at: endedAtMs === null ? null : isoTime(endedAtMs) };
  if (status === 'expired' && isUndelivered(statuses)) return { ...end, status: 'failed', reason: 'delivery_failed' };
  return { ...end, reason: endReasonOf({ status, reason: otp.reason }) };
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

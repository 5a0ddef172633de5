// How the routes of one-time passwords ask the guard against fraud, and what they report to it. Under test keys it is
// not asked: no message leaves the machine. A code of the client's own counts, but what becomes of it is not judged, because
// it may be verified elsewhere.
import type { SharedGuard } from '../../../acceptance/otp-guard/shared-guard.ts';
import type { AuditedRefusal } from '../../../acceptance/refusal-audit.ts';
import type { Principal } from '../../../acceptance/principal.ts';
import type { MessageId } from '../../../model/ids.ts';
import type { GuardFinding } from '../../../policy/otp-guard/contract.ts';
import { factsOfGuard } from '../../problem-facts.ts';
import { type Problem, problem, wrongField } from '../../problem.ts';
import type { OtpUser } from './otp-rates.ts';
import { type StartOtpBody, clientOf } from './otp-bodies.ts';

/**
 * A start that the guard has let pass: how it ended is reported to it, because until then it only counts in this
 * thread. `isFlagged`: although a rule found something. `messageId`: as in SharedGuard.
 */
export type GuardedStart = {
  readonly isFlagged: boolean;
  accepted(carrier: string, messageId: MessageId | null): void;
  withdraw(): void;
};

/** `audited`: for the event of kind `refused`. */
export type GuardRefusal = { readonly ok: false; readonly problem: Problem; readonly audited: AuditedRefusal };
export type GuardedResult = { readonly ok: true; readonly start: GuardedStart | null } | GuardRefusal;

/** Asks for a start, and counts it in the same turn, so that requests at the same moment count too. */
export function guardStart(guard: SharedGuard, { livemode, account }: Principal, asked: StartOtpBody): GuardedResult {
  if (!livemode) return { ok: true, start: null };
  const { to, challenge_passed: challengePassed = false } = asked;
  const { ip, device } = clientOf(asked);
  const question = { accountId: account.accountId, to, ip, device };
  const { refusal, isProbe, isFlagged } = guard.decide({ ...question, challengePassed, isResend: false });
  if (refusal !== null) return refusedBy(refusal, 'to');
  const begun = guard.begin({ ...question, carrier: '', isProbe, ownCode: asked.code !== undefined });
  return {
    ok: true,
    start: {
      isFlagged,
      accepted: (carrier, messageId) => guard.accepted(begun, carrier, messageId),
      withdraw: () => guard.withdraw(begun),
    },
  };
}

/**
 * The same code once more is no new number: blocks refuse it, and too many messages that wait. Once it is sent it counts as
 * one more message.
 */
export function guardResend(
  guard: SharedGuard,
  { livemode, account }: Principal,
  { to, ip, device }: OtpUser & { readonly to: string },
): GuardRefusal | null {
  if (!livemode) return null;
  const question = { accountId: account.accountId, to, ip, device };
  const { refusal } = guard.decide({ ...question, challengePassed: false, isResend: true });
  return refusal === null ? null : refusedBy(refusal, null);
}

/** The figures are for the event; a client learns the rule and the numbers. `field`: that has the number in the body. */
function refusedBy(finding: GuardFinding, field: 'to' | null): GuardRefusal {
  const { rule, action, scope, retryAfterMs, statistic, threshold } = finding;
  const code = rule === 'destination' ? 'otp_destination_not_allowed' : codes[action];
  const retryAfterS = retryAfterMs === 0 ? null : Math.max(1, Math.ceil(retryAfterMs / 1_000));
  const figures = `${rule}:${statistic.toFixed(1)}:${threshold.toFixed(1)}`;
  const audited = { code, field: 'to', figures } as const;
  if (rule === 'destination') return { ok: false, problem: notAllowed(finding.allowed ?? [], field), audited };
  const refused = problem(429, code, `${reasons[rule]}: ${scope}`, retryAfterS);
  return { ok: false, problem: { ...refused, facts: factsOfGuard(finding, retryAfterS) }, audited };
}

const prefixesShownMax = 10;

function notAllowed(allowed: readonly string[], field: 'to' | null): Problem {
  const shown = allowed.slice(0, prefixesShownMax);
  const others = allowed.length - shown.length;
  const last = others > 0 ? `one of ${others} more` : shown.pop();
  const prefixes = shown.length === 0 ? last : `${shown.join(', ')} or ${last}`;
  const detail = `must begin with ${prefixes}: this account sends no codes to other numbers (GET /v1/otp-guard)`;
  const code = 'otp_destination_not_allowed';
  return field === null ? problem(422, code, `the number ${detail}`) : wrongField(field, detail, code);
}

const codes = { block: 'otp_blocked', challenge: 'otp_challenge' } as const;

const reasons: Readonly<Record<Exclude<GuardFinding['rule'], 'destination'>, string>> = {
  conversion: 'almost no code to these numbers is entered',
  partial_conversion: 'too few codes to these numbers are entered',
  velocity: 'more of these numbers wait for a code to be entered than usual',
  sequence: 'codes were asked for numbers that follow each other',
  clients: 'codes to many numbers were asked for from here and not entered',
  operator: 'these numbers are blocked by hand',
};

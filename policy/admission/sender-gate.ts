// Whose name may stand on the message. The shape is a rule of the networks (3GPP TS 23.040 §9.1.2.5: 11 septets of
// text, or a number); the approval is a rule of the regulators, and holds for live keys only, because a test
// message never leaves the sandbox. It never rewrites a sender: what was approved is what is shown.
import type { Applicant, Refusal, SmsRequest } from '../contract.ts';

/** Every character here takes one septet in GSM-7, and every carrier's filter lets it through. */
const alphanumeric = /^(?=.*[A-Za-z])[A-Za-z0-9 ._&-]{1,11}$/;
const numeric = /^\+?[0-9]{3,15}$/;

const shapeExpected =
  'must be 1–11 letters, digits, spaces or . _ & - with at least one letter, or a number of 3–15 digits';

export function senderGate(applicant: Applicant, request: SmsRequest): Refusal | null {
  const { from } = request;
  // An approved sender had its shape checked when it was registered.
  if (applicant.account.senders.has(from)) return null;
  if (!isSenderShape(from)) return { ok: false, code: 'invalid_field', field: 'from', detail: shapeExpected };
  if (!applicant.key.livemode) return null;
  return {
    ok: false,
    code: 'sender_not_registered',
    field: 'from',
    detail: `"${from}" is not an approved sender of this account`,
  };
}

export function isSenderShape(from: string): boolean {
  if (numeric.test(from)) return true;
  // A space at either end cannot be seen on a telephone: two senders would look like one.
  return alphanumeric.test(from) && from.trim() === from;
}

// The two copies of a hedged message, one at each carrier, as a small number that every reader of events keeps beside
// the message's state: after which hop the second was sent, and how each copy has ended. While one of them may still be
// delivered, the failure of the other ends nothing. Only messages of one segment are hedged.
import type { DeliveryEvent } from './delivery-event.ts';
import type { MessageStatus } from './status.ts';

/** The message was not hedged. */
export const noCopies = 0;

/** Bits 0–3: the hop of the first copy and one; bits 4–5 and 6–7: how the first and the second copy ended. */
const hopBits = 15;
const firstFrom = 4;
const secondFrom = 6;
const unknownEnd = 1;
const failedEnd = 2;
const endBits = 3;

/** Every value fits these bits. */
export const copiesBits = 0xff;

/** Begins an error of a `hedged` event that sent no copy: the message is in the control group. */
export const controlGroup = 'control group: ';

/** The rules that send a second copy, with the reason in its `hedged` event. */
export const hedgeReasons = { response: 'no_response', receipt: 'no_receipt' } as const;
export type HedgeRule = keyof typeof hedgeReasons;
export const hedgeRules = Object.keys(hedgeReasons) as readonly HedgeRule[];

/** The rule with this reason, at the end of a `hedged` event's error. */
export function hedgeRuleOf(error: string): HedgeRule {
  return error.endsWith(hedgeReasons.receipt) ? 'receipt' : 'response';
}

/** The error of a `canceled` event about one of two copies, because the other is delivered. */
export const copyNotNeeded = 'hedge_not_needed';

/** After this `hedged` event. A message of the control group stays without copies. */
export function copiesAfter(before: number, { hop, error }: Pick<DeliveryEvent, 'hop' | 'error'>): number {
  if (before !== noCopies || (error ?? '').startsWith(controlGroup)) return before;
  return (hop + 1) & hopBits;
}

/** Whether the second copy is the one with this hop. */
export function isSecondCopy(copies: number, { hop }: Pick<DeliveryEvent, 'hop'>): boolean {
  return copies !== noCopies && hop + 1 > (copies & hopBits);
}

/** A hop of each copy; none of a message that was not hedged. */
export function hopsOfCopies(copies: number): readonly number[] {
  return copies === noCopies ? [] : [(copies & hopBits) - 1, copies & hopBits];
}

/** A copy has ended undelivered with this status. What was unknown may fail later; a failure stays. */
export function endOfCopy(copies: number, { hop }: Pick<DeliveryEvent, 'hop'>, status: MessageStatus): number {
  if (copies === noCopies) return copies;
  const from = isSecondCopy(copies, { hop }) ? secondFrom : firstFrom;
  const before = (copies >>> from) & endBits;
  const after = before === failedEnd || status !== 'unknown' ? failedEnd : unknownEnd;
  return (copies & ~(endBits << from)) | (after << from);
}

/**
 * The status that the end of a copy gives its message, as of `endOfCopy`: null while the other copy may be delivered,
 * `unknown` while nobody knows of one of them.
 */
export function statusOfCopies<Status extends MessageStatus>(
  copies: number,
  status: Status,
): Status | 'unknown' | null {
  if (copies === noCopies) return status;
  const first = (copies >>> firstFrom) & endBits;
  const second = (copies >>> secondFrom) & endBits;
  if (first === 0 || second === 0) return null;
  return first === failedEnd && second === failedEnd ? status : 'unknown';
}

// The credit gate: the last one, when the cost of the message is known. Nothing is charged in this version, so it
// passes everything; billing will pass its own check in.
import type { Principal, Refusal } from '../contract.ts';

/** Whether the account can pay for so many segments. It must answer from memory. */
export type CreditCheck = (principal: Principal, segments: number) => Refusal | null;

export const nothingIsCharged: CreditCheck = () => null;

// The place of credit among the gates: the last one, when it is known what the message will cost. Nothing is charged
// in this version, and this gate lets everything through; billing hands its own check in here.
import type { Principal, Refusal } from '../contract.ts';

/** Whether the account can pay for so many segments. It must answer from memory. */
export type CreditCheck = (principal: Principal, segments: number) => Refusal | null;

export const nothingIsCharged: CreditCheck = () => null;

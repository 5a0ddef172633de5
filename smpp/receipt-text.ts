// Builds the text of a receipt (SMPP 3.4 appendix B), for the simulator and for receipts to SMPP clients. receipt.ts
// reads it.
import { type ReceiptState, receiptWords } from './receipt.ts';

type ReceiptTextFields = {
  carrierMessageId: string;
  state: ReceiptState;
  errorCode: string;
  /** Replaces the state's own word. */
  stat?: string | undefined;
  submittedAtMs: number;
  doneAtMs: number;
  /** The first twenty characters of the message, by custom. */
  text: string;
};

export function buildReceiptText(fields: ReceiptTextFields): string {
  const delivered = fields.state === 'delivered' ? '001' : '000';
  return (
    `id:${fields.carrierMessageId} sub:001 dlvrd:${delivered}` +
    ` submit date:${receiptDate(fields.submittedAtMs)} done date:${receiptDate(fields.doneAtMs)}` +
    ` stat:${fields.stat ?? receiptWords[fields.state][0]} err:${fields.errorCode} text:${fields.text.slice(0, 20)}`
  );
}

// Thousands of receipts have the same second: caching the last two dates suffices.
let [cachedSecond, cachedDate, otherSecond, otherDate] = [-1, '', -1, ''];

/** YYMMDDhhmmss in UTC. */
export function receiptDate(atMs: number): string {
  const second = Math.floor(atMs / 1_000);
  if (second === cachedSecond) return cachedDate;
  if (second === otherSecond) return otherDate;
  [otherSecond, otherDate] = [cachedSecond, cachedDate];
  cachedSecond = second;
  cachedDate = new Date(second * 1_000).toISOString().replace(/[-T:]/g, '').slice(2, 14);
  return cachedDate;
}

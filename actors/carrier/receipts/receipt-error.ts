// The error of an event that a receipt ends: its state, and the carrier's code where it gives one. A code is the same number
// with zeros before it, as in the text of a receipt (`err:027`), and without, as in a TLV; 0 is none. So that reports count one
// cause once.
import type { Receipt } from '../../../smpp/receipt.ts';

export function receiptError({ state, errorCode }: Pick<Receipt, 'state' | 'errorCode'>): string {
  const code = /^\d+$/.test(errorCode) ? errorCode.replace(/^0+/, '') : errorCode;
  return code === '' ? `receipt_${state}` : `receipt_${state}:${code}`;
}

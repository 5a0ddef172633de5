// Whose receipt is it? Carriers write the recipient as they like: internationally or nationally, under any type of
// number, some with source and destination exchanged. Here it becomes E.164, in the likeliest reading first. Nothing is
// settled by a number alone: the exchanged reading counts only beside the message's own id.
import type { ShortMessagePdu } from '../../../smpp/pdu.ts';
import type { Receipt } from '../../../smpp/receipt.ts';

/** `recipient` in E.164. `swapped`: the destination, where that can be a recipient too. */
export type KnownReceipt = Receipt & { readonly swapped?: string };

/** What an address can mean as a recipient of ours, in E.164; null: nothing. */
export type RecipientOf = (address: string, ton: number) => string | null;

/** Without a country's number plan: international numbers alone. */
export const asWritten: RecipientOf = (address) => {
  if (!/^\+?[1-9]\d{6,14}$/.test(address)) return null;
  return address.startsWith('+') ? address : `+${address}`;
};

type Addresses = Pick<ShortMessagePdu, 'source' | 'sourceTon' | 'destination' | 'destinationTon'>;

export function withNumbers(receipt: Receipt, pdu: Addresses, recipientOf: RecipientOf): KnownReceipt {
  const { source, sourceTon, destination, destinationTon } = pdu;
  const plain = source.startsWith('+') ? source : `+${source}`;
  const recipient = recipientOf(source, sourceTon) ?? plain;
  const swapped = recipientOf(destination, destinationTon);
  if (swapped === null || swapped === recipient) return { ...receipt, recipient };
  return { ...receipt, recipient, swapped };
}
